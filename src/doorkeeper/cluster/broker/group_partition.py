"""One partition of `__consumer_offsets` at its leader: answers go to those who wait for them, maybe for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias
from uuid import uuid4

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.coordinator_partition import CoordinatorPartition
from doorkeeper.cluster.broker.logs import now_ms
from doorkeeper.cluster.groups.coordinator import GroupCoordinator
from doorkeeper.cluster.groups.offset_store import NO_PRODUCER_ID
from doorkeeper.cluster.groups.settings import GroupConfigs
from doorkeeper.cluster.groups.step import Decision
from doorkeeper.cluster.groups.topics import TopicsView
from doorkeeper.cluster.log.batch import Marker, MarkerType, read_marker
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.producer_state import Verification
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.wire.coordinator_records import CoordinatorRecord, read_coordinator_record
from doorkeeper.wire.records import TRANSACTIONAL, BatchHeader, read_batch

Decide: TypeAlias = Callable[[GroupCoordinator, object, int], Decision]
"""(coordinator, token, now) -> decision."""


class GroupPartition(CoordinatorPartition[Decision]):
    """The groups of one partition."""

    _coordinator: GroupCoordinator

    def __init__(self, log: PartitionLog, leader_epoch: int, configs: GroupConfigs, topics: TopicsView) -> None:
        self._configs = configs
        self._topics = topics
        self._has_new_topics = False
        self._waiting: dict[object, asyncio.Future[Any]] = {}
        super().__init__(log, leader_epoch)

    def _new_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(new_member_id=lambda: str(uuid4()), configs=self._configs, topics=self._topics)

    def _replay_batch(self, data: bytes, position: int, view: BatchHeader) -> None:
        if view.is_control:
            marker = read_marker(data, position)
            if marker is not None:
                self._coordinator.end_transaction(view.producer_id, commit=marker.type is MarkerType.COMMIT)
            return
        producer_id = view.producer_id if view.attributes & TRANSACTIONAL else NO_PRODUCER_ID
        for one in read_batch(data, position).records:
            record = read_coordinator_record(one.key or b"", one.value)
            if isinstance(record, CoordinatorRecord):
                self._coordinator.replay(record, one.offset, producer_id)

    # --- asking ---

    @property
    def coordinator(self) -> GroupCoordinator:
        """For questions that change nothing; ask `check_ready` first."""
        if self._has_new_topics:
            self._update_topics()
        return self._coordinator

    def submit(self, decide: Decide, verification: Verification | None = None) -> Any:
        """Let the coordinator decide: its response, or a future of it; an ErrorCode where it can't.

        :param verification: leave to write in a transaction's name.
        """
        code = self.check_ready()
        if code is not ErrorCode.none:
            return code
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        token = object()
        self._waiting[token] = future
        self._carry_out(decide(self.coordinator, token, now_ms()), verification)
        if future.done():
            return future.result()
        future.add_done_callback(lambda _: self._waiting.pop(token, None))
        return future

    def complete_transaction(
        self, producer_id: int, producer_epoch: int, marker: Marker, transaction_version: int
    ) -> ErrorCode:
        """Write a marker, and let the offsets of its transaction count or vanish."""
        if self.check_ready() is not ErrorCode.none:
            # The transaction coordinator knows no other word for "not yet" (KafkaApis).
            return ErrorCode.not_leader_or_follower
        outcome = self.log.append_marker(
            producer_id,
            producer_epoch,
            marker,
            leader_epoch=self.leader_epoch,
            now=now_ms(),
            transaction_version=transaction_version,
        )
        if isinstance(outcome, Refusal):
            return ErrorCode(outcome.code)
        self._coordinator.end_transaction(producer_id, commit=marker.type is MarkerType.COMMIT)
        return ErrorCode.none

    def _carry_out(self, decision: Decision, verification: Verification | None = None) -> None:
        producer = decision.producer
        code = refusal = ErrorCode.none
        if decision.records and producer is None:
            code = self._append(decision.records)
            refusal = ErrorCode.not_coordinator
        elif decision.records and producer is not None:
            # A transaction hears why: its producer may be fenced.
            code = refusal = self._append(
                decision.records, (producer.producer_id, producer.producer_epoch), verification
            )
        for reply in decision.replies:
            self._answer(reply.token, reply.response if code is ErrorCode.none else refusal)
        if code is not ErrorCode.none:
            self._start_anew()
            return
        self._arm()

    def _answer(self, token: object, response: Any) -> None:
        future = self._waiting.pop(token, None)
        if future is not None and not future.done():
            future.set_result(response)

    def _start_anew(self) -> None:
        decision = self._coordinator.close(now_ms())
        for reply in decision.replies:
            self._answer(reply.token, ErrorCode.not_coordinator)
        super()._start_anew()

    # --- the world around ---

    def set_topics(self, topics: TopicsView) -> None:
        """Topics have changed; a coordinator without groups hears of it when it is next asked."""
        self._topics = topics
        self._has_new_topics = True
        if self._is_loaded and self._coordinator.state.groups:
            self._update_topics()

    def _update_topics(self) -> None:
        self._has_new_topics = False
        self._carry_out(self._coordinator.update_topics(self._topics, now_ms()))

    def set_configs(self, configs: GroupConfigs) -> None:
        self._configs = configs
        self._coordinator.set_configs(configs)

    def close(self) -> None:
        """Send everybody who waits to look for the coordinator anew."""
        super().close()
        for future in list(self._waiting.values()):
            if not future.done():
                future.set_result(ErrorCode.not_coordinator)
        self._waiting.clear()
