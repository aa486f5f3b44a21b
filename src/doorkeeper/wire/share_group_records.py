"""The records of share groups: those in `__consumer_offsets`, and those of `__share_group_state`.

Schemas: `common/message/` in Kafka 4.3.1's kafka-group-coordinator and kafka-share-coordinator jars; framing as in
`coordinator_records`. The embedded cluster has no share groups; the audit reads them.
"""

# ruff: noqa: RUF009 (the calls make dataclass fields)

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final
from uuid import UUID

from doorkeeper.wire.coordinator_records import (
    CoordinatorRecord,
    RecordKey,
    TargetTopicPartitions,
    UnknownCoordinatorRecord,
    read_coordinator_record,
)
from doorkeeper.wire.metadata.schema import Message, Struct, array, integer, nullable_string, string, struct_array, uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMemberMetadataKey(RecordKey):
    api_key: ClassVar[int] = 10
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMetadataKey(RecordKey):
    api_key: ClassVar[int] = 11
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMetadataKey(RecordKey):
    api_key: ClassVar[int] = 12
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMemberKey(RecordKey):
    api_key: ClassVar[int] = 13
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupCurrentMemberAssignmentKey(RecordKey):
    api_key: ClassVar[int] = 14
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupStatePartitionMetadataKey(RecordKey):
    api_key: ClassVar[int] = 15
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMemberMetadataValue(Message):
    api_key: ClassVar[int] = 10
    highest_version: ClassVar[int] = 0
    rack_id: str | None = nullable_string()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: tuple[str, ...] = array("string")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMetadataValue(Message):
    api_key: ClassVar[int] = 11
    highest_version: ClassVar[int] = 0
    epoch: int = integer("int32")
    metadata_hash: int = integer("int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMetadataValue(Message):
    api_key: ClassVar[int] = 12
    highest_version: ClassVar[int] = 0
    assignment_epoch: int = integer("int32")
    assignment_timestamp: int = integer("int64", tag=0, ignorable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMemberValue(Message):
    api_key: ClassVar[int] = 13
    highest_version: ClassVar[int] = 0
    topic_partitions: tuple[TargetTopicPartitions, ...] = struct_array(TargetTopicPartitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupCurrentMemberAssignmentValue(Message):
    api_key: ClassVar[int] = 14
    highest_version: ClassVar[int] = 0
    member_epoch: int = integer("int32")
    previous_member_epoch: int = integer("int32")
    state: int = integer("int8")
    assigned_partitions: tuple[TargetTopicPartitions, ...] = struct_array(TargetTopicPartitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionsInfo(Struct):
    topic_id: UUID = uuid()
    topic_name: str = string()
    partitions: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo(Struct):
    topic_id: UUID = uuid()
    topic_name: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupStatePartitionMetadataValue(Message):
    api_key: ClassVar[int] = 15
    highest_version: ClassVar[int] = 0
    initializing_topics: tuple[TopicPartitionsInfo, ...] = struct_array(TopicPartitionsInfo)
    initialized_topics: tuple[TopicPartitionsInfo, ...] = struct_array(TopicPartitionsInfo)
    deleting_topics: tuple[TopicInfo, ...] = struct_array(TopicInfo)


SHARE_GROUP_RECORDS: Final[tuple[tuple[type[RecordKey], type[Message]], ...]] = (
    (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    (ShareGroupMetadataKey, ShareGroupMetadataValue),
    (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
    (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
    (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
)


# --- __share_group_state -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSnapshotKey(RecordKey):
    api_key: ClassVar[int] = 0
    group_id: str = string()
    topic_id: UUID = uuid()
    partition: int = integer("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareUpdateKey(RecordKey):
    api_key: ClassVar[int] = 1
    group_id: str = string()
    topic_id: UUID = uuid()
    partition: int = integer("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBatch(Struct):
    first_offset: int = integer("int64")
    last_offset: int = integer("int64")
    delivery_state: int = integer("int8")
    delivery_count: int = integer("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSnapshotValue(Message):
    api_key: ClassVar[int] = 0
    highest_version: ClassVar[int] = 0
    snapshot_epoch: int = integer("int32")
    state_epoch: int = integer("int32")
    leader_epoch: int = integer("int32")
    start_offset: int = integer("int64")
    delivery_complete_count: int = integer("int32", tag=0, default=-1)
    create_timestamp: int = integer("int64")
    write_timestamp: int = integer("int64")
    state_batches: tuple[StateBatch, ...] = struct_array(StateBatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareUpdateValue(Message):
    api_key: ClassVar[int] = 1
    highest_version: ClassVar[int] = 0
    snapshot_epoch: int = integer("int32")
    leader_epoch: int = integer("int32")
    start_offset: int = integer("int64")
    delivery_complete_count: int = integer("int32", tag=0, default=-1)
    state_batches: tuple[StateBatch, ...] = struct_array(StateBatch)


SHARE_STATE_RECORDS: Final[tuple[tuple[type[RecordKey], type[Message]], ...]] = (
    (ShareSnapshotKey, ShareSnapshotValue),
    (ShareUpdateKey, ShareUpdateValue),
)
_STATE_BY_TYPE: Final = {key.api_key: (key, value) for key, value in SHARE_STATE_RECORDS}


def read_share_state_record(key: bytes, value: bytes | None) -> CoordinatorRecord | UnknownCoordinatorRecord:
    """Read a record of `__share_group_state`; RecordError if its bytes are not what its type and version say."""
    return read_coordinator_record(key, value, _STATE_BY_TYPE)
