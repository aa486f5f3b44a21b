"""The answer to a Produce request in which every partition was written, made directly (ProduceResponse.json).

By far the most common answer of a broker; through the classes of messages it would take as long as writing the records.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from doorkeeper.wire.walking import write_unsigned_varint

FIRST_WITH_START_OFFSET: Final = 5
FIRST_WITH_RECORD_ERRORS: Final = 8
FIRST_FLEXIBLE: Final = 9
FIRST_WITH_IDS: Final = 13

_INT32: Final = struct.Struct(">i")
_WITHOUT_START: Final = struct.Struct(">ihqq")
_WITH_START: Final = struct.Struct(">ihqqq")
_NO_ERRORS: Final = b"\0\0\0\0\xff\xff"  # an empty array, a null string
_NO_ERRORS_FLEXIBLE: Final = b"\1\0\0"  # the same, and no tagged fields
_NOT_THROTTLED: Final = b"\0\0\0\0"


class Written(NamedTuple):
    """One partition; times are in milliseconds, or -1."""

    partition: int
    base_offset: int
    log_append_time: int
    log_start_offset: int


def encode_written(version: int, topics: Sequence[tuple[str | UUID, Sequence[Written]]]) -> bytes:
    """The body of the response: topics by name, or by id from version 13 on."""
    is_flexible = version >= FIRST_FLEXIBLE
    parts = [_length(len(topics), is_flexible)]
    end = _NO_ERRORS_FLEXIBLE if is_flexible else _NO_ERRORS if version >= FIRST_WITH_RECORD_ERRORS else b""
    for topic, partitions in topics:
        parts += (_topic(topic, is_flexible), _length(len(partitions), is_flexible))
        for partition, base_offset, time, start in partitions:
            if version >= FIRST_WITH_START_OFFSET:
                parts += (_WITH_START.pack(partition, 0, base_offset, time, start), end)
            else:
                parts.append(_WITHOUT_START.pack(partition, 0, base_offset, time))
        if is_flexible:
            parts.append(b"\0")
    parts.append(_NOT_THROTTLED)
    if is_flexible:
        parts.append(b"\0")
    return b"".join(parts)


def _length(count: int, is_flexible: bool) -> bytes:
    return write_unsigned_varint(count + 1) if is_flexible else _INT32.pack(count)


def _topic(topic: str | UUID, is_flexible: bool) -> bytes:
    if isinstance(topic, UUID):
        return topic.bytes
    name = topic.encode()
    return (write_unsigned_varint(len(name) + 1) if is_flexible else len(name).to_bytes(2, "big")) + name
