"""The batches of a segment file, one at a time: memory is bounded by the largest batch, not by the file.

What can't be read is a `Trouble` with its place, and never an exception: a batch with a wrong checksum is stepped over,
for its length is known; where the bytes make no batch at all, or end in the midst of one, the file ends.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from doorkeeper.errors import RecordError
from doorkeeper.wire.records import (
    LOG_OVERHEAD_BYTES,
    MAGIC,
    BatchHeader,
    read_batch_header,
    require_whole,
)

if TYPE_CHECKING:
    from doorkeeper.audit.files import Readable

MAX_BATCH_BYTES: Final = 256 * 1024 * 1024
"""Kafka's `message.max.bytes` is 1 MiB by default; a length above this is taken for garbage."""
_OVERHEAD: Final = struct.Struct(">qi")
_PREFIX_BYTES: Final = 17
"""Up to the magic byte, which tells a batch from garbage before its length is believed."""
TORN: Final = "torn batch"
NO_BATCH: Final = "not a batch"


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch whose bytes are all there, with the right checksum; its records are not opened."""

    position: int
    header: BatchHeader
    data: bytes


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong, and where in the file."""

    position: int
    reason: str


def walk_batches(stream: Readable) -> Iterator[StoredBatch | Trouble]:
    """Every batch to the end of the stream. A tail of zeros, as preallocated segments have it, is the end."""
    position = 0
    while prefix := _read_up_to(stream, _PREFIX_BYTES):
        if not any(prefix) and _only_zeros(stream):
            return
        if len(prefix) < _PREFIX_BYTES:
            yield Trouble(position, TORN)
            return
        size = LOG_OVERHEAD_BYTES + _OVERHEAD.unpack_from(prefix)[1]
        if not _PREFIX_BYTES <= size <= MAX_BATCH_BYTES or prefix[-1] > MAGIC:
            yield Trouble(position, NO_BATCH)
            return
        data = prefix + _read_up_to(stream, size - _PREFIX_BYTES)
        found = _open(position, data, size)
        yield found
        if isinstance(found, Trouble) and found.reason in (TORN, NO_BATCH):
            return
        position += size


def _open(position: int, data: bytes, size: int) -> StoredBatch | Trouble:
    if len(data) < size:
        return Trouble(position, TORN)
    if data[_PREFIX_BYTES - 1] != MAGIC:
        return Trouble(position, f"message format {data[_PREFIX_BYTES - 1]}, which Kafka 4 has removed")
    try:
        header = read_batch_header(data)
    except RecordError:
        return Trouble(position, NO_BATCH)
    try:
        require_whole(data, 0, header)
    except RecordError:
        return Trouble(position, "wrong checksum")
    return StoredBatch(position, header, data)


def _read_up_to(stream: Readable, size: int) -> bytes:
    """So many bytes, or fewer at the end: one call need not give them all."""
    data = stream.read(size)
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def _only_zeros(stream: Readable) -> bool:
    """Whether nothing but zeros follows; if so, they are read."""
    while block := stream.read(1 << 20):
        if any(block):
            return False
    return True
