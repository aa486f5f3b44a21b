"""Compaction: of each key the last record stays, tombstones and markers go in time.

From LogCleanerManager (what to clean), Cleaner (how), MemoryRecords.filterTo (batch by batch) of Kafka. A compaction
works in steps of bounded size, so that its caller keeps serving in between; appends go on meanwhile, for the active
segment is never touched. If its segments are deleted while it works, it gives up and leaves nothing behind.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.log.batch import Marker, read_marker
from doorkeeper.cluster.log.cleaned_transactions import CleanedTransactions
from doorkeeper.cluster.log.config import MAX_INT
from doorkeeper.cluster.log.files import DELETED_SUFFIX
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.rewriting import empty, retain
from doorkeeper.cluster.log.segment import BatchPlace, Segment
from doorkeeper.errors import RecordError
from doorkeeper.wire.records import BatchHeader, Record, read_batch, view_header

MAX_KEYS: Final = 500_000
"""Keys of one round, in about 90 MB; a dirtier log takes several rounds (Kafka: log.cleaner.dedupe.buffer.size)."""
SYNC_BYTES: Final = 16 * 1024 * 1024
"""Flushed at once, so that no flush takes long."""
KEY_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Dirt:
    """How much of a log a compaction would go through."""

    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool
    """A record has waited for longer than max.compaction.lag.ms."""

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0


def measure_dirt(log: PartitionLog, now: int) -> Dirt:
    """LogCleanerManager.cleanableOffsets, LogToClean and maxCompactionDelay."""
    first_dirty = log.cleaned_to
    if not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = log.log_start_offset
    sealed = log.segments[:-1]
    dirty = [segment for segment in sealed if _end_of(log, segment) > first_dirty]
    uncleanable = max(first_dirty, min(log.last_stable_offset, log.active.base_offset, _lagging(log, dirty, now)))
    first_uncleanable = next(
        (segment.base_offset for segment in sealed if _end_of(log, segment) > uncleanable), log.active.base_offset
    )
    times = [segment.first_timestamp for segment in dirty if segment.first_timestamp > 0]
    is_overdue = bool(times) and min(times) < now - max(0, log.config.max_compaction_lag_ms)
    return Dirt(
        first_dirty,
        first_uncleanable,
        sum(segment.size for segment in sealed if segment.base_offset < first_dirty),
        sum(segment.size for segment in dirty if segment.base_offset < first_uncleanable),
        is_overdue,
    )


def needs_compaction(log: PartitionLog, dirt: Dirt) -> bool:
    if not log.config.is_compacted or dirt.cleanable_bytes == 0:
        return False
    return dirt.is_overdue or dirt.ratio > log.config.min_cleanable_dirty_ratio


def _end_of(log: PartitionLog, segment: Segment) -> int:
    """The base offset of the next segment."""
    return log.segments[log.segments.index(segment) + 1].base_offset


def _lagging(log: PartitionLog, dirty: list[Segment], now: int) -> int:
    """Where the records begin that are younger than min.compaction.lag.ms."""
    lag = log.config.min_compaction_lag_ms
    if lag > 0:
        for segment in dirty:
            if segment.largest_timestamp > now - lag:
                return segment.base_offset
    return log.active.base_offset


class Compaction:
    """One round of compaction of one log."""

    def __init__(self, log: PartitionLog, dirt: Dirt, now: int, *, max_keys: int = MAX_KEYS) -> None:
        self.log = log
        self._dirt = dirt
        self._now = now
        self._max_keys = max_keys
        self._offsets: dict[bytes, int] = {}
        """The last offset of each key's digest, up to `_mapped_to`."""
        self._mapped_to = dirt.first_dirty
        self._cleaned: Segment | None = None
        self._work = self._run()

    def step(self, budget: int) -> bool:
        """Go through about `budget` bytes; tells whether the round is over. StorageErrors are the log's end."""
        while budget > 0:
            done = next(self._work, None)
            if done is None:
                return True
            budget -= done
        return False

    def abandon(self) -> None:
        """Stop, and leave nothing behind."""
        self._work.close()
        self._abandon_cleaned()

    def _run(self) -> Generator[int, None, None]:
        yield from self._map_keys()
        transactions = CleanedTransactions()
        for group in self._groups():
            yield from self._clean(group, transactions)
            if self._cleaned is None:
                return  # given up
            self.log.replace_segments(self._cleaned, group)
            self._cleaned = None
        self.log.cleaned_to = self._mapped_to

    # First pass: where each key was written last

    def _map_keys(self) -> Iterator[int]:
        start, end = self._dirt.first_dirty, self._dirt.first_uncleanable
        transactions = CleanedTransactions()
        segments = [
            each for each in self.log.segments[:-1] if start < _end_of(self.log, each) and each.base_offset < end
        ]
        if segments:
            place = self.log.segments.index(segments[0])
            transactions.add_aborted(self.log.collect_aborted(place, start, end))
        for segment in segments:
            following = _end_of(self.log, segment)
            for place_of_batch in segment.places(segment.offset_index.lookup(start).position):
                if not self._map_batch(segment, place_of_batch, start, transactions):
                    return
                yield place_of_batch.size
            self._mapped_to = following
            segment.release()

    def _map_batch(self, segment: Segment, place: BatchPlace, start: int, transactions: CleanedTransactions) -> bool:
        """Note a batch's keys; tells whether there was room. One batch always finds some: every round gets on."""
        if len(self._offsets) >= self._max_keys:
            return False
        data = segment.read_bytes(place.position, place.size)
        view = view_header(data)
        if not transactions.may_discard(view, _marker(view, data)) and not view.is_control:
            for record in _records(data) or ():
                if record.key is not None and record.offset >= start:
                    self._offsets[_digest(record.key)] = record.offset
        self._mapped_to = max(self._mapped_to, place.last_offset + 1)
        return True

    # Second pass: batch by batch into new segments

    def _groups(self) -> list[list[Segment]]:
        """Neighbours that fit together into one segment."""
        config = self.log.config
        groups: list[list[Segment]] = []
        size = index_size = 0
        for segment in [each for each in self.log.segments[:-1] if each.base_offset < self._mapped_to]:
            indexes = max(segment.offset_index.size, segment.time_index.size)
            fits = (
                groups
                and size + segment.size <= config.segment_bytes
                and index_size + indexes <= config.segment_index_bytes
                and _end_of(self.log, segment) - 1 - groups[-1][0].base_offset <= MAX_INT
            )
            if not fits:
                groups.append([])
                size = index_size = 0
            groups[-1].append(segment)
            size += segment.size
            index_size += indexes
        return groups

    def _clean(self, group: list[Segment], transactions: CleanedTransactions) -> Iterator[int]:
        cleaned = self._cleaned = self.log.new_cleaned_segment(group[0].base_offset, self._now)
        transactions.cleaned_index = cleaned.transactions
        unsynced = 0
        for segment in group:
            if not self.log.has_segments(group) or self.log.offline is not None:
                self._abandon_cleaned()
                return
            place = self.log.segments.index(segment)
            transactions.add_aborted(self.log.collect_aborted(place, segment.base_offset, _end_of(self.log, segment)))
            for batch in segment.places():
                unsynced += self._copy(segment, batch, cleaned, transactions)
                if unsynced >= SYNC_BYTES:
                    cleaned.sync()
                    unsynced = 0
                yield batch.size
        if not self.log.has_segments(group) or self.log.offline is not None:
            self._abandon_cleaned()
            return
        cleaned.seal()
        cleaned.sync()
        _copy_modified_time(group[-1], cleaned)
        cleaned.release()

    def _abandon_cleaned(self) -> None:
        """Remove the unfinished segment: what it was made from is no longer the log's."""
        if self._cleaned is not None:
            for path in self._cleaned.change_suffix(DELETED_SUFFIX):
                with storage_errors("remove", path):
                    path.unlink(missing_ok=True)
            self._cleaned = None

    def _copy(self, segment: Segment, batch: BatchPlace, cleaned: Segment, transactions: CleanedTransactions) -> int:
        """Write what stays of a batch; returns how many bytes that is."""
        data = segment.read_bytes(batch.position, batch.size)
        view = view_header(data)
        kept = self._filter(view, data, transactions)
        if kept is None:
            return 0
        position = cleaned.size
        cleaned.write(kept)
        written = view_header(kept)
        place = BatchPlace(written.base_offset, written.last_offset, position, len(kept), written.max_timestamp)
        cleaned.note(place, self.log.config)
        return len(kept)

    def _filter(self, view: BatchHeader, data: bytes, transactions: CleanedTransactions) -> bytes | None:
        """The batch as it stays: as it is, with fewer records, without any, or not at all."""
        may_discard = transactions.may_discard(view, _marker(view, data))
        horizon = view.delete_horizon
        discards_all = may_discard and (not view.is_control or (horizon is not None and horizon <= self._now))
        must_stay = self._is_last_of_producer(view) or view.last_offset + 1 == self._dirt.first_uncleanable
        if discards_all and not must_stay:
            return None
        records = _records(data)
        if records is None:
            return data  # can't be opened: nothing in it can be judged
        kept = [] if discards_all else [record for record in records if self._stays(record, view)]
        if not kept:
            return empty(view) if must_stay else None
        has_tombstones = any(record.value is None for record in kept)
        sets_horizon = horizon is None and (has_tombstones or (may_discard and view.is_control))
        if len(kept) == len(records) and not sets_horizon:
            return data
        return retain(view, kept, self._now + self.log.config.delete_retention_ms if sets_horizon else horizon)

    def _is_last_of_producer(self, view: BatchHeader) -> bool:
        """A producer's last sequence number must outlive its records."""
        entry = self.log.producers.entries.get(view.producer_id)
        if entry is None:
            return False
        if entry.last_offset >= 0:
            return view.last_offset == entry.last_offset
        return view.is_control and view.producer_epoch == entry.epoch

    def _stays(self, record: Record, view: BatchHeader) -> bool:
        if view.is_control or record.offset >= self._mapped_to:
            return True
        if record.key is None:
            return False
        if record.offset < self._offsets.get(_digest(record.key), -1):
            return False
        horizon = view.delete_horizon
        return record.value is not None or horizon is None or self._now < horizon


def _digest(key: bytes) -> bytes:
    """Stands for a key, so that long keys cost no more memory than short ones."""
    return blake2b(key, digest_size=KEY_DIGEST_BYTES).digest()


def _marker(view: BatchHeader, data: bytes) -> Marker | None:
    if not view.is_control:
        return None
    try:
        return read_marker(data)
    except RecordError:
        return None


def _records(data: bytes) -> tuple[Record, ...] | None:
    try:
        return read_batch(data).records
    except RecordError:
        return None


def _copy_modified_time(source: Segment, target: Segment) -> None:
    """A cleaned segment is as old as what it was made from: retention of records without timestamps goes by it."""
    with storage_errors("read", source.path):
        modified = source.path.stat().st_mtime_ns
        for path in (target.path, target.offset_index.path, target.time_index.path):
            os.utime(path, ns=(modified, modified))
