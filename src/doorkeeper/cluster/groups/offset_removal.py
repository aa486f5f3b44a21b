"""OffsetDelete, and the end of offsets that nobody uses (OffsetMetadataManager of Kafka 4.3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicState
from doorkeeper.cluster.groups.classic.rebalance import cancel_group_timers
from doorkeeper.cluster.groups.classic.records import group_metadata_tombstone
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.records import group_tombstones
from doorkeeper.cluster.groups.messages import (
    NONE,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteTopic,
    PartitionResult,
    TopicResult,
)
from doorkeeper.cluster.groups.step import GroupRefusedError
from doorkeeper.wire.coordinator_records import CoordinatorRecord, OffsetCommitKey
from doorkeeper.wire.metadata.schema import ZERO_UUID

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.cluster.groups.offset_store import CommittedOffset
    from doorkeeper.cluster.groups.state import CoordinatorState, Group
    from doorkeeper.cluster.groups.step import Step


# --- deleting ----------------------------------------------------------------------------------------------------


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition))


def delete_offsets(state: CoordinatorState, step: Step, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """Forget offsets of topics that no member reads."""
    group = state.require_group(request.group_id)
    if isinstance(group, ClassicGroup) and not group.is_empty and not group.uses_consumer_protocol:
        raise GroupRefusedError(ErrorCode.non_empty_group)
    topics = tuple(_delete_topic(state, step, group, topic) for topic in request.topics)
    return OffsetDeleteResponse(topics=topics)


def _delete_topic(state: CoordinatorState, step: Step, group: Group, topic: OffsetDeleteTopic) -> TopicResult:
    view = state.topics.by_name(topic.name)
    stored = state.offsets.partitions_of(group.group_id)
    subscribed = group.is_subscribed_to(topic.name)
    results = []
    for entry in topic.partitions:
        partition = entry.partition_index
        code = NONE
        if view is None or not 0 <= partition < view.partition_count:
            code = ErrorCode.unknown_topic_or_partition
        elif subscribed:
            code = ErrorCode.group_subscribed_to_topic
        elif (topic.name, partition) in stored:
            step.write(offset_tombstone(group.group_id, topic.name, partition))
        results.append(PartitionResult(partition_index=partition, error_code=code))
    return TopicResult(name=topic.name, partitions=tuple(results))


def forget_topic(state: CoordinatorState, step: Step, name: str, topic_id: UUID) -> None:
    """Drop all groups' offsets of a topic that was deleted, but none of a new topic with its name."""
    for offsets in (state.offsets.committed, *state.offsets.pending.values()):
        for group_id, topic, partition, committed in offsets:
            if topic == name and committed.topic_id in (ZERO_UUID, topic_id):
                step.write(offset_tombstone(group_id, topic, partition))


# --- expiring ----------------------------------------------------------------------------------------------------


def expire_offsets(state: CoordinatorState, step: Step) -> None:
    """Drop offsets that nobody has used for the retention time, and empty groups that have none left."""
    for group in list(state.groups.values()):
        if _expire_group_offsets(state, step, group) and group.is_empty:
            end_group(state, step, group)


def end_group(state: CoordinatorState, step: Step, group: Group) -> None:
    """Write the end of an empty group."""
    if isinstance(group, ConsumerGroup):
        step.write(*group_tombstones(group))
    else:
        cancel_group_timers(state, group)
        step.write(group_metadata_tombstone(group.group_id))


def _expire_group_offsets(state: CoordinatorState, step: Step, group: Group) -> bool:
    """Say whether nothing is left (OffsetMetadataManager.cleanupExpiredOffsets)."""
    group_id = group.group_id
    topics = state.offsets.committed.by_group.get(group_id)
    nothing_pending = not state.offsets.has_pending(group_id)
    if topics is None:
        return nothing_pending
    base = _expiry_base(group)
    if base is None:
        return False
    left = False
    for topic, partitions in topics.items():
        for partition, committed in partitions.items():
            expired = _is_expired(committed, base(committed), step.now_ms, state.settings.offsets_retention_ms)
            in_use = group.is_subscribed_to(topic) or state.offsets.is_pending(group_id, topic, partition)
            if expired and not in_use:
                step.write(offset_tombstone(group_id, topic, partition))
            else:
                left = True
    return not left and nothing_pending


def _expiry_base(group: Group) -> Callable[[CommittedOffset], int] | None:
    """From when on the retention counts; None if the group's offsets do not expire now."""
    if isinstance(group, ConsumerGroup) or group.protocol_type is None:
        return lambda committed: committed.commit_timestamp_ms
    if group.is_empty:
        since = group.state_since_ms
        return lambda committed: committed.commit_timestamp_ms if since is None else since
    stable = group.is_in(ClassicState.STABLE) and group.uses_consumer_protocol and group.subscribed_topics is not None
    return (lambda committed: committed.commit_timestamp_ms) if stable else None


def _is_expired(committed: CommittedOffset, base_ms: int, now_ms: int, retention_ms: int) -> bool:
    if committed.expire_timestamp_ms is not None:
        return now_ms >= committed.expire_timestamp_ms
    return now_ms - base_ms >= retention_ms
