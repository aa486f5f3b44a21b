"""Record batches, version 2: the unit of Kafka's log, on disk and on the wire.

From org.apache.kafka.common.record.internal.DefaultRecordBatch and DefaultRecord. Pure: bytes in, values out. Any
bytes give records or a RecordError, never another exception. Timestamps stay integers of milliseconds.

    batch:  baseOffset int64, batchLength int32, partitionLeaderEpoch int32, magic int8, crc uint32 (CRC-32C of all
            that follows), attributes int16, lastOffsetDelta int32, baseTimestamp int64, maxTimestamp int64,
            producerId int64, producerEpoch int16, baseSequence int32, count int32, the records, compressed as one
    record: length varint, attributes int8, timestampDelta varlong, offsetDelta varint, key, value, headers
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from doorkeeper.errors import RecordError, TornBatchError
from doorkeeper.wire.compression import MAX_DECOMPRESSED_BYTES, Compression, codec_for
from doorkeeper.wire.crc import crc32c
from doorkeeper.wire.varints import read_varint, read_varlong, write_varint

MAGIC: Final = 2
LOG_OVERHEAD_BYTES: Final = 12
"""baseOffset and batchLength; batchLength counts what follows them."""
HEADER_BYTES: Final = 61
CRC_POSITION: Final = 17
ATTRIBUTES_POSITION: Final = 21
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
MAX_SEQUENCE: Final = 2**31 - 1
NO_TIMESTAMP: Final = -1
MIN_RECORD_BYTES: Final = 7
"""length, attributes, timestamp delta, offset delta, key length, value length, header count: one byte each."""

BATCH_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""The fields of `BatchHeader`, in its order."""
_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
_BEFORE_CRC: Final = struct.Struct(">qiibI")

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

Header = tuple[bytes, bytes | None]
"""A record header. The key stays bytes: Kafka's clients write UTF-8, but nothing checks it."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record; offset and timestamp are absolute."""

    value: bytes | None
    key: bytes | None = None
    timestamp: int = 0
    offset: int = 0
    headers: tuple[Header, ...] = ()


