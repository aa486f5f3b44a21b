"""May this batch be appended? Kafka's checks, in Kafka's order, with Kafka's codes and words.

From ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords and LogValidator. Kafka walks through every
record of every batch; here records are opened only where a check reads them: keys of a compacted topic, timestamps
that the header shows to be out of range or that may be too old, a codec other than the topic's.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from doorkeeper.cluster.log.config import MAX_LONG, LogConfig
from doorkeeper.cluster.log.producer_state import Origin
from doorkeeper.cluster.log.refusals import LogError, RecordRefusal, Refusal
from doorkeeper.cluster.log.rewriting import recompress
from doorkeeper.errors import RecordError
from doorkeeper.wire.compression import Compression
from doorkeeper.wire.crc import crc32c
from doorkeeper.wire.records import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER,
    COMPRESSION_MASK,
    CONTROL,
    CRC_POSITION,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    Record,
    read_batch,
    view_header,
)

MIN_LEGACY_BATCH_BYTES: Final = 14
"""The smallest message of the oldest format; less is no batch of any format (LegacyRecord.RECORD_OVERHEAD_V0)."""
FIRST_VERSION_WITH_ZSTD: Final = 7
SHOWN_RECORD_ERRORS: Final = 3
_MAGIC_POSITION: Final = 16
_MAX_TIMESTAMP_POSITION: Final = 35
_PREFIX: Final = struct.Struct(">qiib")

_INT64: Final = struct.Struct(">q")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")
_INT16: Final = struct.Struct(">h")


class CheckedBatch(NamedTuple):
    """A batch that may be appended as far as its own bytes go; `data` ends where the batch does."""

    data: memoryview
    view: BatchHeader
    log_append_time: int


def check_produce_batch(data: bytes | bytearray | memoryview, version: int) -> Refusal | None:
    """What the broker asks of a Produce request's records before any log sees them (ProduceRequest.validateRecords)."""
    size = _next_batch_size(data, 0)
    if isinstance(size, Refusal):
        return size
    of_version = f"Produce requests with version {version}"
    if size is None:
        return Refusal(LogError.INVALID_RECORD, f"{of_version} must have at least one record batch per partition")
    if data[_MAGIC_POSITION] != MAGIC:
        return Refusal(
            LogError.INVALID_RECORD, f"{of_version} are only allowed to contain record batches with magic version 2"
        )
    if version < FIRST_VERSION_WITH_ZSTD and size > ATTRIBUTES_POSITION + 1:
        attributes = _INT16.unpack_from(data, ATTRIBUTES_POSITION)[0]
        if attributes & 7 == Compression.ZSTD:
            return Refusal(
                LogError.UNSUPPORTED_COMPRESSION_TYPE, f"{of_version} are not allowed to use ZStandard compression"
            )
    if len(data) > size:
        following = _next_batch_size(data, size)
        if isinstance(following, Refusal):
            return following
        if following is not None:
            return Refusal(
                LogError.INVALID_RECORD,
                f"{of_version} are only allowed to contain exactly one record batch per partition",
            )
    return None


