"""What a partition knows of each producer: its epoch, its last batches, its open transaction.

From ProducerStateManager, ProducerStateEntry, ProducerAppendInfo and VerificationStateEntry of
org.apache.kafka.storage.internals.log. `check` judges a batch and changes nothing; `replay` is the only writer, and
recovery calls it without `check`, as Kafka's replicas do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from doorkeeper.cluster.log.batch import Marker, MarkerType
from doorkeeper.cluster.log.refusals import LogError, Refusal
from doorkeeper.wire.records import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    add_to_sequence,
)

BATCHES_TO_RETAIN: Final = 5
"""Kafka's producers have at most five requests in flight: so many last batches can come twice."""
DEFAULT_EXPIRATION_MS: Final = 86_400_000
"""producer.id.expiration.ms"""
NO_OFFSET: Final = -1
TRANSACTION_VERSION_UNKNOWN: Final = -1
MAX_EPOCH: Final = 2**15 - 1


class Origin(IntEnum):
    """Who appends: a producer, or the broker's own coordinators, which write no sequence numbers."""

    CLIENT = 0
    COORDINATOR = 1


class BatchMetadata(NamedTuple):
    """What is kept of a batch, so that its repetition is known."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return add_to_sequence(self.last_sequence, -self.offset_delta)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class CompletedTransaction(NamedTuple):
    """A transaction whose marker was just written."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


@dataclass(slots=True)
class ProducerSettings:
    """What a broker's configs say about producers, shared by all its logs; a change counts at once."""

    expiration_ms: int = DEFAULT_EXPIRATION_MS
    requires_verification: bool = False
    """transaction.partition.verification.enable: a transaction begins only with its coordinator's leave."""


class Verification:
    """Leave to begin a transaction here, while its coordinator is asked (KIP-890)."""

    __slots__ = ("epoch", "lowest_sequence", "started", "supports_epoch_bump")

    def __init__(self, sequence: int, epoch: int, started: int, *, supports_epoch_bump: bool) -> None:
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.started = started
        self.supports_epoch_bump = supports_epoch_bump

    def note(self, sequence: int, epoch: int) -> None:
        if epoch > self.epoch or (epoch == self.epoch and sequence < self.lowest_sequence):
            self.epoch = epoch
            self.lowest_sequence = sequence


