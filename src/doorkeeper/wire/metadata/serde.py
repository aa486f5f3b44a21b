"""The frame around a metadata record: frame version, type and version, then the message.

From org.apache.kafka.server.common.serialization.AbstractApiMessageSerde.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from doorkeeper.errors import RecordError
from doorkeeper.wire.metadata.schema import Message, read_struct, write_struct
from doorkeeper.wire.metadata.types import METADATA_RECORDS
from doorkeeper.wire.varints import read_unsigned_varint, write_unsigned_varint

FRAME_VERSION: Final = 1
MAX_INT16: Final = 32767

_BY_KEY: Final = {record.api_key: record for record in METADATA_RECORDS}


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A record whose type or version this release does not know; its bytes are kept as they are."""

    api_key: int
    version: int
    payload: bytes = field(repr=False)


class VersionedRecord(NamedTuple):
    """A record and the version that it has, or will have, on disk (Kafka's ApiMessageAndVersion)."""

    message: Message | UnknownRecord
    version: int


def read_metadata_record(value: bytes | None) -> VersionedRecord:
    """Read the value of one record of a data batch; an unknown type or version gives an UnknownRecord."""
    if value is None:
        raise RecordError("a metadata record without a value")
    try:
        frame_version, position = read_unsigned_varint(value, 0)
        if frame_version != FRAME_VERSION:
            raise RecordError(f"frame version {frame_version}, where only {FRAME_VERSION} is read")
        api_key, position = read_unsigned_varint(value, position)
        version, position = read_unsigned_varint(value, position)
    except (IndexError, ValueError) as error:
        raise RecordError(f"the frame of a metadata record is malformed: {error}") from None
    if max(api_key, version) > MAX_INT16:
        raise RecordError("the frame of a metadata record has a number above 32767")
    kind = _BY_KEY.get(api_key)
    if kind is None or version > kind.highest_version:
        return VersionedRecord(UnknownRecord(api_key, version, value[position:]), version)
    return VersionedRecord(read_struct(kind, version, value, position), version)


def write_metadata_record(record: VersionedRecord) -> bytes:
    """The value of one record of a data batch."""
    message = record.message
    if isinstance(message, Message) and not 0 <= record.version <= message.highest_version:
        raise RecordError(f"{type(message).__name__} has no version {record.version}")
    out = bytearray((FRAME_VERSION,))
    write_unsigned_varint(out, message.api_key)
    write_unsigned_varint(out, record.version)
    if isinstance(message, UnknownRecord):
        out += message.payload
        return bytes(out)
    write_struct(out, record.version, message)
    return bytes(out)
