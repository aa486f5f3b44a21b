"""The consumer protocol that classic groups carry in opaque bytes: subscriptions and assignments.

From org.apache.kafka.clients.consumer.internals.ConsumerProtocol of Kafka 4.3.1; schemas ConsumerProtocolSubscription
and ConsumerProtocolAssignment in its kafka-clients jar. Bytes are a version (int16) and a message; a version above the
newest is read as the newest, and bytes after the message are left alone, so that old brokers understand new clients.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar, Final, TypeVar

from doorkeeper.errors import RecordError
from doorkeeper.wire.coordinator_records import NEVER_FLEXIBLE
from doorkeeper.wire.metadata.schema import (
    Message,
    Struct,
    array,
    integer,
    nullable_bytes,
    nullable_string,
    read_struct_prefix,
    string,
    struct_array,
    write_struct,
)

PROTOCOL_TYPE: Final = "consumer"
_VERSION: Final = struct.Struct(">h")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPartitions(Struct):
    """The partitions of one topic, by its name."""

    topic: str = string()
    partitions: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription(Message):
    """What a member asks for: ConsumerProtocolSubscription."""

    api_key: ClassVar[int] = -1
    highest_version: ClassVar[int] = 3
    flexible_since: ClassVar[int] = NEVER_FLEXIBLE
    topics: tuple[str, ...] = array("string")
    user_data: bytes | None = nullable_bytes()
    owned_partitions: tuple[NamedPartitions, ...] = struct_array(NamedPartitions, since=1, ignorable=True)
    generation_id: int = integer("int32", since=2, default=-1, ignorable=True)
    rack_id: str | None = nullable_string(since=3, default=None, ignorable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Message):
    """What a member gets: ConsumerProtocolAssignment."""

    api_key: ClassVar[int] = -1
    highest_version: ClassVar[int] = 3
    flexible_since: ClassVar[int] = NEVER_FLEXIBLE
    assigned_partitions: tuple[NamedPartitions, ...] = struct_array(NamedPartitions)
    user_data: bytes | None = nullable_bytes()


M = TypeVar("M", Subscription, Assignment)


def read_version(data: bytes) -> int:
    """The version that stands before a subscription or an assignment; RecordError where there is none."""
    if len(data) < _VERSION.size:
        raise RecordError("a consumer protocol message without a version")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise RecordError(f"consumer protocol version {version}")
    return version


def _read(kind: type[M], data: bytes, version: int | None) -> M:
    known = min(read_version(data) if version is None else version, kind.highest_version)
    return read_struct_prefix(kind, known, data, _VERSION.size)[0]


def read_subscription(data: bytes, version: int | None = None) -> Subscription:
    """Read a subscription at the version that it names, or at another one that the caller prefers."""
    read_version(data)
    return _read(Subscription, data, version)


def read_assignment(data: bytes) -> Assignment:
    return _read(Assignment, data, None)


def _write(message: Subscription | Assignment, version: int) -> bytes:
    known = min(version, message.highest_version)
    out = bytearray(_VERSION.pack(known))
    write_struct(out, known, message)
    return bytes(out)


def write_subscription(message: Subscription, version: int = Subscription.highest_version) -> bytes:
    return _write(message, version)


def write_assignment(message: Assignment, version: int = Assignment.highest_version) -> bytes:
    return _write(message, version)
