"""Requests and responses of the coordinator, one class for all versions of each.

The names are Kafka's; times are whole milliseconds with `_ms` in their names; an absent topic id is None. What a
version does not carry has Kafka's default here. `translation` turns kio's classes of any version into these and back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID  # at run time too: `translation` reads the annotations

from kio.schema.errors import ErrorCode

NONE: Final = ErrorCode.none
UNKNOWN_MEMBER: Final = ""
UNKNOWN_GENERATION: Final = -1
NO_OFFSET: Final = -1
NO_EPOCH: Final = -1
AUTHORIZED_OPERATIONS_OMITTED: Final = -(2**31)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who asks, and in which version of the API."""

    api_version: int
    client_id: str = ""
    client_host: str = ""
    """As Kafka shows an address: `/127.0.0.1`."""
    may_describe: Callable[[str], bool] | None = None
    """Whether the client may see a topic of this name; None if nobody is kept from anything."""


# --- classic membership ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol that a classic member supports, with its opaque metadata."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest:
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1
    member_id: str = UNKNOWN_MEMBER
    group_instance_id: str | None = None
    protocol_type: str
    protocols: tuple[Protocol, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponseMember:
    member_id: str
    group_instance_id: str | None = None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    error_code: ErrorCode = NONE
    generation_id: int = UNKNOWN_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = UNKNOWN_MEMBER
    members: tuple[JoinGroupResponseMember, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncGroupAssignment:
    member_id: str
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[SyncGroupAssignment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    error_code: ErrorCode = NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    error_code: ErrorCode = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberIdentity:
    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest:
    group_id: str
    members: tuple[MemberIdentity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberResponse:
    member_id: str
    group_instance_id: str | None = None
    error_code: ErrorCode = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    error_code: ErrorCode = NONE
    members: tuple[MemberResponse, ...] = ()


# --- the consumer protocol ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """Partitions of a topic by its id."""

    topic_id: UUID
    partitions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatRequest:
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None
    """What the member owns; None if nothing has changed since it last said."""


@dataclass(frozen=True, slots=True)
class Assignment:
    topic_partitions: tuple[TopicPartitions, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatResponse:
    error_code: ErrorCode = NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


# --- offsets -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitPartition:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = NO_EPOCH
    committed_metadata: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitTopic:
    name: str = ""
    topic_id: UUID | None = None
    partitions: tuple[OffsetCommitPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    group_id: str
    generation_id_or_member_epoch: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: tuple[OffsetCommitTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResult:
    partition_index: int
    error_code: ErrorCode = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    name: str = ""
    topic_id: UUID | None = None
    partitions: tuple[PartitionResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    """Answers OffsetCommit and TxnOffsetCommit alike."""

    topics: tuple[TopicResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequest:
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER
    group_instance_id: str | None = None
    topics: tuple[OffsetCommitTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchTopic:
    name: str = ""
    topic_id: UUID | None = None
    partition_indexes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchGroup:
    group_id: str
    member_id: str | None = None
    member_epoch: int = NO_EPOCH
    topics: tuple[OffsetFetchTopic, ...] | None = None
    """None asks for all topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchPartitionResult:
    partition_index: int
    committed_offset: int = NO_OFFSET
    committed_leader_epoch: int = NO_EPOCH
    metadata: str | None = ""
    error_code: ErrorCode = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchTopicResult:
    name: str = ""
    topic_id: UUID | None = None
    partitions: tuple[OffsetFetchPartitionResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchGroupResult:
    group_id: str
    topics: tuple[OffsetFetchTopicResult, ...] = ()
    error_code: ErrorCode = NONE


@dataclass(frozen=True, slots=True)
class OffsetDeletePartition:
    partition_index: int


@dataclass(frozen=True, slots=True)
class OffsetDeleteTopic:
    name: str
    partitions: tuple[OffsetDeletePartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest:
    group_id: str
    topics: tuple[OffsetDeleteTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    error_code: ErrorCode = NONE
    topics: tuple[TopicResult, ...] = ()


# --- looking at groups, and deleting them ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroupMember:
    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    member_metadata: bytes = b""
    member_assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """An entry of DescribeGroups."""

    error_code: ErrorCode = NONE
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedGroupMember, ...] = ()
    authorized_operations: int = AUTHORIZED_OPERATIONS_OMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTopicPartitions:
    topic_id: UUID
    topic_name: str
    partitions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedAssignment:
    topic_partitions: tuple[DescribedTopicPartitions, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumer:
    """A member in ConsumerGroupDescribe."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    assignment: DescribedAssignment = DescribedAssignment()
    target_assignment: DescribedAssignment = DescribedAssignment()
    member_type: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumerGroup:
    """An entry of ConsumerGroupDescribe."""

    error_code: ErrorCode = NONE
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[DescribedConsumer, ...] = ()
    authorized_operations: int = AUTHORIZED_OPERATIONS_OMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str


@dataclass(frozen=True, slots=True)
class DeletedGroup:
    """An entry of DeleteGroups."""

    group_id: str
    error_code: ErrorCode = NONE