def _next_batch_size(data: bytes | bytearray | memoryview, position: int) -> int | Refusal | None:
    """Bytes of the batch that begins here; nothing if it is not all there (ByteBufferLogInputStream.nextBatchSize)."""
    remaining = len(data) - position
    if remaining < LOG_OVERHEAD_BYTES:
        return None
    length = _INT32.unpack_from(data, position + 8)[0]
    if length < MIN_LEGACY_BATCH_BYTES:
        return Refusal(
            LogError.CORRUPT_MESSAGE,
            f"Record size {length} is less than the minimum record overhead ({MIN_LEGACY_BATCH_BYTES})",
        )
    if remaining <= _MAGIC_POSITION:
        return None
    magic = _PREFIX.unpack_from(data, position)[3]
    if not 0 <= magic <= MAGIC:
        return Refusal(LogError.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    size = length + LOG_OVERHEAD_BYTES
    return size if remaining >= size else None


def check_batch(
    data: bytes | bytearray | memoryview, name: str, config: LogConfig, origin: Origin, now: int
) -> CheckedBatch | Refusal:
    """Judge the one batch at the start of `data`; `name` is the partition's, for the messages.

    Where the topic keeps the time of appending, or another codec, the batch comes back changed: the first in place.
    """
    if len(data) < HEADER_BYTES or data[_MAGIC_POSITION] != MAGIC:
        return _refuse_unreadable(data, name)
    view = BatchHeader._make(BATCH_HEADER.unpack_from(data))
    if origin is Origin.CLIENT and view.base_offset != 0:
        return Refusal(
            LogError.INVALID_RECORD,
            f"The baseOffset of the record batch in the append to {name} should be 0, but it is {view.base_offset}",
        )
    size = view.batch_length + LOG_OVERHEAD_BYTES
    if size > config.max_message_bytes:
        return _refuse_too_large(size, name, config)
    if not HEADER_BYTES <= size <= len(data):
        return _refuse_unreadable(data, name)
    whole = memoryview(data)[:size]
    if crc32c(whole[ATTRIBUTES_POSITION:]) != view.crc:
        return _refuse_corrupt(view, name)
    refused = _check_nothing_follows(data, size) or (_check_header(view, name) if origin is Origin.CLIENT else None)
    if refused is not None:
        return refused
    if _must_open(view, config, now):
        return _check_records(whole, view, name, config, now)
    if config.is_log_append_time:
        return _stamp(whole, view, now)
    return CheckedBatch(whole, view, NO_TIMESTAMP)


def _must_open(view: BatchHeader, config: LogConfig, now: int) -> bool:
    """Whether a check, or the topic's codec, needs the records themselves."""
    attributes, target = view.attributes, config.compression
    return bool(
        config.is_compacted
        or attributes & LOG_APPEND_TIME
        or attributes & COMPRESSION_MASK > Compression.ZSTD
        or (target is not None and target != attributes & COMPRESSION_MASK and not attributes & CONTROL)
        or (not config.is_log_append_time and _may_be_out_of_range(view, config, now))
    )


def _may_be_out_of_range(view: BatchHeader, config: LogConfig, now: int) -> bool:
    return view.max_timestamp - now > config.timestamp_after_max_ms or config.timestamp_before_max_ms < MAX_LONG


def _refuse_unreadable(data: bytes | bytearray | memoryview, name: str) -> Refusal:
    size = _next_batch_size(data, 0)
    if isinstance(size, Refusal):
        return size
    if size is None:
        return Refusal(LogError.INVALID_RECORD, "Record batch has no batches at all")
    if data[_MAGIC_POSITION] != MAGIC:
        return Refusal(
            LogError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"Record batches of magic version {data[_MAGIC_POSITION]} can't be appended to {name}",
        )
    return Refusal(LogError.CORRUPT_MESSAGE, f"Record is corrupt in topic partition {name}.")


def _refuse_too_large(size: int, name: str, config: LogConfig) -> Refusal:
    return Refusal(
        LogError.MESSAGE_TOO_LARGE,
        f"The record batch size in the append to {name} is {size} bytes which exceeds the maximum configured value of "
        f"{config.max_message_bytes}).",
    )


def _refuse_corrupt(view: BatchHeader, name: str) -> Refusal:
    return Refusal(LogError.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {view.crc}) in topic partition {name}.")


def _check_nothing_follows(data: bytes | bytearray | memoryview, size: int) -> Refusal | None:
    """A second batch is refused; what is too short for one is left out, as Kafka does."""
    if len(data) == size:
        return None
    following = _next_batch_size(data, size)
    if isinstance(following, Refusal):
        return following
    if following is not None:
        return Refusal(LogError.INVALID_RECORD, "Compressed outer record has more than one batch")
    return None


def _check_header(view: BatchHeader, name: str) -> Refusal | None:
    """LogValidator.validateBatch, for what clients send."""
    count, from_offsets = view.count, view.last_offset_delta + 1
    if count == from_offsets and count > 0 and not view.attributes & CONTROL:
        if view.producer_id >= 0 and view.base_sequence < 0:
            return Refusal(
                LogError.INVALID_RECORD,
                f"Invalid sequence number {view.base_sequence} in record batch with producerId {view.producer_id} in "
                f"topic partition {name}",
            )
        return None
    offsets = f"[{view.base_offset}, {view.last_offset}]"
    if from_offsets <= 0:
        message = f"Batch has an invalid offset range: {offsets} in topic partition {name}"
    elif count <= 0:
        message = f"Invalid reported count for record batch: {count} in topic partition {name}"
    elif count != from_offsets:
        message = f"Inconsistent batch offset range {offsets} and count of records {count} in topic partition {name}"
    else:
        message = f"Clients are not allowed to write control records in topic partition {name}"
    return Refusal(LogError.INVALID_RECORD, message)


def _check_records(
    whole: memoryview, view: BatchHeader, name: str, config: LogConfig, now: int
) -> CheckedBatch | Refusal:
    """The checks that need the records themselves, and the rewriting that does."""
    if view.compression > Compression.ZSTD:
        message = f"Unknown compression type id: {view.compression}"
        return Refusal(LogError.UNSUPPORTED_COMPRESSION_TYPE, message)
    try:
        records = read_batch(whole).records
    except RecordError as error:
        return Refusal(LogError.INVALID_RECORD, f"{error} in topic partition {name}")
    if not view.attributes & CONTROL and (refused := _check_each(records, view, name, config, now)) is not None:
        return refused
    target = config.compression
    if target is not None and target != view.compression and not view.attributes & CONTROL:
        return _convert(view, records, target, name, config, now)
    if config.is_log_append_time:
        return _stamp(whole, view, now)
    largest = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    if view.is_log_append_time or largest != view.max_timestamp:
        return _patch_time(whole, view.attributes & ~LOG_APPEND_TIME, largest, NO_TIMESTAMP)
    return CheckedBatch(whole, view, NO_TIMESTAMP)


def _check_each(
    records: tuple[Record, ...], view: BatchHeader, name: str, config: LogConfig, now: int
) -> Refusal | None:
    errors: list[RecordRefusal] = []
    code = LogError.INVALID_RECORD
    for index, record in enumerate(records):
        if config.is_compacted and record.key is None:
            message = f"Compacted topic cannot accept message without key in topic partition {name}"
            errors.append(RecordRefusal(index, message))
        elif (refused := _check_time(record, index, view, config, now)) is not None:
            code = LogError.INVALID_TIMESTAMP
            errors.append(refused)
    if not errors:
        return None
    if code is LogError.INVALID_TIMESTAMP:
        return Refusal(code, "One or more records have been rejected due to invalid timestamp", tuple(errors))
    shown = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:SHOWN_RECORD_ERRORS]
    )
    return Refusal(
        code,
        f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing the "
        f"first three errors at most: [{shown}]",
        tuple(errors),
    )


