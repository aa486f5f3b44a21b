"""One partition of `__consumer_offsets` at its leader: the coordinator of its groups, its log, its clock.

From CoordinatorRuntime. The coordinator decides; here its records are appended, its answers are handed to those who
wait for them, and it is woken at its next deadline. A log that fails ends the coordinator; a new one is then loaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias
from uuid import uuid4

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import now_ms
from doorkeeper.cluster.groups.coordinator import GroupCoordinator
from doorkeeper.cluster.groups.offset_store import NO_PRODUCER_ID
from doorkeeper.cluster.groups.settings import GroupConfigs
from doorkeeper.cluster.groups.step import Decision
from doorkeeper.cluster.groups.topics import TopicsView
from doorkeeper.cluster.log.batch import BatchView, MarkerType, iter_whole, read_marker
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.producer_state import Origin
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.errors import RecordError, StorageError
from doorkeeper.wire.coordinator_records import CoordinatorRecord, read_coordinator_record, write_coordinator_record
from doorkeeper.wire.records import TRANSACTIONAL, Record, read_batch, write_batch

LOGGER: Final = logging.getLogger("doorkeeper.groups")

LOAD_BYTES: Final = 1024 * 1024
"""How much of the log is read before others have their turn."""

Decide: TypeAlias = Callable[[GroupCoordinator, object, int], Decision]
"""(coordinator, token, now) -> decision."""


class GroupPartition:
    """The groups of one partition."""

    def __init__(self, log: PartitionLog, leader_epoch: int, configs: GroupConfigs, topics: TopicsView) -> None:
        self.log = log
        self.leader_epoch = leader_epoch
        self._configs = configs
        self._topics = topics
        self._coordinator = self._new_coordinator()
        self._is_loaded = False
        self._is_closed = False
        self._has_new_topics = False
        self._loading: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0
        self._waiting: dict[object, asyncio.Future[Any]] = {}

    def _new_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(new_member_id=lambda: str(uuid4()), configs=self._configs, topics=self._topics)

    # --- loading ---

    def load(self) -> None:
        """Read the log: at once if there is nothing in it, otherwise piece by piece."""
        if self.log.log_start_offset == self.log.log_end_offset:
            self._loaded()
        else:
            self._loading = asyncio.get_running_loop().create_task(self._load())

    async def _load(self) -> None:
        offset = self.log.log_start_offset
        try:
            while offset < self.log.log_end_offset:
                result = self.log.read(offset, LOAD_BYTES)
                if isinstance(result, Refusal) or result.records is None:
                    LOGGER.error("the groups of %s can't be loaded", self.log.name)
                    return
                offset = self._replay(result.records.read(), offset)
                await asyncio.sleep(0)
        except (RecordError, StorageError):
            LOGGER.exception("the groups of %s can't be loaded", self.log.name)
            return
        self._loaded()

    def _replay(self, data: bytes, offset: int) -> int:
        """Take in whole batches from an offset on; returns the offset after them."""
        for position, view in iter_whole(data):
            if view.last_offset >= offset:
                self._replay_batch(data, position, view)
                offset = view.last_offset + 1
        return offset

    def _replay_batch(self, data: bytes, position: int, view: BatchView) -> None:
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

    def _loaded(self) -> None:
        self._is_loaded = True
        self._carry_out(self._coordinator.loaded(now_ms()))

    # --- asking ---

    def check_ready(self) -> ErrorCode:
        """Whether the groups are here and loaded."""
        if self._is_closed:
            return ErrorCode.not_coordinator
        return ErrorCode.none if self._is_loaded else ErrorCode.coordinator_load_in_progress

    @property
    def coordinator(self) -> GroupCoordinator:
        """For questions that change nothing; ask `check_ready` first."""
        if self._has_new_topics:
            self._update_topics()
        return self._coordinator

    def submit(self, decide: Decide) -> Any:
        """Let the coordinator decide: its response, or a future of it; an ErrorCode where it can't."""
        code = self.check_ready()
        if code is not ErrorCode.none:
            return code
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        token = object()
        self._waiting[token] = future
        self._carry_out(decide(self.coordinator, token, now_ms()))
        if future.done():
            return future.result()
        future.add_done_callback(lambda _: self._waiting.pop(token, None))
        return future

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The marker of a transaction has been appended to the log."""
        if self._is_loaded:
            self._coordinator.end_transaction(producer_id, commit=commit)

    def _carry_out(self, decision: Decision) -> None:
        code = self._append(decision) if decision.records else ErrorCode.none
        for reply in decision.replies:
            self._answer(reply.token, reply.response if code is ErrorCode.none else ErrorCode.not_coordinator)
        if code is not ErrorCode.none:
            self._start_anew()
            return
        self._arm()

    def _answer(self, token: object, response: Any) -> None:
        future = self._waiting.pop(token, None)
        if future is not None and not future.done():
            future.set_result(response)

    def _append(self, decision: Decision) -> ErrorCode:
        """Write the records as one batch."""
        now = now_ms()
        records = []
        for one in decision.records:
            key, value = write_coordinator_record(one)
            records.append(Record(value=value, key=key, timestamp=now))
        producer = decision.producer
        if producer is None:
            batch = write_batch(records, base_offset=0)
        else:
            batch = write_batch(
                records,
                base_offset=0,
                is_transactional=True,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
            )
        outcome = self.log.append(bytearray(batch), leader_epoch=self.leader_epoch, now=now, origin=Origin.COORDINATOR)
        if isinstance(outcome, Refusal):
            LOGGER.error("%s refuses the coordinator's records: %s", self.log.name, outcome.message)
            return ErrorCode(outcome.code)
        return ErrorCode.none

    def _start_anew(self) -> None:
        """Memory is ahead of the log: forget it, and read the log again."""
        decision = self._coordinator.close(now_ms())
        for reply in decision.replies:
            self._answer(reply.token, ErrorCode.not_coordinator)
        self._is_loaded = False
        self._coordinator = self._new_coordinator()
        if self.log.offline is None:
            self.load()

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

    # --- time ---

    def _arm(self) -> None:
        """Be woken at the next deadline; an alarm that is set for earlier is left as it is."""
        deadline = self._coordinator.next_deadline()
        if self._is_closed or deadline is None:
            return
        if self._timer is not None:
            if self._due <= deadline:
                return
            self._timer.cancel()
        self._due = deadline
        delay = max(1, deadline - now_ms()) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._is_loaded and not self._is_closed:
            self._carry_out(self._coordinator.expire(now_ms()))

    def close(self) -> None:
        """Send everybody who waits to look for the coordinator anew."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._loading is not None:
            self._loading.cancel()
        if self._timer is not None:
            self._timer.cancel()
        for future in list(self._waiting.values()):
            if not future.done():
                future.set_result(ErrorCode.not_coordinator)
        self._waiting.clear()
