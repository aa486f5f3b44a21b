"""One segment of a log: a run of batches in one file, with its three indexes.

From org.apache.kafka.storage.internals.log.LogSegment and FileRecords. A segment holds no descriptor of its own: it
asks `OpenFiles` for one, so that a thousand idle partitions keep none.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.files import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Disk,
    OpenFile,
    OpenFiles,
    offset_file,
)
from doorkeeper.cluster.log.indexes import OffsetIndex, TimeIndex, TimestampOffset
from doorkeeper.cluster.log.transactions_index import TransactionsIndex
from doorkeeper.errors import StorageError
from doorkeeper.wire.records import HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC, NO_TIMESTAMP, BatchHeader, view_header

_STEP: Final = struct.Struct(">qi4xb6xi")
"""Of a batch header: base offset, length, magic, last offset delta."""
SCAN_BYTES: Final = 8192
"""Read at once while walking from batch to batch: two index intervals, so one read finds most offsets."""


class BatchPlace(NamedTuple):
    """Which offsets a batch has, where it begins, and how long it is."""

    base_offset: int
    last_offset: int
    position: int
    size: int
    max_timestamp: int


class Segment:
    """Batches from `base_offset` on. `size` counts the bytes that are good."""

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        files: OpenFiles,
        disk: Disk,
        *,
        created: int,
        jitter: int = 0,
        is_new: bool = False,
        suffix: str = "",
    ) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.created = created
        self.jitter = jitter
        """How much earlier than segment.ms this one is rolled, so that not all partitions roll at once."""
        self._files = files
        self._disk = disk
        self._suffix = suffix
        self.path = self._path(LOG_SUFFIX)
        self.offset_index = OffsetIndex(self._path(OFFSET_INDEX_SUFFIX), base_offset, is_new=is_new)
        self.time_index = TimeIndex(self._path(TIME_INDEX_SUFFIX), base_offset, is_new=is_new)
        self.transactions = TransactionsIndex(self._path(TRANSACTION_INDEX_SUFFIX))
        self._largest: TimestampOffset | None = None
        self._first_timestamp: int | None = None
        self._since_index_entry = 0
        self._has_full_index: bool | None = None
        self.last_appended: BatchPlace | None = None
        """Where most reads of a tail begin."""
        self.size = 0
        if is_new:
            self._create()
        else:
            with storage_errors("read", self.path):
                self.size = self.path.stat().st_size

    def _path(self, kind: str) -> Path:
        return self.directory / (offset_file(self.base_offset, kind) + self._suffix)

    def _create(self) -> None:
        with storage_errors("make", self.path):
            self.path.unlink(missing_ok=True)
            self._files.forget(self.path)
            self._files.open(self.path)
            self.transactions.path.unlink(missing_ok=True)
        self.offset_index.create()
        self.time_index.create()

    def file(self) -> OpenFile:
        return self._files.open(self.path)

    # Times

    @property
    def largest(self) -> TimestampOffset:
        """The largest timestamp so far. For a segment just opened, the time index's last entry tells it."""
        if self._largest is None:
            self._largest = self.time_index.last()
        return self._largest

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp, or when the file was last written if its records have none."""
        if self.largest.timestamp >= 0:
            return self.largest.timestamp
        return self.last_modified

    @property
    def last_modified(self) -> int:
        with storage_errors("read", self.path):
            return int(self.path.stat().st_mtime * 1000)

    @property
    def first_timestamp(self) -> int:
        """The first batch's timestamp, which the segment's age is counted from; -1 if it has none."""
        if self._first_timestamp is None:
            first = self.batch_at(0)
            if first is None:
                return NO_TIMESTAMP
            self._first_timestamp = first.max_timestamp
        return self._first_timestamp

    def should_roll(self, config: LogConfig, size: int, max_timestamp: int, last_offset: int, now: int) -> bool:
        """Whether a batch of this size and time needs a new segment (LogSegment.shouldRoll)."""
        if self.size > config.segment_bytes - size:
            return True
        if self.size:
            first = self._first_timestamp if self._first_timestamp is not None else self.first_timestamp
            waited = max_timestamp - first if first >= 0 else now - self.created
            if waited > config.max_segment_ms - self.jitter:
                return True
        if self._has_full_index is None:
            self._note_index_room(config)
        return bool(self._has_full_index) or not self.offset_index.can_hold(last_offset)

    def _note_index_room(self, config: LogConfig) -> None:
        limit = config.segment_index_bytes
        self._has_full_index = self.offset_index.is_full(limit) or self.time_index.is_full(limit)

    # Appending

    def write(self, data: memoryview | bytes) -> None:
        """Write bytes at the end, in one call unless the disk takes less."""
        size = len(data)
        try:
            descriptor = self._files.open(self.path).descriptor
            written = self._disk.write(descriptor, data)
            while written < size:
                written += self._disk.write(descriptor, data[written:])
        except OSError as error:
            self._cut_back()
            raise StorageError(f"can't write to {self.path}: {error.strerror or error}", error.strerror) from error
        self.size += size

    def note(self, place: BatchPlace, config: LogConfig) -> None:
        """Take a written batch into the indexes, every index.interval.bytes."""
        largest = self._largest
        if largest is None:
            largest = self.largest
        _, last_offset, position, size, max_timestamp = place
        if max_timestamp > largest.timestamp:
            self._largest = TimestampOffset(max_timestamp, last_offset)
        if self._since_index_entry > config.index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(*self.largest)
            self._since_index_entry = 0
            self._note_index_room(config)
        if position == 0:
            self._first_timestamp = max_timestamp
        self._since_index_entry += size
        self.last_appended = place

    def _cut_back(self) -> None:
        """Remove what a failed write left; if even that fails, recovery will do it."""
        try:
            os.ftruncate(self._files.open(self.path).descriptor, self.size)
        except OSError:
            return

    # Reading

    def batch_at(self, position: int) -> BatchHeader | None:
        """The header of the batch that begins at a position, or nothing at the end."""
        if self.size - position < HEADER_BYTES:
            return None
        return self._view(self.read_bytes(position, HEADER_BYTES), 0, position)

    def read_bytes(self, position: int, size: int) -> bytes:
        """All of these bytes, which must be there."""
        with storage_errors("read", self.path):
            data = os.pread(self.file().descriptor, size, position)
        if len(data) != size:
            raise StorageError(f"{self.path} ends at byte {position + len(data)}, where {position + size} were written")
        return data

    def find(self, offset: int) -> BatchPlace | None:
        """The first batch that ends at or after an offset; nothing if all batches end before it."""
        last = self.last_appended
        if last is not None and last.base_offset <= offset:
            return last if offset <= last.last_offset else None
        return next(self.places(self._seek(offset, self.offset_index.lookup(offset).position)), None)

    def _seek(self, offset: int, position: int) -> int:
        """The position of the first batch, from a position on, that ends at or after an offset; or the end.

        `places` would do, at four times the cost; this is what a fetch waits for.
        """
        while position < self.size:
            chunk = self.read_bytes(position, min(SCAN_BYTES, self.size - position))
            start, last = 0, len(chunk) - HEADER_BYTES
            while start <= last:
                base, length, magic, delta = _STEP.unpack_from(chunk, start)
                if base + delta >= offset or magic != MAGIC or length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
                    return position + start  # what is no batch is named by who reads it
                start += length + LOG_OVERHEAD_BYTES
            if start == 0:
                break
            position += start
        return position

    def places(self, position: int = 0) -> Iterator[BatchPlace]:
        """Every batch from a position on, where one must begin."""
        while position < self.size:
            chunk = self.read_bytes(position, min(SCAN_BYTES, self.size - position))
            start = 0
            while len(chunk) - start >= HEADER_BYTES:
                view = self._view(chunk, start, position + start)
                size = view.batch_length + LOG_OVERHEAD_BYTES
                base = view.base_offset
                yield BatchPlace(base, base + view.last_offset_delta, position + start, size, view.max_timestamp)
                start += size
            if start == 0:
                raise StorageError(f"{self.path} ends inside a batch header, at byte {position}")
            position += start

    def _view(self, data: bytes, start: int, position: int) -> BatchHeader:
        view = view_header(data, start)
        if view.magic != MAGIC or view.batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
            raise StorageError(f"{self.path} has no batch at byte {position}")
        return view

    def next_offset(self) -> int:
        """The offset after the segment's last batch."""
        if self.last_appended is None:
            for place in self.places(self.offset_index.lookup(self.offset_index.last_offset()).position):
                self.last_appended = place
        return self.base_offset if self.last_appended is None else self.last_appended.last_offset + 1

    # The end of its active life, and of all life

    def seal(self) -> None:
        """Complete the indexes: the segment is no longer appended to."""
        self.time_index.maybe_append(*self.largest)
        self.flush_indexes()

    def flush_indexes(self, *, sync: bool = False) -> None:
        self.offset_index.flush(self._disk, sync=sync)
        self.time_index.flush(self._disk, sync=sync)

    def sync(self) -> None:
        """Have everything on the disk."""
        with storage_errors("flush", self.path):
            self._disk.sync(self.file().descriptor)
        self.flush_indexes(sync=True)
        self.transactions.sync(self._disk)

    def release(self) -> None:
        """Let go of the descriptor and of index entries that the files have."""
        self._files.forget(self.path)
        self.offset_index.release()
        self.time_index.release()

    def truncate(self, size: int) -> None:
        """Cut off everything from a byte on; the indexes are the caller's care."""
        with storage_errors("cut back", self.path):
            os.ftruncate(self.file().descriptor, size)
        self.size = size
        self.last_appended = None

    def forget_indexes(self) -> None:
        """Start the indexes anew, to be filled again by `note`."""
        self.offset_index.clear()
        self.time_index.clear()
        self.transactions.clear()
        self._largest = TimestampOffset(NO_TIMESTAMP, self.base_offset)
        self._first_timestamp = None
        self._since_index_entry = 0
        self._has_full_index = None
        self.last_appended = None

    def change_suffix(self, suffix: str) -> list[Path]:
        """Rename all files of the segment; returns the new names of those that exist."""
        self._files.forget(self.path)
        renamed = []
        for kind in SEGMENT_SUFFIXES:
            old = self._path(kind)
            new = self.directory / (offset_file(self.base_offset, kind) + suffix)
            with storage_errors("rename", old):
                if old.exists():
                    old.replace(new)
                    renamed.append(new)
        self._suffix = suffix
        self.path = self._path(LOG_SUFFIX)
        self.offset_index.path = self._path(OFFSET_INDEX_SUFFIX)
        self.time_index.path = self._path(TIME_INDEX_SUFFIX)
        self.transactions.path = self._path(TRANSACTION_INDEX_SUFFIX)
        return renamed
