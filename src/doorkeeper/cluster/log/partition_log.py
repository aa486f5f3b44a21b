"""The log of one partition: append, read, roll, and the offsets that everybody asks for.

From org.apache.kafka.storage.internals.log.UnifiedLog and LocalLog. There is one replica, so the high watermark is the
log's end. Nothing here raises for what a client or the disk does: the answer is a `Refusal`, and a disk that fails
takes this log offline, with its sentence in `offline`.
"""

from __future__ import annotations

import logging
import struct
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.log.batch import Marker, read_marker, write_marker
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.files import CLEANED_SUFFIX, DELETED_SUFFIX, SWAP_SUFFIX, partition_directory
from doorkeeper.cluster.log.leader_epochs import EpochEnd, LeaderEpochs
from doorkeeper.cluster.log.producer_snapshot import remove_snapshot, save_snapshot
from doorkeeper.cluster.log.producer_state import BatchMetadata, Origin, ProducerStates, Verification
from doorkeeper.cluster.log.reading import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    NOT_TIERED,
    AbortedRange,
    FileSlice,
    FoundOffset,
    Isolation,
    ReadResult,
    find_by_time,
    find_max_timestamp,
    read_slice,
)
from doorkeeper.cluster.log.refusals import LogError, Refusal
from doorkeeper.cluster.log.segment import BatchPlace, Segment
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.cluster.log.transactions_index import AbortedTransaction
from doorkeeper.cluster.log.validation import CheckedBatch, check_batch
from doorkeeper.cluster.log.waiters import Waiters
from doorkeeper.errors import RecordError, StorageError
from doorkeeper.wire.records import CONTROL, NO_TIMESTAMP, BatchHeader

logger = logging.getLogger(__name__)

T = TypeVar("T")

HIGH_WATERMARK: Final = -1
"""DeleteRecords' word for "all that there is"."""
_LEADER_EPOCH_POSITION: Final = 12
_INT64: Final = struct.Struct(">q")
_INT32: Final = struct.Struct(">i")


class Appended(NamedTuple):
    """A batch is in the log; a duplicate is answered with the offsets that it got the first time."""

    base_offset: int
    last_offset: int
    log_append_time: int
    log_start_offset: int
    is_duplicate: bool = False