class ProducerEntry:
    """The state of one producer id."""

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "producer_id", "transaction_start")

    def __init__(
        self,
        producer_id: int,
        epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = -1,
        last_timestamp: int = NO_TIMESTAMP,
        transaction_start: int = NO_OFFSET,
        batches: Iterable[BatchMetadata] = (),
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_start = transaction_start
        self.batches: deque[BatchMetadata] = deque(batches, BATCHES_TO_RETAIN)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def offset_delta(self) -> int:
        return self.batches[-1].offset_delta if self.batches else 0

    def find_duplicate(self, batch: BatchHeader) -> BatchMetadata | None:
        if batch.producer_epoch != self.epoch:
            return None
        last_sequence, delta = batch.last_sequence, batch.last_offset_delta
        for known in self.batches:
            if known.last_sequence == last_sequence and known.offset_delta == delta:
                return known
        return None

    def enter_epoch(self, epoch: int) -> None:
        """Sequence numbers begin anew with an epoch."""
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch


class ProducerStates:
    """All producers of one partition."""

    def __init__(self, name: str, settings: ProducerSettings | None = None) -> None:
        self._name = name
        self._settings = settings or ProducerSettings()
        self.entries: dict[int, ProducerEntry] = {}
        self._ongoing: dict[int, int] = {}
        """Producer ids by the first offset of their open transaction; first offsets only grow, so in their order."""
        self._verifications: dict[int, Verification] = {}

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest open transaction began."""
        return next(iter(self._ongoing), None)

    def has_ongoing_transaction(self, producer_id: int, epoch: int) -> bool:
        entry = self.entries.get(producer_id)
        return entry is not None and entry.transaction_start >= 0 and entry.epoch == epoch

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, now: int, *, supports_epoch_bump: bool
    ) -> Verification | Refusal | None:
        """Begin to verify a transaction; nothing if it is under way here already."""
        entry = self.entries.get(producer_id)
        if entry is not None and epoch < entry.epoch:
            return self._stale_epoch(producer_id, epoch, entry.epoch)
        if self.has_ongoing_transaction(producer_id, epoch):
            return None
        verification = self._verifications.get(producer_id)
        if verification is None:
            verification = Verification(sequence, epoch, now, supports_epoch_bump=supports_epoch_bump)
            self._verifications[producer_id] = verification
        verification.note(sequence, epoch)
        return verification

    def check(
        self,
        batch: BatchHeader,
        offset: int,
        origin: Origin,
        marker: Marker | None,
        verification: Verification | None,
        transaction_version: int,
    ) -> Refusal | BatchMetadata | None:
        """Judge a batch that is to be written at an offset: a refusal, the same batch written before, or nothing."""
        entry = self.entries.get(batch.producer_id)
        if entry is not None and marker is None and self._follows_on(entry, batch):
            return None
        if entry is not None and origin is Origin.CLIENT and (known := entry.find_duplicate(batch)) is not None:
            return known
        if batch.is_transactional and (refused := self._check_transaction(batch, entry, marker, verification)):
            return refused
        if marker is not None:
            return self._check_marker(batch, entry, offset, marker, transaction_version)
        return self._check_data(batch, entry, offset, origin)

    def _follows_on(self, entry: ProducerEntry, batch: BatchHeader) -> bool:
        """Whether this is the next batch of the same epoch and transaction: the usual case, told without more ado."""
        return (
            batch.producer_epoch == entry.epoch
            and len(entry.batches) > 0
            and batch.base_sequence == entry.batches[-1].last_sequence + 1
            and batch.is_transactional == (entry.transaction_start >= 0)
            and batch.producer_id not in self._verifications
        )

    def _check_transaction(
        self, batch: BatchHeader, entry: ProducerEntry | None, marker: Marker | None, verification: Verification | None
    ) -> Refusal | None:
        if self.has_ongoing_transaction(batch.producer_id, batch.producer_epoch):
            return None
        if entry is not None and batch.producer_epoch < entry.epoch:
            return self._stale_epoch(batch.producer_id, batch.producer_epoch, entry.epoch)
        if self._settings.requires_verification and marker is None:
            known = self._verifications.get(batch.producer_id)
            if known is None or known is not verification:
                return Refusal(LogError.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")
        return None

    def _check_marker(
        self, batch: BatchHeader, entry: ProducerEntry | None, offset: int, marker: Marker, transaction_version: int
    ) -> Refusal | None:
        if entry is None:
            return None
        if refused := self._check_epoch(batch, entry, offset, max(0, transaction_version)):
            return refused
        if entry.coordinator_epoch > marker.coordinator_epoch:
            return Refusal(
                LogError.TRANSACTION_COORDINATOR_FENCED,
                f"Invalid coordinator epoch for producerId {batch.producer_id} at offset {offset} in partition "
                f"{self._name}: {marker.coordinator_epoch} (zombie), {entry.coordinator_epoch} (current)",
            )
        return None

    def _check_data(
        self, batch: BatchHeader, entry: ProducerEntry | None, offset: int, origin: Origin
    ) -> Refusal | None:
        if entry is not None and (refused := self._check_epoch(batch, entry, offset, TRANSACTION_VERSION_UNKNOWN)):
            return refused
        if origin is Origin.CLIENT and (refused := self._check_sequence(batch, entry, offset)):
            return refused
        if entry is not None and entry.transaction_start >= 0 and not batch.is_transactional:
            return Refusal(
                LogError.INVALID_TXN_STATE,
                f"Expected transactional write from producer {batch.producer_id} at offset (offset={offset}, "
                f"segment=[-1:-1]) in partition {self._name}",
            )
        return None

    def _check_epoch(self, batch: BatchHeader, entry: ProducerEntry, offset: int, version: int) -> Refusal | None:
        """A marker of transaction version 2 has a new epoch; anything else may have the epoch that is known."""
        epoch, current = batch.producer_epoch, entry.epoch
        is_strict = version >= 2
        if epoch > current or (epoch == current and not is_strict):
            return None
        if is_strict and epoch == current and (entry.transaction_start < 0 or epoch == MAX_EPOCH):
            return None  # a marker sent again, after its answer was lost (KAFKA-19999)
        return Refusal(
            LogError.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {batch.producer_id} at offset {offset} in {self._name} is {epoch}, which is "
            f"{'<=' if is_strict else '<'} the last seen epoch {current} (TV{version})",
        )

    def _check_sequence(self, batch: BatchHeader, entry: ProducerEntry | None, offset: int) -> Refusal | None:
        first = batch.base_sequence
        where = f"producer {batch.producer_id} at offset {offset} in partition {self._name}: {first}"
        verification = self._verifications.get(batch.producer_id)
        if verification is not None and (refused := _check_first_sequence(verification, entry, first, where)):
            return refused
        if entry is None or entry.epoch == NO_PRODUCER_EPOCH:
            return None  # all that this producer wrote may have been deleted: any sequence will do
        if batch.producer_epoch != entry.epoch:
            if first == 0:
                return None
            return Refusal(
                LogError.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number for new epoch of producer {batch.producer_id}at offset {offset} in partition "
                f"{self._name}: {batch.producer_epoch} (request epoch), {first} (seq. number), {entry.epoch} "
                "(current producer epoch)",
            )
        last = entry.last_sequence
        if first == last + 1 or (first == 0 and last == MAX_SEQUENCE):
            return None
        return Refusal(
            LogError.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for {where} (incoming seq. number), {last} (current end sequence number)",
        )

    def _stale_epoch(self, producer_id: int, epoch: int, current: int) -> Refusal:
        return Refusal(
            LogError.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {producer_id} is {epoch}, which is smaller than the last seen epoch {current}",
        )

    def replay(self, batch: BatchHeader, offset: int, marker: Marker | None) -> CompletedTransaction | None:
        """Take in a batch that is written at an offset; a marker may complete a transaction.

        A control batch without a marker was emptied by the cleaner, and says nothing any more.
        """
        producer_id = batch.producer_id
        if producer_id < 0 or (marker is None and batch.is_control):
            return None
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry(producer_id)
        if batch.is_transactional:
            self._forget_verification(batch)
        entry.enter_epoch(batch.producer_epoch)
        if marker is not None:
            return self._end_transaction(entry, offset, marker)
        delta = batch.last_offset_delta
        entry.batches.append(BatchMetadata(batch.last_sequence, offset + delta, delta, batch.max_timestamp))
        entry.last_timestamp = batch.max_timestamp
        if batch.is_transactional and entry.transaction_start < 0:
            entry.transaction_start = offset
            self._ongoing[offset] = producer_id
        return None

    def _end_transaction(self, entry: ProducerEntry, offset: int, marker: Marker) -> CompletedTransaction | None:
        start = entry.transaction_start
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = marker.timestamp
        entry.transaction_start = NO_OFFSET
        if start < 0:
            return None
        self._ongoing.pop(start, None)
        return CompletedTransaction(entry.producer_id, start, offset, marker.type is MarkerType.ABORT)

    def _forget_verification(self, batch: BatchHeader) -> None:
        """Either the transaction has begun here, or it is over; except where its successor is being verified."""
        known = self._verifications.get(batch.producer_id)
        if known is None:
            return
        is_next = known.supports_epoch_bump and batch.is_control and batch.producer_epoch == known.epoch
        if not is_next:
            del self._verifications[batch.producer_id]

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """The last stable offset once a transaction is over, as it is kept in the transactions index."""
        first = self.first_unstable_offset
        return completed.last_offset + 1 if first is None else first

    def load(self, entries: Iterable[ProducerEntry], now: int) -> None:
        """Begin with the producers of a snapshot; those that have expired meanwhile are left out."""
        kept = [entry for entry in entries if not self._is_expired(entry, now)]
        self.entries = {entry.producer_id: entry for entry in kept}
        open_ones = sorted(
            (entry.transaction_start, entry.producer_id) for entry in kept if entry.transaction_start >= 0
        )
        self._ongoing = dict(open_ones)

    def expire(self, now: int) -> None:
        """Forget producers that have been silent for producer.id.expiration.ms, and are in no transaction."""
        self.entries = {key: entry for key, entry in self.entries.items() if not self._is_expired(entry, now)}
        self._verifications = {
            key: entry
            for key, entry in self._verifications.items()
            if now - entry.started < self._settings.expiration_ms
        }

    def _is_expired(self, entry: ProducerEntry, now: int) -> bool:
        return entry.transaction_start < 0 and now - entry.last_timestamp >= self._settings.expiration_ms


def _check_first_sequence(
    verification: Verification, entry: ProducerEntry | None, first: int, where: str
) -> Refusal | None:
    if verification.supports_epoch_bump and first != 0 and (entry is None or not entry.batches):
        return Refusal(
            LogError.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Invalid sequence number for {where} (incoming seq. number). Expected sequence 0 for transactions v2 "
            "idempotent producer with no existing state.",
        )
    if first > verification.lowest_sequence:
        return Refusal(
            LogError.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for {where} (incoming seq. number), {verification.lowest_sequence} "
            "(earliest seen sequence)",
        )
    return None
