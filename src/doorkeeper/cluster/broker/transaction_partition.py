"""One partition of `__transaction_state` at its leader: decisions are written down, then markers go out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.coordinator_partition import CoordinatorPartition
from doorkeeper.cluster.broker.logs import now_ms
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.transactions.coordinator import TransactionCoordinator
from doorkeeper.cluster.transactions.messages import PartitionCodes, TopicPartition, TxnMarker
from doorkeeper.cluster.transactions.settings import TransactionSettings
from doorkeeper.cluster.transactions.step import Decision
from doorkeeper.wire.coordinator_records import CoordinatorRecord
from doorkeeper.wire.records import BatchHeader, read_batch
from doorkeeper.wire.transaction_records import read_transaction_record

R = TypeVar("R")


class Around(NamedTuple):
    """What a coordinator of transactions sees of its broker."""

    settings: TransactionSettings
    new_producer_id: Callable[[], int | None]
    send: Callable[[TransactionPartition, TxnMarker], None]
    """Bring a marker to its partitions' leaders, and tell the partition what became of it."""


class TransactionPartition(CoordinatorPartition[Decision[None]]):
    """The transactional ids of one partition."""

    _coordinator: TransactionCoordinator

    def __init__(self, log: PartitionLog, leader_epoch: int, around: Around, transaction_version: int) -> None:
        self._around = around
        self._transaction_version = transaction_version
        super().__init__(log, leader_epoch)

    def _new_coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            coordinator_epoch=self.leader_epoch,
            new_producer_id=self._around.new_producer_id,
            settings=self._around.settings,
            transaction_version=self._transaction_version,
        )

    def _replay_batch(self, data: bytes, position: int, view: BatchHeader) -> None:
        if view.is_control:
            return
        for one in read_batch(data, position).records:
            record = read_transaction_record(one.key or b"", one.value)
            if isinstance(record, CoordinatorRecord):
                self._coordinator.replay(record)

    def lead(self, leader_epoch: int) -> None:
        """Another epoch fences the markers of the one before, so the coordinator begins anew."""
        if leader_epoch != self.leader_epoch:
            super().lead(leader_epoch)
            self._start_anew()

    def set_transaction_version(self, transaction_version: int) -> None:
        """Another feature level of the cluster."""
        self._transaction_version = transaction_version
        self._coordinator.set_transaction_version(transaction_version)

    # --- asking ---

    @property
    def coordinator(self) -> TransactionCoordinator:
        """For questions that change nothing; ask `check_ready` first."""
        return self._coordinator

    def submit(self, decide: Callable[[TransactionCoordinator, int], Decision[R]]) -> R | ErrorCode:
        """Let the coordinator decide: its response, or why there is none."""
        code = self.check_ready()
        if code is not ErrorCode.none:
            return code
        decision = decide(self._coordinator, now_ms())
        return decision.response if self._settle(decision) else ErrorCode.not_coordinator

    def _carry_out(self, decision: Decision[None]) -> None:
        self._settle(decision)

    def _settle(self, decision: Decision[R]) -> bool:
        """Write down what was decided, and send the markers of it; False if the log refuses."""
        if decision.records and self._append(decision.records) is not ErrorCode.none:
            self._start_anew()
            return False
        for marker in decision.markers:
            self._around.send(self, marker)
        self._arm()
        return True

    # --- markers ---

    def markers_written(self, marker: TxnMarker, outcomes: PartitionCodes) -> None:
        """What became of a marker, or of a part of it."""
        self._settle_marker(lambda coordinator, now: coordinator.markers_written(marker, outcomes, now))

    def markers_skipped(self, marker: TxnMarker, gone: Iterable[TopicPartition]) -> None:
        """These partitions of a marker are not there any more."""
        self._settle_marker(lambda coordinator, now: coordinator.markers_skipped(marker, gone, now))

    def _settle_marker(self, decide: Callable[[TransactionCoordinator, int], Decision[None]]) -> None:
        if self.check_ready() is ErrorCode.none:
            self._settle(decide(self._coordinator, now_ms()))
