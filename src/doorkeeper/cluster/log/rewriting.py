"""Batches written anew from their records: with another codec, or with fewer records.

From MemoryRecordsBuilder, MemoryRecords.buildRetainedRecordsInto and DefaultRecordBatch.writeEmptyHeader.
"""

from __future__ import annotations

from collections.abc import Sequence

from doorkeeper.wire.compression import Compression, codec_for
from doorkeeper.wire.records import (
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    Record,
    seal_batch,
    write_record,
)


def recompress(
    view: BatchHeader,
    records: Sequence[Record],
    codec: Compression,
    *,
    level: int | None,
    log_append_time: int | None,
) -> bytes:
    """The same records in another codec; with a log append time, all of them have that time."""
    attributes = view.attributes & ~(COMPRESSION_MASK | LOG_APPEND_TIME) | codec
    largest = max(record.timestamp for record in records)
    base_timestamp = records[0].timestamp
    if log_append_time is not None:
        attributes |= LOG_APPEND_TIME
        largest = log_append_time
    body = codec_for(codec).compress(_write_records(records, base_timestamp, view.base_offset), level)
    return _seal(view, body, attributes, base_timestamp, largest, len(records))


def retain(view: BatchHeader, records: Sequence[Record], delete_horizon: int | None) -> bytes:
    """A batch with some of its records left: offsets, epoch, sequences and last offset stay as they were.

    A delete horizon takes the place of the base timestamp (KIP-534); the records' times are kept relative to it.
    """
    attributes = view.attributes & ~DELETE_HORIZON
    base_timestamp = records[0].timestamp
    if delete_horizon is not None:
        attributes |= DELETE_HORIZON
        base_timestamp = delete_horizon
    body = codec_for(view.compression).compress(_write_records(records, base_timestamp, view.base_offset))
    largest = view.max_timestamp if view.is_log_append_time else max(record.timestamp for record in records)
    return _seal(view, body, attributes, base_timestamp, largest, len(records))


def empty(view: BatchHeader) -> bytes:
    """A batch without records, which still says who wrote it and up to which sequence."""
    attributes = view.attributes & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL)
    return _seal(view, b"", attributes, NO_TIMESTAMP, view.max_timestamp, 0)


def _write_records(records: Sequence[Record], base_timestamp: int, base_offset: int) -> bytes:
    body = bytearray()
    for record in records:
        write_record(body, record, record.timestamp - base_timestamp, record.offset - base_offset)
    return bytes(body)


def _seal(
    view: BatchHeader, body: bytes, attributes: int, base_timestamp: int, max_timestamp: int, count: int
) -> bytes:
    return seal_batch(
        body,
        base_offset=view.base_offset,
        leader_epoch=view.leader_epoch,
        attributes=attributes,
        last_offset_delta=view.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=view.producer_id,
        producer_epoch=view.producer_epoch,
        base_sequence=view.base_sequence,
        count=count,
    )