class BatchHeader(NamedTuple):
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
    count: int  # type: ignore[assignment]  # records; the tuple's method of this name is not missed

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return LOG_OVERHEAD_BYTES + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        return add_to_sequence(self.base_sequence, self.last_offset_delta) if self.base_sequence >= 0 else NO_SEQUENCE

    @property
    def compression(self) -> int:
        """The codec's number; `Compression` names those that exist."""
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


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch, opened."""

    header: BatchHeader
    records: tuple[Record, ...]


def add_to_sequence(sequence: int, increment: int) -> int:
    """Sequence numbers wrap to 0 after the largest 32-bit number (DefaultRecordBatch.incrementSequence)."""
    return (sequence + increment) & MAX_SEQUENCE


def view_header(buffer: bytes | bytearray | memoryview, position: int = 0) -> BatchHeader:
    """The header of the batch that begins here, unchecked; struct.error if fewer than 61 bytes are left."""
    return BatchHeader._make(BATCH_HEADER.unpack_from(buffer, position))


def read_batch_header(buffer: bytes | memoryview, position: int = 0) -> BatchHeader:
    """Read the header of the batch that starts here. The batch need not be whole: see `require_whole`."""
    if len(buffer) - position < HEADER_BYTES:
        raise TornBatchError(f"{len(buffer) - position} bytes are left, a batch header has {HEADER_BYTES}")
    header = view_header(buffer, position)
    if header.magic != MAGIC:
        raise RecordError(f"magic byte {header.magic}, where only {MAGIC} is read")
    if header.batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
        raise RecordError(f"a batch of {header.batch_length} bytes is shorter than its header")
    if header.count < 0 or header.last_offset_delta < 0 or header.base_offset < 0:
        raise RecordError("a batch with a negative offset or count")
    return header


def require_whole(buffer: bytes | memoryview, position: int, header: BatchHeader) -> None:
    """Raise unless all bytes of the batch are there and their checksum is right."""
    available = len(buffer) - position
    if available < header.size:
        raise TornBatchError(f"{available} bytes are left, the batch has {header.size}")
    body = memoryview(buffer)[position + ATTRIBUTES_POSITION : position + header.size]
    found = crc32c(body)
    if found != header.crc:
        raise RecordError(f"checksum {found:08x}, where the batch says {header.crc:08x}")


def read_batch(buffer: bytes | memoryview, position: int = 0, *, limit: int = MAX_DECOMPRESSED_BYTES) -> Batch:
    """Read the batch that starts here: header, checksum and all records. `limit` bounds what decompression may give."""
    header = read_batch_header(buffer, position)
    require_whole(buffer, position, header)
    body = bytes(memoryview(buffer)[position + HEADER_BYTES : position + header.size])
    records = _read_records(codec_for(header.compression).decompress(body, limit), header)
    return Batch(header, records)


def iter_batches(buffer: bytes | memoryview, position: int = 0) -> Iterator[tuple[int, Batch]]:
    """Every batch with its position, up to the end of the buffer; the first bad one raises."""
    while position < len(buffer):
        batch = read_batch(buffer, position)
        yield position, batch
        position += batch.header.size


def _read_records(body: bytes, header: BatchHeader) -> tuple[Record, ...]:
    if header.count * MIN_RECORD_BYTES > len(body):
        raise RecordError(f"{header.count} records don't fit in {len(body)} bytes")
    records: list[Record] = []
    position = 0
    try:
        for _ in range(header.count):
            record, position = _read_record(body, position, header)
            records.append(record)
    except (IndexError, ValueError) as error:
        raise RecordError(f"record {len(records)} of the batch is malformed: {error}") from None
    if position != len(body):
        raise RecordError(f"{len(body) - position} bytes follow the batch's last record")
    return tuple(records)


def _read_record(body: bytes, position: int, header: BatchHeader) -> tuple[Record, int]:
    length, start = read_varint(body, position)
    end = start + length
    if length < 0 or end > len(body):
        raise ValueError(f"a length of {length} bytes")
    timestamp_delta, position = read_varlong(body, start + 1)
    offset_delta, position = read_varint(body, position)
    key, position = _read_bytes(body, position, end)
    value, position = _read_bytes(body, position, end)
    headers, position = _read_headers(body, position, end)
    if position != end:
        raise ValueError(f"{end - position} bytes are left over")
    timestamp = header.max_timestamp if header.is_log_append_time else header.base_timestamp + timestamp_delta
    return Record(value, key, timestamp, header.base_offset + offset_delta, headers), end


def _read_bytes(body: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_varint(body, position)
    if length < 0:
        if length != -1:
            raise ValueError(f"a length of {length} bytes")
        return None, position
    if position + length > end:
        raise ValueError(f"a length of {length} bytes")
    return body[position : position + length], position + length


def _read_headers(body: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(body, position)
    if count < 0 or count > end - position:
        raise ValueError(f"a count of {count} headers")
    headers: list[Header] = []
    for _ in range(count):
        key, position = _read_bytes(body, position, end)
        if key is None:
            raise ValueError("a header without a key")
        value, position = _read_bytes(body, position, end)
        headers.append((key, value))
    return tuple(headers), position


def write_batch(
    records: Sequence[Record],
    *,
    base_offset: int,
    leader_epoch: int = -1,
    compression: int = Compression.NONE,
    is_control: bool = False,
    is_transactional: bool = False,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
) -> bytes:
    """One batch with these records, numbered from `base_offset` on (their own offsets are not read)."""
    if not records:
        raise RecordError("a batch needs at least one record")
    base_timestamp = records[0].timestamp
    body = bytearray()
    for delta, record in enumerate(records):
        write_record(body, record, record.timestamp - base_timestamp, delta)
    return seal_batch(
        codec_for(compression).compress(bytes(body)),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=compression | TRANSACTIONAL * is_transactional | CONTROL * is_control,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max(record.timestamp for record in records),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        count=len(records),
    )


def seal_batch(
    body: bytes,
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    count: int,
) -> bytes:
    """Put a header before records that are written, and compressed, already: the bytes of a batch."""
    after = (
        _AFTER_CRC.pack(
            attributes,
            last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        )
        + body
    )
    length = len(after) + ATTRIBUTES_POSITION - LOG_OVERHEAD_BYTES
    return _BEFORE_CRC.pack(base_offset, length, leader_epoch, MAGIC, crc32c(after)) + after


def write_record(out: bytearray, record: Record, timestamp_delta: int, offset_delta: int) -> None:
    """Append one record; its own timestamp and offset are not read."""
    body = bytearray(1)  # the attributes of a record: none exist
    write_varint(body, timestamp_delta)
    write_varint(body, offset_delta)
    _write_bytes(body, record.key)
    _write_bytes(body, record.value)
    write_varint(body, len(record.headers))
    for key, value in record.headers:
        _write_bytes(body, key)
        _write_bytes(body, value)
    write_varint(out, len(body))
    out += body


def _write_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        write_varint(out, -1)
        return
    write_varint(out, len(value))
    out += value
