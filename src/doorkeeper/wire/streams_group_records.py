"""The records of streams groups in `__consumer_offsets`, and the reader that knows every kind of group.

Schemas: `common/message/` in Kafka 4.3.1's kafka-group-coordinator jar; framing as in `coordinator_records`. The
embedded cluster has no streams groups; the audit reads them.
"""

# ruff: noqa: RUF009 (the calls make dataclass fields)

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from doorkeeper.wire.coordinator_records import (
    RECORD_TYPES,
    CoordinatorRecord,
    RecordKey,
    UnknownCoordinatorRecord,
    read_coordinator_record,
)
from doorkeeper.wire.metadata.schema import (
    FieldSpec,
    Message,
    Struct,
    array,
    integer,
    kafka_field,
    nullable_array,
    nullable_string,
    string,
    struct_array,
)
from doorkeeper.wire.share_group_records import SHARE_GROUP_RECORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMetadataKey(RecordKey):
    api_key: ClassVar[int] = 17
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMemberMetadataKey(RecordKey):
    api_key: ClassVar[int] = 19
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMetadataKey(RecordKey):
    api_key: ClassVar[int] = 20
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMemberKey(RecordKey):
    api_key: ClassVar[int] = 21
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupCurrentMemberAssignmentKey(RecordKey):
    api_key: ClassVar[int] = 22
    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTopologyKey(RecordKey):
    api_key: ClassVar[int] = 23
    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue(Struct):
    """LastAssignmentConfig, KeyValue and TopicConfig alike."""

    key: str = string()
    value: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMetadataValue(Message):
    api_key: ClassVar[int] = 17
    highest_version: ClassVar[int] = 0
    epoch: int = integer("int32")
    metadata_hash: int = integer("int64")
    validated_topology_epoch: int = integer("int32", tag=0, default=-1)
    last_assignment_configs: tuple[KeyValue, ...] | None = kafka_field(
        (), FieldSpec("struct", nullable=True, is_array=True, tag=1, struct=KeyValue)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEndpoint(Struct):
    """Where an instance answers interactive queries."""

    host: str = string()
    port: int = integer("uint16")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMemberMetadataValue(Message):
    api_key: ClassVar[int] = 19
    highest_version: ClassVar[int] = 0
    instance_id: str | None = nullable_string()
    rack_id: str | None = nullable_string()
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout_ms: int = integer("int32", default=-1)
    topology_epoch: int = integer("int32")
    process_id: str = string()
    user_endpoint: UserEndpoint | None = kafka_field(None, FieldSpec("struct", nullable=True, struct=UserEndpoint))
    client_tags: tuple[KeyValue, ...] = struct_array(KeyValue)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMetadataValue(Message):
    api_key: ClassVar[int] = 20
    highest_version: ClassVar[int] = 0
    assignment_epoch: int = integer("int32")
    assignment_timestamp: int = integer("int64", tag=0, ignorable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTaskIds(Struct):
    """StreamsGroupTargetAssignmentMemberValue.TaskIds."""

    subtopology_id: str = string()
    partitions: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMemberValue(Message):
    api_key: ClassVar[int] = 21
    highest_version: ClassVar[int] = 0
    active_tasks: tuple[TargetTaskIds, ...] = struct_array(TargetTaskIds)
    standby_tasks: tuple[TargetTaskIds, ...] = struct_array(TargetTaskIds)
    warmup_tasks: tuple[TargetTaskIds, ...] = struct_array(TargetTaskIds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentTaskIds(Struct):
    """StreamsGroupCurrentMemberAssignmentValue.TaskIds; the epochs stand in the order of the partitions."""

    subtopology_id: str = string()
    partitions: tuple[int, ...] = array("int32")
    assignment_epochs: tuple[int, ...] | None = nullable_array("int32", tag=0, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupCurrentMemberAssignmentValue(Message):
    api_key: ClassVar[int] = 22
    highest_version: ClassVar[int] = 0
    member_epoch: int = integer("int32")
    previous_member_epoch: int = integer("int32")
    state: int = integer("int8")
    active_tasks: tuple[CurrentTaskIds, ...] = struct_array(CurrentTaskIds)
    standby_tasks: tuple[CurrentTaskIds, ...] = struct_array(CurrentTaskIds)
    warmup_tasks: tuple[CurrentTaskIds, ...] = struct_array(CurrentTaskIds)
    active_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = struct_array(CurrentTaskIds)
    standby_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = struct_array(CurrentTaskIds)
    warmup_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = struct_array(CurrentTaskIds)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyTopic(Struct):
    """StreamsGroupTopologyValue.TopicInfo."""

    name: str = string()
    partitions: int = integer("int32")
    replication_factor: int = integer("int16")
    topic_configs: tuple[KeyValue, ...] = struct_array(KeyValue)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopartitionGroup(Struct):
    """Topics that must be partitioned alike, as places in the arrays of their subtopology."""

    source_topics: tuple[int, ...] = array("int16")
    source_topic_regex: tuple[int, ...] = array("int16")
    repartition_source_topics: tuple[int, ...] = array("int16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology(Struct):
    subtopology_id: str = string()
    source_topics: tuple[str, ...] = array("string")
    source_topic_regex: tuple[str, ...] = array("string")
    state_changelog_topics: tuple[TopologyTopic, ...] = struct_array(TopologyTopic)
    repartition_sink_topics: tuple[str, ...] = array("string")
    repartition_source_topics: tuple[TopologyTopic, ...] = struct_array(TopologyTopic)
    copartition_groups: tuple[CopartitionGroup, ...] = struct_array(CopartitionGroup)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTopologyValue(Message):
    api_key: ClassVar[int] = 23
    highest_version: ClassVar[int] = 0
    epoch: int = integer("int32")
    subtopologies: tuple[Subtopology, ...] = struct_array(Subtopology)


STREAMS_GROUP_RECORDS: Final[tuple[tuple[type[RecordKey], type[Message]], ...]] = (
    (StreamsGroupMetadataKey, StreamsGroupMetadataValue),
    (StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
    (StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue),
    (StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue),
    (StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue),
    (StreamsGroupTopologyKey, StreamsGroupTopologyValue),
)
_EVERY_TYPE: Final = {
    key.api_key: (key, value) for key, value in (*RECORD_TYPES, *SHARE_GROUP_RECORDS, *STREAMS_GROUP_RECORDS)
}


def read_group_record(key: bytes, value: bytes | None) -> CoordinatorRecord | UnknownCoordinatorRecord:
    """Read a record of `__consumer_offsets` of any kind of group; RecordError as `read_coordinator_record` says."""
    return read_coordinator_record(key, value, _EVERY_TYPE)
