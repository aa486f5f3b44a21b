"""One segment file of the metadata log: a run of record batches, appended to and recovered.

What an interrupted write leaves at the end of the last segment (a batch cut short, or bytes that are none) is cut off
and said. A bad batch with a whole one after it is no such thing: acknowledged decisions would be lost with it, so
opening is refused.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from doorkeeper.cluster.durable import storage_errors, sync_directory, sync_file, write_all
from doorkeeper.errors import RecordError, StorageError
from doorkeeper.wire.records import HEADER_BYTES, MAGIC, Batch, read_batch, read_batch_header, require_whole

logger = logging.getLogger(__name__)

LOG_SUFFIX: Final = ".log"
INDEX_INTERVAL_BYTES: Final = 4096
"""Kafka's index.interval.bytes: the most that a read walks through to find an offset."""
_MAGIC_POSITION: Final = 16


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020d}{LOG_SUFFIX}"


def list_segments(directory: Path) -> list[int]:
    """Base offsets of the segments in a directory, lowest first."""
    with storage_errors("list", directory):
        stems = [entry.name.removesuffix(LOG_SUFFIX) for entry in directory.iterdir() if entry.suffix == LOG_SUFFIX]
    return sorted(int(stem) for stem in stems if len(stem) == 20 and stem.isdecimal())


class Segment:
    """A segment, open for reading and appending; offsets in it follow on from its base offset."""

    def __init__(self, directory: Path, base_offset: int) -> None:
        self.path = directory / segment_name(base_offset)
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size = 0
        """Bytes that are known to be good and on the disk."""
        self._offsets: list[int] = []
        self._positions: list[int] = []
        is_new = not self.path.exists()
        with storage_errors("open", self.path):
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            if is_new:
                sync_directory(directory)

    def recover(self, *, is_last: bool) -> Iterator[Batch]:
        """Every batch of the file in order; a torn tail is cut off if this is the last segment."""
        with storage_errors("read", self.path):
            data = self.path.read_bytes()
        while self.size < len(data):
            try:
                batch = read_batch(data, self.size)
                if batch.header.base_offset != self.next_offset:
                    raise RecordError(f"offset {batch.header.base_offset}, where {self.next_offset} follows")  # noqa: TRY301
            except RecordError as error:
                self._cut_tail(data, error, is_last=is_last)
                return
            self._note(batch.header.base_offset, self.size)
            self.size += batch.header.size
            self.next_offset = batch.header.next_offset
            yield batch

    def _cut_tail(self, data: bytes, error: RecordError, *, is_last: bool) -> None:
        if not is_last or _holds_whole_batch(data, self.size):
            raise StorageError(f"{self.path} is damaged at byte {self.size}: {error}")
        logger.warning(
            "%s ends in an unfinished write: %d bytes after offset %d are cut off (%s)",
            self.path,
            len(data) - self.size,
            self.next_offset - 1,
            error,
        )
        self.truncate()

    def append(self, data: bytes) -> None:
        """Write batches at the end and flush them. On failure nothing of them stays, or StorageError says it may."""
        try:
            os.lseek(self._descriptor, self.size, os.SEEK_SET)
            write_all(self._descriptor, data)
            sync_file(self._descriptor)
        except OSError as error:
            self.truncate()
            raise StorageError(f"can't write to {self.path}: {error.strerror or error}", error.strerror) from error

    def advance(self, data: bytes) -> None:
        """Count appended batches in."""
        position = 0
        while position < len(data):
            header = read_batch_header(data, position)
            self._note(header.base_offset, self.size + position)
            self.next_offset = header.next_offset
            position += header.size
        self.size += len(data)

    def truncate(self) -> None:
        """Cut off what lies beyond the good bytes."""
        with storage_errors("cut back", self.path):
            os.ftruncate(self._descriptor, self.size)
            os.fsync(self._descriptor)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset` on: as many as fit, but at least one."""
        with storage_errors("read", self.path):
            position = self._find(offset)
            data = os.pread(self._descriptor, min(max_bytes, self.size - position), position)
            end = 0
            while len(data) - end >= HEADER_BYTES:
                size = read_batch_header(data, end).size
                if end + size > len(data):
                    break
                end += size
            if end == 0 and position < self.size:
                header = read_batch_header(os.pread(self._descriptor, HEADER_BYTES, position))
                return os.pread(self._descriptor, header.size, position)
            return data[:end]

    def _find(self, offset: int) -> int:
        """The position of the batch that holds an offset."""
        near = bisect_right(self._offsets, offset) - 1
        position = self._positions[near] if near >= 0 else 0
        while position < self.size:
            header = read_batch_header(os.pread(self._descriptor, HEADER_BYTES, position))
            if header.last_offset >= offset:
                break
            position += header.size
        return position

    def _note(self, base_offset: int, position: int) -> None:
        if not self._positions or position - self._positions[-1] >= INDEX_INTERVAL_BYTES:
            self._offsets.append(base_offset)
            self._positions.append(position)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _holds_whole_batch(data: bytes, start: int) -> bool:
    """Whether a good batch begins anywhere at or after `start`; in whatever a torn write left, none does."""
    found = data.find(MAGIC, start + _MAGIC_POSITION)
    while found >= 0:
        position = found - _MAGIC_POSITION
        try:
            require_whole(data, position, read_batch_header(data, position))
        except RecordError:
            found = data.find(MAGIC, found + 1)
        else:
            return True
    return False
