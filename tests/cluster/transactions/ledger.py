"""Drive a transaction coordinator by hand: a clock that is set, a log that is a list, markers that wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.coordinator import TransactionCoordinator
from doorkeeper.cluster.transactions.messages import (
    NONE,
    TV_2,
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionCodes,
    TopicPartition,
    TxnMarker,
)
from doorkeeper.cluster.transactions.metadata import TransactionMetadata
from doorkeeper.cluster.transactions.records import to_record
from doorkeeper.cluster.transactions.settings import TransactionSettings
from doorkeeper.cluster.transactions.step import Decision
from doorkeeper.wire.coordinator_records import CoordinatorRecord, write_coordinator_record
from doorkeeper.wire.transaction_records import TransactionLogValue, read_transaction_record

START_MS = 1_000_000
TIMEOUT_MS = 60_000
FIRST_PRODUCER_ID = 1000
NAME = "payments"

A0 = TopicPartition("a", 0)
A1 = TopicPartition("a", 1)
B0 = TopicPartition("b", 0)
OFFSETS = TopicPartition("__consumer_offsets", 7)

INIT_VERSION = 5
ADD_VERSION = {0: 3, 1: 3, 2: 5}
END_VERSION = {0: 4, 1: 4, 2: 5}


@dataclass
class Ledger:
    """A coordinator and the world around it; requests are those of a client at the cluster's transaction version."""

    transaction_version: int = TV_2
    settings: TransactionSettings = field(default_factory=TransactionSettings)
    now_ms: int = START_MS
    coordinator_epoch: int = 0
    log: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    markers: list[TxnMarker] = field(default_factory=list)
    ids_left: int = 1_000_000

    def __post_init__(self) -> None:
        self._numbers = count(FIRST_PRODUCER_ID)
        self.load(self.log)

    def new_producer_id(self) -> int | None:
        if self.ids_left == 0:
            return None
        self.ids_left -= 1
        return next(self._numbers)

    # --- what an owner does ---

    def load(self, log: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Begin anew from a log, as after a restart: markers under way are lost."""
        self.coordinator = TransactionCoordinator(
            coordinator_epoch=self.coordinator_epoch,
            new_producer_id=self.new_producer_id,
            settings=self.settings,
            transaction_version=self.transaction_version,
        )
        for key, value in log:
            record = read_transaction_record(key, value)
            assert isinstance(record, CoordinatorRecord)
            self.coordinator.replay(record)
        self.markers.clear()
        self.take(self.coordinator.loaded(self.now_ms))

    def restart(self) -> None:
        self.coordinator_epoch += 1
        self.load(self.log)

    def take(self, decision: Decision[Any]) -> Any:
        self.log.extend(write_coordinator_record(record) for record in decision.records)
        self.markers.extend(decision.markers)
        return decision.response

    def write_markers(self, code: ErrorCode = NONE) -> None:
        """Every leader answers the markers that are under way with the same code."""
        pending, self.markers = self.markers, []
        for marker in pending:
            self.take(self.coordinator.markers_written(marker, dict.fromkeys(marker.partitions, code), self.now_ms))

    def pass_time(self, until_ms: int) -> None:
        """Let every deadline up to this time come true."""
        while (deadline := self.coordinator.next_deadline()) is not None and deadline <= until_ms:
            self.now_ms = max(self.now_ms, deadline)
            self.take(self.coordinator.expire(self.now_ms))
        self.now_ms = until_ms

    # --- what clients ask ---

    def init(
        self, producer_id: int = -1, producer_epoch: int = -1, version: int = INIT_VERSION, **changes: Any
    ) -> InitProducerIdResponse:
        request = InitProducerIdRequest(
            transactional_id=NAME,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
        )
        response = self.take(self.coordinator.init_producer_id(replace(request, **changes), version, self.now_ms))
        assert isinstance(response, InitProducerIdResponse)
        return response

    def ask_partitions(
        self,
        producer_id: int,
        producer_epoch: int,
        *partitions: TopicPartition,
        version: int | None = None,
        **changes: Any,
    ) -> PartitionCodes:
        request = AddPartitionsToTxnRequest(
            transactional_id=NAME, producer_id=producer_id, producer_epoch=producer_epoch, partitions=partitions
        )
        version = ADD_VERSION[self.transaction_version] if version is None else version
        decision = self.coordinator.add_partitions_to_txn(replace(request, **changes), version, self.now_ms)
        response: PartitionCodes = self.take(decision)
        return response

    def add(self, producer_id: int, producer_epoch: int, *partitions: TopicPartition, **options: Any) -> ErrorCode:
        """Add partitions, where all of them get the same code."""
        (code,) = set(self.ask_partitions(producer_id, producer_epoch, *partitions, **options).values())
        return code

    def verify(self, producer_id: int, producer_epoch: int, *partitions: TopicPartition) -> PartitionCodes:
        return self.ask_partitions(producer_id, producer_epoch, *partitions, version=5, verify_only=True)

    def add_offsets(self, producer_id: int, producer_epoch: int, version: int = 4) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=NAME, producer_id=producer_id, producer_epoch=producer_epoch, offsets_partition=OFFSETS
        )
        code = self.take(self.coordinator.add_offsets_to_txn(request, version, self.now_ms))
        assert isinstance(code, ErrorCode)
        return code

    def end(
        self, producer_id: int, producer_epoch: int, *, commit: bool, version: int | None = None, **changes: Any
    ) -> EndTxnResponse:
        request = EndTxnRequest(
            transactional_id=NAME, producer_id=producer_id, producer_epoch=producer_epoch, committed=commit
        )
        version = END_VERSION[self.transaction_version] if version is None else version
        response = self.take(self.coordinator.end_txn(replace(request, **changes), version, self.now_ms))
        assert isinstance(response, EndTxnResponse)
        return response

    # --- what can be seen ---

    @property
    def metadata(self) -> TransactionMetadata:
        return self.coordinator.state.transactions[NAME]

    @property
    def state(self) -> str:
        return self.metadata.state.state_name

    @property
    def producer(self) -> tuple[int, int]:
        return self.metadata.producer_id, self.metadata.producer_epoch

    def at_epoch(self, producer_epoch: int) -> int:
        """Put the id's producer to an epoch, as after many transactions; its producer id."""
        metadata = replace(self.metadata, producer_epoch=producer_epoch, last_producer_epoch=-1)
        self.coordinator.state.put(NAME, metadata)
        self.take(Decision(None, (to_record(metadata, self.transaction_version),)))
        return metadata.producer_id

    def values_in_log(self) -> list[TransactionLogValue | None]:
        """What was written, in order; None for a tombstone."""
        found: list[TransactionLogValue | None] = []
        for key, value in self.log:
            record = read_transaction_record(key, value)
            assert isinstance(record, CoordinatorRecord)
            assert record.value is None or isinstance(record.value, TransactionLogValue)
            found.append(record.value)
        return found

    def states_in_log(self) -> list[int | None]:
        return [None if value is None else value.transaction_status for value in self.values_in_log()]


def producer(response: InitProducerIdResponse | EndTxnResponse) -> tuple[int, int]:
    """Who the producer is after a request that was granted."""
    assert response.error_code is NONE
    return response.producer_id, response.producer_epoch
