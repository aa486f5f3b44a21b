"""The records of `__consumer_offsets`, as data and as bytes.

Schemas: `common/message/` in Kafka 4.3.1's kafka-group-coordinator jar. A key is its record type (int16) and a message
at version 0; a value is its version (int16) and a message (CoordinatorRecordSerde). Keys never use flexible encoding.
Share and streams groups are not here: the cluster reads them as UnknownCoordinatorRecord and leaves them alone.
"""

# ruff: noqa: RUF009 (the calls make dataclass fields)

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final
from uuid import UUID

from doorkeeper.errors import RecordError
from doorkeeper.wire.metadata.schema import (
    Message,
    Struct,
    array,
    integer,
    nullable_array,
    nullable_string,
    nullable_struct,
    opaque_bytes,
    read_struct,
    string,
    struct_array,
    uuid,
    write_struct,
)

NEVER_FLEXIBLE: Final = 32768
_INT16: Final = struct.Struct(">h")


# --- keys --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKey(Message):
    """The key of a record; its type is its `api_key`."""

    flexible_since: ClassVar[int] = NEVER_FLEXIBLE
    highest_version: ClassVar[int] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyOffsetCommitKey(RecordKey):
    """An offset commit as Kafka wrote it before 0.9; read, never written."""

    api_key: ClassVar[int] = 0
    group: str = string()
    topic: str = string()
    partition: int = integer("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitKey(RecordKey):
    api_key: ClassVar[int] = 1
    group: str = string()
    topic: str = string()
    partition: int = integer("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataKey(RecordKey):
    """A classic group."""

    api_key: ClassVar[int] = 2
    group: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataKey(RecordKey):
    api_key: ClassVar[int] = 3
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataKey(RecordKey):
    """Subscription metadata of Kafka 4.0 and before; only its tombstone is written now."""

    api_key: ClassVar[int] = 4
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataKey(RecordKey):
    api_key: ClassVar[int] = 5
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataKey(RecordKey):
    api_key: ClassVar[int] = 6
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberKey(RecordKey):
    api_key: ClassVar[int] = 7
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentKey(RecordKey):
    api_key: ClassVar[int] = 8
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionKey(RecordKey):
    api_key: ClassVar[int] = 16
    group_id: str = string()
    regular_expression: str = string()


# --- values ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyOffsetCommitValue(Message):
    api_key: ClassVar[int] = 0
    highest_version: ClassVar[int] = 0
    flexible_since: ClassVar[int] = NEVER_FLEXIBLE
    offset: int = integer("int64")
    metadata: str = string()
    commit_timestamp: int = integer("int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue(Message):
    api_key: ClassVar[int] = 1
    highest_version: ClassVar[int] = 4
    flexible_since: ClassVar[int] = 4
    offset: int = integer("int64")
    leader_epoch: int = integer("int32", since=3, default=-1, ignorable=True)
    metadata: str = string()
    commit_timestamp: int = integer("int64")
    expire_timestamp: int = integer("int64", since=1, until=1, default=-1, ignorable=True)
    topic_id: UUID = uuid(since=4, tag=0, ignorable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata(Struct):
    """GroupMetadataValue.MemberMetadata: a member of a classic group, with the protocol that was chosen."""

    member_id: str = string()
    group_instance_id: str | None = nullable_string(since=3, default=None, ignorable=True)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = integer("int32", since=1, default=-1, ignorable=True)
    session_timeout: int = integer("int32")
    subscription: bytes = opaque_bytes()
    assignment: bytes = opaque_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue(Message):
    api_key: ClassVar[int] = 2
    highest_version: ClassVar[int] = 4
    flexible_since: ClassVar[int] = 4
    protocol_type: str = string()
    generation: int = integer("int32")
    protocol: str | None = nullable_string()
    leader: str | None = nullable_string()
    current_state_timestamp: int = integer("int64", since=2, default=-1, ignorable=True)
    members: tuple[MemberMetadata, ...] = struct_array(MemberMetadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataValue(Message):
    api_key: ClassVar[int] = 3
    highest_version: ClassVar[int] = 0
    epoch: int = integer("int32")
    metadata_hash: int = integer("int64", tag=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata(Struct):
    partition: int = integer("int32")
    racks: tuple[str, ...] = array("string")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata(Struct):
    topic_id: UUID = uuid()
    topic_name: str = string()
    num_partitions: int = integer("int32")
    partition_metadata: tuple[PartitionMetadata, ...] = struct_array(PartitionMetadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataValue(Message):
    api_key: ClassVar[int] = 4
    highest_version: ClassVar[int] = 0
    topics: tuple[TopicMetadata, ...] = struct_array(TopicMetadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol(Struct):
    name: str = string()
    metadata: bytes = opaque_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberMetadata(Struct):
    """What a consumer group keeps of a member that still speaks the classic protocol."""

    session_timeout_ms: int = integer("int32")
    supported_protocols: tuple[ClassicProtocol, ...] = struct_array(ClassicProtocol)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataValue(Message):
    api_key: ClassVar[int] = 5
    highest_version: ClassVar[int] = 0
    instance_id: str | None = nullable_string()
    rack_id: str | None = nullable_string()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: tuple[str, ...] = array("string")
    subscribed_topic_regex: str | None = nullable_string()
    rebalance_timeout_ms: int = integer("int32", default=-1)
    server_assignor: str | None = nullable_string()
    classic_member_metadata: ClassicMemberMetadata | None = nullable_struct(ClassicMemberMetadata, tag=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataValue(Message):
    api_key: ClassVar[int] = 6
    highest_version: ClassVar[int] = 0
    assignment_epoch: int = integer("int32")
    assignment_timestamp: int = integer("int64", tag=0, ignorable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTopicPartitions(Struct):
    """ConsumerGroupTargetAssignmentMemberValue.TopicPartition."""

    topic_id: UUID = uuid()
    partitions: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue(Message):
    api_key: ClassVar[int] = 7
    highest_version: ClassVar[int] = 0
    topic_partitions: tuple[TargetTopicPartitions, ...] = struct_array(TargetTopicPartitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentTopicPartitions(Struct):
    """ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions; the epochs stand in the order of the partitions."""

    topic_id: UUID = uuid()
    partitions: tuple[int, ...] = array("int32")
    assignment_epochs: tuple[int, ...] | None = nullable_array("int32", tag=0, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    api_key: ClassVar[int] = 8
    highest_version: ClassVar[int] = 0
    member_epoch: int = integer("int32")
    previous_member_epoch: int = integer("int32")
    state: int = integer("int8")
    assigned_partitions: tuple[CurrentTopicPartitions, ...] = struct_array(CurrentTopicPartitions)
    partitions_pending_revocation: tuple[CurrentTopicPartitions, ...] = struct_array(CurrentTopicPartitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionValue(Message):
    api_key: ClassVar[int] = 16
    highest_version: ClassVar[int] = 0
    topics: tuple[str, ...] = array("string")
    version: int = integer("int64")
    timestamp: int = integer("int64")


RECORD_TYPES: Final[tuple[tuple[type[RecordKey], type[Message]], ...]] = (
    (LegacyOffsetCommitKey, LegacyOffsetCommitValue),
    (OffsetCommitKey, OffsetCommitValue),
    (GroupMetadataKey, GroupMetadataValue),
    (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
)
_BY_TYPE: Final = {key.api_key: (key, value) for key, value in RECORD_TYPES}


# --- bytes -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """A key and its value at a version; without a value it is a tombstone."""

    key: RecordKey
    value: Message | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class UnknownCoordinatorRecord:
    """A record of a type, or with a value of a version, that this release does not know."""

    record_type: int
    key: bytes
    value: bytes | None


def _read_int16(data: bytes, what: str) -> int:
    if len(data) < _INT16.size:
        raise RecordError(f"the {what} of a coordinator record is {len(data)} bytes long")
    number: int = _INT16.unpack_from(data)[0]
    return number


def read_coordinator_record(
    key: bytes, value: bytes | None, types: Mapping[int, tuple[type[RecordKey], type[Message]]] = _BY_TYPE
) -> CoordinatorRecord | UnknownCoordinatorRecord:
    """Read a record of `__consumer_offsets`; RecordError if its bytes are not what its type and version say.

    Other coordinators' topics have the same framing, and record types of their own.
    """
    record_type = _read_int16(key, "key")
    if record_type not in types:
        return UnknownCoordinatorRecord(record_type, key, value)
    key_class, value_class = types[record_type]
    parsed_key = read_struct(key_class, 0, key, _INT16.size)
    if value is None:
        return CoordinatorRecord(parsed_key)
    version = _read_int16(value, "value")
    if not 0 <= version <= value_class.highest_version:
        return UnknownCoordinatorRecord(record_type, key, value)
    return CoordinatorRecord(parsed_key, read_struct(value_class, version, value, _INT16.size), version)


def write_coordinator_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value as they stand in a batch of `__consumer_offsets`."""
    key = bytearray(_INT16.pack(record.key.api_key))
    write_struct(key, 0, record.key)
    if record.value is None:
        return bytes(key), None
    if record.value.api_key != record.key.api_key:
        raise RecordError(f"a {type(record.value).__name__} under a {type(record.key).__name__}")
    if not 0 <= record.version <= record.value.highest_version:
        raise RecordError(f"{type(record.value).__name__} has no version {record.version}")
    value = bytearray(_INT16.pack(record.version))
    write_struct(value, record.version, record.value)
    return bytes(key), bytes(value)
