"""Batches for the tests, with as little said as each test needs."""

from __future__ import annotations

import struct

from crc32c import crc32c

from doorkeeper.wire.records import Record, write_batch

NOW = 1_700_000_000_000


def batch(
    *values: bytes | None,
    key: bytes | None = None,
    timestamp: int = NOW,
    producer_id: int = -1,
    epoch: int = 0,
    sequence: int = 0,
    is_transactional: bool = False,
    compression: int = 0,
) -> bytearray:
    """One batch; without values, of one record."""
    records = [Record(value, key, timestamp) for value in values or (b"value",)]
    has_producer = producer_id >= 0
    data = write_batch(
        records,
        base_offset=0,
        compression=compression,
        is_transactional=is_transactional,
        producer_id=producer_id,
        producer_epoch=epoch if has_producer else -1,
        base_sequence=sequence if has_producer else -1,
    )
    return bytearray(data)


def patched(data: bytearray, layout: str, position: int, value: int) -> bytearray:
    """A batch with another value somewhere in its header, and the checksum to match."""
    copy = bytearray(data)
    struct.pack_into(layout, copy, position, value)
    struct.pack_into(">I", copy, 17, crc32c(memoryview(copy)[21:]))
    return copy
