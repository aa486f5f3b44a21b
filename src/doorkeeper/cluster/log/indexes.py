"""The two sparse indexes of a segment: from offsets to places in the file, and from times to offsets.

From org.apache.kafka.storage.internals.log.OffsetIndex and TimeIndex. Entries of an active segment are kept in memory
and written in one go when the segment is rolled, flushed or closed: an index is never needed after a crash, because
recovery makes it anew. So an index holds no descriptor, and appending costs no second write.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import ClassVar, NamedTuple

from doorkeeper.cluster.durable import storage_errors, write_all
from doorkeeper.cluster.log.config import MAX_INT
from doorkeeper.cluster.log.files import Disk
from doorkeeper.errors import StorageError
from doorkeeper.wire.records import NO_TIMESTAMP


class OffsetPosition(NamedTuple):
    """The last offset of a batch, and the byte where that batch begins."""

    offset: int
    position: int


class TimestampOffset(NamedTuple):
    """The largest timestamp so far, and the last offset of the batch that has it."""

    timestamp: int
    offset: int


class _Index:
    """Entries of one size in a file; read when first asked for, and let go by `release`."""

    entry: ClassVar[struct.Struct]

    def __init__(self, path: Path, base_offset: int, *, is_new: bool = False) -> None:
        self.path = path
        self.base_offset = base_offset
        self._data: bytearray | None = bytearray() if is_new else None
        self._written = 0

    def create(self) -> None:
        """Make the empty file: Kafka recovers a segment whose index file is missing."""
        with storage_errors("write", self.path):
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644))

    @property
    def data(self) -> bytearray:
        if self._data is None:
            with storage_errors("read", self.path):
                self._data = bytearray(self.path.read_bytes())
            if len(self._data) % self.entry.size:
                raise StorageError(f"{self.path} is damaged: {len(self._data)} bytes are no whole number of entries")
            self._written = len(self._data)
        return self._data

    def __len__(self) -> int:
        return len(self.data) // self.entry.size

    def __getitem__(self, slot: int) -> tuple[int, ...]:
        return self.entry.unpack_from(self.data, slot * self.entry.size)

    def _slots_before(self, column: int, value: int, *, or_equal: bool) -> int:
        """How many entries are below a value in one of the columns, which both ascend."""
        data, unpack, size = self.data, self.entry.unpack_from, self.entry.size
        bisect = bisect_right if or_equal else bisect_left
        return bisect(range(len(data) // size), value, key=lambda slot: unpack(data, slot * size)[column])

    def is_full(self, max_bytes: int) -> bool:
        """Whether the segment must be rolled; `max_bytes` is segment.index.bytes."""
        return len(self.data) // self.entry.size >= max_bytes // self.entry.size

    @property
    def size(self) -> int:
        return len(self.data)

    def clear(self) -> None:
        """Start anew; the file is emptied with the next flush."""
        self._data = bytearray()
        self._written = -1

    def flush(self, disk: Disk, *, sync: bool = False) -> None:
        """Write what is not in the file yet."""
        pending = b"" if self._data is None else bytes(self._data[max(0, self._written) :])
        if not pending and self._written >= 0 and not sync:
            return
        truncate = os.O_TRUNC if self._written < 0 else 0
        with storage_errors("write", self.path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | truncate
            descriptor = os.open(self.path, flags, 0o644)
            try:
                write_all(descriptor, pending)
                if sync:
                    disk.sync(descriptor)
            finally:
                os.close(descriptor)
        self._written = max(0, self._written) + len(pending)

    def release(self) -> None:
        """Let go of the entries if the file has them all."""
        if self._data is not None and len(self._data) == self._written:
            self._data = None

    def can_hold(self, offset: int) -> bool:
        """Offsets are kept relative to the base offset, in 31 bits."""
        return 0 <= offset - self.base_offset <= MAX_INT


class OffsetIndex(_Index):
    """`.index`: relative offset int32, position int32."""

    entry: ClassVar = struct.Struct(">ii")

    def append(self, offset: int, position: int) -> None:
        self.data.extend(self.entry.pack(offset - self.base_offset, position))

    def last_offset(self) -> int:
        return self.base_offset + self[len(self) - 1][0] if len(self) else self.base_offset

    def lookup(self, offset: int) -> OffsetPosition:
        """The last entry at or below an offset; the segment's start if there is none."""
        slot = self._slots_before(0, offset - self.base_offset, or_equal=True) - 1
        if slot < 0:
            return OffsetPosition(self.base_offset, 0)
        relative, position = self[slot]
        return OffsetPosition(self.base_offset + relative, position)

    def offset_after(self, position: int) -> int | None:
        """The offset of the first entry at or beyond a position: nothing before that position has a larger one."""
        slot = self._slots_before(1, position, or_equal=False)
        return self.base_offset + self[slot][0] if slot < len(self) else None


class TimeIndex(_Index):
    """`.timeindex`: timestamp int64, relative offset int32; both columns ascend."""

    entry: ClassVar = struct.Struct(">qi")
    _last: TimestampOffset | None = None

    def is_full(self, max_bytes: int) -> bool:
        """One entry is kept free for the last timestamp of a segment that is rolled."""
        return len(self) >= max_bytes // self.entry.size - 1

    def last(self) -> TimestampOffset:
        if self._last is None:
            self._last = TimestampOffset(NO_TIMESTAMP, self.base_offset)
            if len(self):
                timestamp, relative = self[len(self) - 1]
                self._last = TimestampOffset(timestamp, self.base_offset + relative)
        return self._last

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Note a timestamp larger than the last; others tell nothing new."""
        if timestamp > self.last().timestamp:
            self.data.extend(self.entry.pack(timestamp, offset - self.base_offset))
            self._last = TimestampOffset(timestamp, offset)

    def clear(self) -> None:
        super().clear()
        self._last = None

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry at or below a timestamp; the segment's start if there is none."""
        slot = self._slots_before(0, timestamp, or_equal=True) - 1
        if slot < 0:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        found, relative = self[slot]
        return TimestampOffset(found, self.base_offset + relative)
