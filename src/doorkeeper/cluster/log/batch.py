"""Batches as the log handles them: walked without their checksums, and the markers that end transactions.

On the path of a Produce request a header is viewed unchecked (`wire.records.view_header`): there the checks come one by
one, with Kafka's codes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from doorkeeper.errors import RecordError
from doorkeeper.wire.records import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    BatchHeader,
    Record,
    read_batch,
    read_batch_header,
    require_whole,
    view_header,
    write_batch,
)

_MARKER_KEY: Final = struct.Struct(">hh")
_MARKER_VALUE: Final = struct.Struct(">hi")


def view_checked(data: bytes | memoryview, position: int = 0) -> BatchHeader:
    """The header of a whole batch with the right checksum; RecordError for anything else."""
    header = read_batch_header(data, position)
    require_whole(data, position, header)
    return header


def iter_whole(data: bytes | memoryview, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """The headers and places of the batches that are whole, up to the first that is not; checksums are not read."""
    end = len(data)
    while end - position >= HEADER_BYTES:
        batch = view_header(data, position)
        if batch.magic != MAGIC or batch.batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
            raise RecordError(f"no batch begins at byte {position}")
        if end - position < batch.size:
            return
        yield position, batch
        position += batch.size


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