class PartitionLog:
    """Made by `recovery.open_log`; its segments are never empty in number."""

    def __init__(
        self,
        topic: str,
        partition: int,
        directory: Path,
        config: LogConfig,
        surroundings: Surroundings,
        *,
        segments: list[Segment],
        producers: ProducerStates,
        epochs: LeaderEpochs,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        snapshots: list[int],
        topic_id: UUID | None,
        now: int,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.name = partition_directory(topic, partition)
        self.directory = directory
        self.config = config
        self.topic_id = topic_id
        self.segments = segments
        self.producers = producers
        self.epochs = epochs
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        """Everything before it is on the disk, however the machine ends."""
        self.last_flushed = now
        self.cleaned_to = 0
        """The cleaner's checkpoint: where the dirty part begins."""
        self.offline: str | None = None
        self.waiters = Waiters()
        self.doomed: list[Path] = []
        """Files that are renamed and wait to be removed."""
        self._bases = [segment.base_offset for segment in segments]
        self._snapshots = snapshots
        self._surroundings = surroundings

    # Offsets

    @property
    def high_watermark(self) -> int:
        return self.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        """Records before it are decided: their transactions are over."""
        first = self.producers.first_unstable_offset
        return self.log_end_offset if first is None else max(first, self.log_start_offset)

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def epoch_end_offset(self, epoch: int) -> EpochEnd:
        """OffsetForLeaderEpoch: the end of an epoch, or (-1, -1)."""
        return self.epochs.end_of(epoch, self.log_end_offset)

    # Appending

    def append(
        self,
        data: bytes | bytearray | memoryview,
        *,
        leader_epoch: int,
        now: int,
        origin: Origin = Origin.CLIENT,
        verification: Verification | None = None,
        transaction_version: int = 0,
    ) -> Appended | Refusal:
        """Append the one batch in `data`. A writable buffer is changed in place: offsets and epoch are patched in."""
        if self.offline is not None:
            return Refusal(LogError.KAFKA_STORAGE_ERROR, self.offline)
        checked = check_batch(data, self.name, self.config, origin, now)
        if isinstance(checked, Refusal):
            return checked
        if len(checked.data) > self.config.segment_bytes:
            return Refusal(
                LogError.RECORD_LIST_TOO_LARGE,
                f"Message batch size is {len(checked.data)} bytes in append to partition {self.name}, which exceeds "
                f"the maximum configured segment size of {self.config.segment_bytes}.",
            )
        try:
            segment = self._prepare(checked, leader_epoch, now)
            marker = None
            if checked.view.producer_id >= 0:
                if checked.view.attributes & CONTROL:
                    marker = read_marker(checked.data)
                judged = self.producers.check(
                    checked.view, self.log_end_offset, origin, marker, verification, transaction_version
                )
                if judged is not None:
                    return judged if isinstance(judged, Refusal) else self._answer_duplicate(judged)
            return self._write(segment, checked, marker, leader_epoch, now)
        except StorageError as error:
            return self.fail(error)
        except RecordError as error:
            return Refusal(LogError.INVALID_RECORD, str(error))

    def _prepare(self, batch: CheckedBatch, leader_epoch: int, now: int) -> Segment:
        """The segment that the batch goes to. As in Kafka, even a batch that is refused later may begin a new one."""
        if leader_epoch > self.epochs.latest:
            self.epochs.assign(leader_epoch, self.log_end_offset)
        segment = self.segments[-1]
        view = batch.view
        last_offset = self.log_end_offset + view.last_offset_delta
        if segment.should_roll(self.config, len(batch.data), view.max_timestamp, last_offset, now):
            return self.roll(now)
        return segment

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        marker: Marker,
        *,
        leader_epoch: int,
        now: int,
        transaction_version: int = 0,
    ) -> Appended | Refusal:
        """End a transaction, as WriteTxnMarkers asks."""
        return self.append(
            bytearray(write_marker(producer_id, producer_epoch, marker)),
            leader_epoch=leader_epoch,
            now=now,
            origin=Origin.COORDINATOR,
            transaction_version=transaction_version,
        )

    def _answer_duplicate(self, known: BatchMetadata) -> Appended:
        return Appended(
            known.first_offset, known.last_offset, known.timestamp, self.log_start_offset, is_duplicate=True
        )

    def _write(
        self, segment: Segment, batch: CheckedBatch, marker: Marker | None, leader_epoch: int, now: int
    ) -> Appended:
        whole, view, log_append_time = batch
        offset = self.log_end_offset
        last_offset = offset + view.last_offset_delta
        size = len(whole)
        if whole.readonly:
            whole = memoryview(bytearray(whole))
        _INT64.pack_into(whole, 0, offset)
        _INT32.pack_into(whole, _LEADER_EPOCH_POSITION, leader_epoch)
        position = segment.size
        segment.write(whole)
        place = BatchPlace(offset, last_offset, position, size, view.max_timestamp)
        segment.note(place, self.config)
        self.log_end_offset = last_offset + 1
        if view.producer_id >= 0:
            self._replay(view, offset, marker, segment)
        if self.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush(now)
        if self.waiters:
            self.waiters.notify()
        return Appended(offset, last_offset, log_append_time, self.log_start_offset)

    def _replay(self, view: BatchHeader, offset: int, marker: Marker | None, segment: Segment) -> None:
        completed = self.producers.replay(view, offset, marker)
        if completed is not None and completed.is_aborted:
            stable = self.producers.last_stable_offset_after(completed)
            segment.transactions.append(
                AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)
            )

    def fail(self, error: StorageError) -> Refusal:
        """Take this log offline; who waits is told."""
        if self.offline is None:
            self.offline = f"The log for partition {self.name} is offline: {error.told}"
            logger.error("The log for partition %s is offline: %s", self.name, error)
            self.waiters.notify()
        return Refusal(LogError.KAFKA_STORAGE_ERROR, self.offline)

    # Segments

    def roll(self, now: int) -> Segment:
        """Begin a new segment at the log's end, and keep the producers' state as of there."""
        base = self.log_end_offset
        active = self.active
        if active.base_offset == base:
            self.segments.pop()
            self._bases.pop()
        else:
            active.seal()
            active.release()
        segment = self._new_segment(base, now)
        self.segments.append(segment)
        self._bases.append(base)
        self.take_snapshot(sync=False)
        return segment

    def _new_segment(self, base: int, now: int, suffix: str = "") -> Segment:
        near = self._surroundings
        return Segment(
            self.directory,
            base,
            near.files,
            near.disk,
            created=now,
            jitter=near.jitter(self.config),
            is_new=True,
            suffix=suffix,
        )

    def new_cleaned_segment(self, base: int, now: int) -> Segment:
        """A segment that is not part of the log yet, for the cleaner to fill."""
        return self._new_segment(base, now, CLEANED_SUFFIX)

    def take_snapshot(self, *, sync: bool) -> None:
        """Save the producers' state as of the log's end, unless it was, or nothing was ever written."""
        offset = self.log_end_offset
        is_blank = offset == self._bases[0] and not self.producers.entries
        if is_blank or (self._snapshots and self._snapshots[-1] >= offset):
            return
        save_snapshot(self.directory, offset, self.producers.entries.values(), self._surroundings.disk, sync=sync)
        self._snapshots.append(offset)

    def delete_segments(self, count: int, now: int) -> None:
        """Remove the oldest segments; if that is all of them, an empty one takes their place."""
        if count == 0:
            return
        if count == len(self.segments):
            self.roll(now)
            count = min(count, len(self.segments) - 1)
        gone = self.segments[:count]
        self._advance_start(self.segments[count].base_offset)
        del self.segments[:count], self._bases[:count]
        self._doom(gone)

    def _doom(self, gone: list[Segment]) -> None:
        for segment in gone:
            self.doomed += segment.change_suffix(DELETED_SUFFIX)
            if segment.base_offset in self._snapshots:
                self._snapshots.remove(segment.base_offset)
                remove_snapshot(self.directory, segment.base_offset)

    def replace_segments(self, cleaned: Segment, old: list[Segment]) -> None:
        """Swap a cleaned segment in for the ones that it was made from (LocalLog.replaceSegments).

        A crash at any point leaves one or the other: once the swap file is there, recovery completes the swap.
        """
        cleaned.change_suffix(SWAP_SUFFIX)
        first = self._bases.index(old[0].base_offset)
        kept_snapshot = cleaned.base_offset in self._snapshots
        if kept_snapshot:
            self._snapshots.remove(cleaned.base_offset)
        self._doom(old)
        if kept_snapshot:
            self._snapshots = sorted([*self._snapshots, cleaned.base_offset])
        cleaned.change_suffix("")
        self.segments[first : first + len(old)] = [cleaned]
        self._bases[first : first + len(old)] = [cleaned.base_offset]

    def has_segments(self, segments: list[Segment]) -> bool:
        """Whether all of these are part of the log still."""
        return all(segment in self.segments for segment in segments)

    def reap(self, limit: int) -> int:
        """Remove up to so many files that wait for it; returns how many are left."""
        for _ in range(min(limit, len(self.doomed))):
            path = self.doomed.pop()
            with storage_errors("remove", path):
                path.unlink(missing_ok=True)
        return len(self.doomed)

    def flush(self, now: int) -> None:
        """Have everything on the disk."""
        first = max(0, bisect_right(self._bases, self.recovery_point) - 1)
        for segment in self.segments[first:]:
            segment.sync()
        self.recovery_point = self.log_end_offset
        self.last_flushed = now

    def close(self) -> None:
        """End cleanly: indexes, snapshot and data are complete in their files."""
        if self.offline is None:
            for segment in self.segments:
                if segment is self.active:
                    segment.seal()
                segment.release()
            self.take_snapshot(sync=True)
        else:
            for segment in self.segments:
                segment.release()

    # Reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        *,
        at_least_one: bool = True,
    ) -> ReadResult | Refusal:
        """Records from an offset on, as bytes of one segment's file."""
        if self.offline is not None:
            return Refusal(LogError.KAFKA_STORAGE_ERROR, self.offline)
        if refused := self._check_offset(offset):
            return refused
        committed = isolation is Isolation.READ_COMMITTED
        end = self.last_stable_offset if committed else self.log_end_offset
        records: FileSlice | None = None
        aborted: tuple[AbortedRange, ...] = ()
        if offset < end:
            try:
                records, aborted = self._read(offset, max_bytes, end, committed=committed, at_least_one=at_least_one)
            except StorageError as error:
                return self.fail(error)
        return ReadResult(
            records,
            self.log_start_offset,
            self.log_end_offset,
            self.last_stable_offset,
            aborted if committed else None,
        )

    def _check_offset(self, offset: int) -> Refusal | None:
        if self.log_start_offset <= offset <= self.log_end_offset:
            return None
        asked = f"Received request for offset {offset} for partition {self.name}, but we only have log segments"
        if offset < self.log_start_offset:
            return Refusal(LogError.OFFSET_OUT_OF_RANGE, f"{asked} starting from offset: {self.log_start_offset}.")
        return Refusal(LogError.OFFSET_OUT_OF_RANGE, f"{asked} upto {self.log_end_offset}.")

    def _read(
        self, offset: int, max_bytes: int, end: int, *, committed: bool, at_least_one: bool
    ) -> tuple[FileSlice | None, tuple[AbortedRange, ...]]:
        for place in range(max(0, bisect_right(self._bases, offset) - 1), len(self.segments)):
            segment = self.segments[place]
            end_position = self._end_position(place, end)
            found = read_slice(segment, offset, max_bytes, end_position, at_least_one=at_least_one)
            if found is not None:
                return found, self._aborted(place, offset, found) if committed else ()
        return None, ()

    def _end_position(self, place: int, end: int) -> int:
        """Where, in a segment, the records before an offset end."""
        segment = self.segments[place]
        if end == self.log_end_offset or (place + 1 < len(self.segments) and self._bases[place + 1] <= end):
            return segment.size
        found = segment.find(end) if segment.base_offset <= end else None
        if found is None:
            return segment.size if segment.base_offset <= end else 0
        return found.position

    def _aborted(self, place: int, offset: int, found: FileSlice) -> tuple[AbortedRange, ...]:
        """The aborted transactions that touch what was found; those beyond it do no harm, but are not looked for."""
        bound = self.segments[place].offset_index.offset_after(found.position + found.length)
        if bound is None:
            bound = self._bases[place + 1] if place + 1 < len(self.segments) else self.log_end_offset
        return tuple(
            AbortedRange(each.producer_id, each.first_offset) for each in self.collect_aborted(place, offset, bound)
        )

    def collect_aborted(self, place: int, start: int, end: int) -> list[AbortedTransaction]:
        """Aborted transactions with offsets in [start, end), from a segment on."""
        collected: list[AbortedTransaction] = []
        for segment in self.segments[place:]:
            found, is_complete = segment.transactions.collect(start, end)
            collected += found
            if is_complete:
                break
        return collected

    def offset_for_time(
        self, timestamp: int, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> FoundOffset | Refusal | None:
        """ListOffsets: the first offset at or after a time, or one of the special ones; nothing if there is none."""
        if self.offline is not None:
            return Refusal(LogError.KAFKA_STORAGE_ERROR, self.offline)
        end = self.last_stable_offset if isolation is Isolation.READ_COMMITTED else self.log_end_offset
        if timestamp == LATEST_TIMESTAMP:
            return FoundOffset(end, NO_TIMESTAMP, self.epochs.latest)
        if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            earliest = self.epochs.earliest
            is_known = earliest is not None and earliest.start_offset <= self.log_start_offset
            return FoundOffset(self.log_start_offset, NO_TIMESTAMP, earliest.epoch if is_known and earliest else -1)
        if timestamp < EARLIEST_LOCAL_TIMESTAMP:
            return NOT_TIERED
        try:
            if timestamp == MAX_TIMESTAMP:
                found = find_max_timestamp(self.segments)
            else:
                found = find_by_time(self.segments, timestamp, self.log_start_offset)
        except StorageError as error:
            return self.fail(error)
        return None if found is None or found.offset >= end else found

    # The start of the log

    def delete_records(self, before: int) -> int | Refusal:
        """DeleteRecords: move the log's start; returns the new start. The files follow with the next retention."""
        if self.offline is not None:
            return Refusal(LogError.KAFKA_STORAGE_ERROR, self.offline)
        if self.config.is_compacted and not self.config.is_deleted:
            return Refusal(
                LogError.POLICY_VIOLATION,
                f"Records of partition {self.name} can not be deleted due to the configured policy",
            )
        offset = self.high_watermark if before == HIGH_WATERMARK else before
        if offset < 0:
            return Refusal(LogError.OFFSET_OUT_OF_RANGE, f"The offset {offset} for partition {self.name} is not valid")
        if offset > self.high_watermark:
            return Refusal(
                LogError.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {offset} of partition {self.name} since it is larger than "
                f"the high watermark {self.high_watermark}",
            )
        try:
            self._advance_start(offset)
        except StorageError as error:
            return self.fail(error)
        return self.log_start_offset

    def _advance_start(self, offset: int) -> None:
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.recovery_point = max(self.recovery_point, offset)
        self.epochs.truncate_from_start(offset)

    def attempt(self, work: Callable[[], T]) -> T | None:
        """Do something that may find the disk broken; then the log is offline and nothing is returned."""
        try:
            return work()
        except StorageError as error:
            self.fail(error)
            return None