def _check_time(record: Record, index: int, view: BatchHeader, config: LogConfig, now: int) -> RecordRefusal | None:
    timestamp = record.timestamp
    if not config.is_log_append_time and timestamp != NO_TIMESTAMP:
        before, after = config.timestamp_before_max_ms, config.timestamp_after_max_ms
        if now - timestamp > before or timestamp - now > after:
            return RecordRefusal(
                index,
                f"Timestamp {timestamp} of message with offset {record.offset} is out of range. The timestamp should "
                f"be within [{_java_long(now - before)}, {_java_long(now + after)}]",
            )
    elif view.is_log_append_time:
        is_partial = bool(view.compression) and config.compression in (None, view.compression)
        described = _describe(record, is_partial=is_partial)
        return RecordRefusal(
            index,
            f"Invalid timestamp type in message {described}. Producer should not set timestamp type to LogAppendTime.",
        )
    return None


def _describe(record: Record, *, is_partial: bool) -> str:
    """DefaultRecord.toString, or PartialDefaultRecord's, which Kafka makes of a record in a compressed batch."""
    if is_partial:
        key, value = (-1 if part is None else len(part) for part in (record.key, record.value))
        return (
            f"PartialDefaultRecord(offset={record.offset}, timestamp={record.timestamp}, key={key} bytes, "
            f"value={value} bytes)"
        )
    return (
        f"DefaultRecord(offset={record.offset}, timestamp={record.timestamp}, key={len(record.key or b'')} bytes, "
        f"value={len(record.value or b'')} bytes)"
    )


def _java_long(value: int) -> int:
    """Sums of Java's longs wrap around."""
    return (value + 2**63) % 2**64 - 2**63


def _convert(
    view: BatchHeader, records: tuple[Record, ...], target: Compression, name: str, config: LogConfig, now: int
) -> CheckedBatch | Refusal:
    log_append_time = now if config.is_log_append_time else None
    data = recompress(view, records, target, level=config.compression_level, log_append_time=log_append_time)
    if len(data) > config.max_message_bytes:
        return Refusal(
            LogError.MESSAGE_TOO_LARGE,
            f"Message batch size is {len(data)} bytes in append topartition {name} which exceeds the maximum "
            f"configured size of {config.max_message_bytes}.",
        )
    whole = memoryview(bytearray(data))
    return CheckedBatch(whole, view_header(whole), now if config.is_log_append_time else NO_TIMESTAMP)


def _stamp(whole: memoryview, view: BatchHeader, now: int) -> CheckedBatch:
    """Give all records the time of appending: one attribute and one timestamp in the header say it."""
    return _patch_time(whole, view.attributes | LOG_APPEND_TIME, now, now)


def _patch_time(whole: memoryview, attributes: int, max_timestamp: int, log_append_time: int) -> CheckedBatch:
    if whole.readonly:
        whole = memoryview(bytearray(whole))
    _INT16.pack_into(whole, ATTRIBUTES_POSITION, attributes)
    _INT64.pack_into(whole, _MAX_TIMESTAMP_POSITION, max_timestamp)
    _UINT32.pack_into(whole, CRC_POSITION, crc32c(whole[ATTRIBUTES_POSITION:]))
    return CheckedBatch(whole, view_header(whole), log_append_time)
