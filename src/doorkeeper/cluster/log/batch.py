"""A batch's header as the log handles it: one tuple, unpacked in one call, and the places that are patched.

`wire.records.BatchHeader` checks as it reads; here the checks come one by one, with Kafka's codes, and on a path where
every microsecond is some of the broker's throughput.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from doorkeeper.errors import RecordError
from doorkeeper.wire.records import (
    BATCH_HEADER,
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    Record,
    read_batch,
    read_batch_header,
    require_whole,
    write_batch,
)

MAX_SEQUENCE: Final = 2**31 - 1
_MARKER_KEY: Final = struct.Struct(">hh")
_MARKER_VALUE: Final = struct.Struct(">hi")


class BatchView(NamedTuple):
    """The 61 bytes before the records, in the order of the wire."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.batch_length + LOG_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        return add_to_sequence(self.base_sequence, self.last_offset_delta) if self.base_sequence >= 0 else -1

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """When tombstones and markers of this batch may go; set by the cleaner, in place of the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


def view_batch(data: bytes | bytearray | memoryview, position: int = 0) -> BatchView:
    """The header of the batch that begins here, unchecked; struct.error if fewer than 61 bytes are left."""
    return BatchView._make(BATCH_HEADER.unpack_from(data, position))


def view_checked(data: bytes | memoryview, position: int = 0) -> BatchView:
    """The header of a whole batch with the right checksum; RecordError for anything else."""
    header = read_batch_header(data, position)
    require_whole(data, position, header)
    return view_batch(data, position)


def iter_whole(data: bytes | memoryview, position: int = 0) -> Iterator[tuple[int, BatchView]]:
    """The headers and places of the batches that are whole, up to the first that is not; checksums are not read."""
    end = len(data)
    while end - position >= HEADER_BYTES:
        batch = view_batch(data, position)
        if batch.magic != MAGIC or batch.batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
            raise RecordError(f"no batch begins at byte {position}")
        if end - position < batch.size:
            return
        yield position, batch
        position += batch.size


def add_to_sequence(sequence: int, increment: int) -> int:
    """Sequence numbers wrap to 0 after the largest 32-bit number (DefaultRecordBatch.incrementSequence)."""
    return (sequence + increment) & MAX_SEQUENCE


class MarkerType(IntEnum):
    """How a transaction ended (org.apache.kafka.common.record.ControlRecordType)."""

    ABORT = 0
    COMMIT = 1


class Marker(NamedTuple):
    """The one record of a control batch that ends a transaction."""

    type: MarkerType
    coordinator_epoch: int
    timestamp: int


def read_marker(data: bytes | memoryview, position: int = 0) -> Marker | None:
    """The marker in a control batch; nothing if the cleaner has emptied it or it marks no transaction's end."""
    records = read_batch(data, position).records
    if not records:
        return None
    key, value = records[0].key, records[0].value
    try:
        _, number = _MARKER_KEY.unpack_from(key or b"")
        marker_type = MarkerType(number)
        _, coordinator_epoch = _MARKER_VALUE.unpack_from(value or b"")
    except ValueError:
        return None
    except struct.error:
        raise RecordError("a control batch without a proper key and value") from None
    return Marker(marker_type, coordinator_epoch, records[0].timestamp)


def write_marker(producer_id: int, producer_epoch: int, marker: Marker) -> bytes:
    """A control batch that ends a transaction (MemoryRecords.withEndTransactionMarker)."""
    record = Record(
        key=_MARKER_KEY.pack(0, marker.type),
        value=_MARKER_VALUE.pack(0, marker.coordinator_epoch),
        timestamp=marker.timestamp,
    )
    return write_batch(
        [record],
        base_offset=0,
        is_control=True,
        is_transactional=True,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


__all__ = [
    "HEADER_BYTES",
    "LOG_OVERHEAD_BYTES",
    "NO_TIMESTAMP",
    "BatchView",
    "Marker",
    "MarkerType",
    "add_to_sequence",
    "iter_whole",
    "read_marker",
    "view_batch",
    "view_checked",
    "write_marker",
]
