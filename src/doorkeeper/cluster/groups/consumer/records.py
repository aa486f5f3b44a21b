"""The records of a consumer group (Kafka's GroupCoordinatorRecordHelpers)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from doorkeeper.cluster.groups.consumer.group import ConsumerGroup, ResolvedRegex
from doorkeeper.cluster.groups.consumer.member import ConsumerMember, EpochsByPartition, PartitionSets
from doorkeeper.wire.coordinator_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    CoordinatorRecord,
    CurrentTopicPartitions,
    TargetTopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def subscription_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
        subscribed_topic_regex=member.subscribed_topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=member.classic,
    )
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), value)


def target_record(group_id: str, member_id: str, partitions: PartitionSets) -> CoordinatorRecord:
    topics = tuple(
        TargetTopicPartitions(topic_id=topic_id, partitions=tuple(sorted(chosen)))
        for topic_id, chosen in sorted(partitions.items())
    )
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(key, ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics))


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def current_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state.value,
        assigned_partitions=_with_epochs(member.assigned),
        partitions_pending_revocation=_with_epochs(member.pending_revocation),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value)


def _with_epochs(partitions: EpochsByPartition) -> tuple[CurrentTopicPartitions, ...]:
    return tuple(
        CurrentTopicPartitions(
            topic_id=topic_id,
            partitions=tuple(sorted(epochs)),
            assignment_epochs=tuple(epochs[partition] for partition in sorted(epochs)),
        )
        for topic_id, epochs in sorted(partitions.items())
    )


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    value = ConsumerGroupRegularExpressionValue(
        topics=tuple(sorted(resolved.topics)), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), value)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex))


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id))


def member_tombstones(group_id: str, member_id: str) -> tuple[CoordinatorRecord, ...]:
    """All that ends a member, in the order in which Kafka insists on it."""
    return (
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    )


def group_tombstones(group: ConsumerGroup, renamed: Mapping[str, str] | None = None) -> Iterator[CoordinatorRecord]:
    """All that ends a group; `renamed` are members whose records already stand under another id."""
    group_id = group.group_id
    member_ids = [(renamed or {}).get(member_id, member_id) for member_id in group.members]
    ends = [member_tombstones(group_id, member_id) for member_id in member_ids]
    yield from (current for current, _, _ in ends)
    yield from (target for _, target, _ in ends)
    yield CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id))
    yield from (subscription for _, _, subscription in ends)
    yield from (regex_tombstone(group_id, regex) for regex in group.resolved)
    yield partition_metadata_tombstone(group_id)
    yield CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id))


def group_records(group: ConsumerGroup) -> Iterable[CoordinatorRecord]:
    """A whole group, as it comes out of a classic one (ConsumerGroup.createConsumerGroupRecords)."""
    group_id = group.group_id
    yield from (subscription_record(group_id, member) for member in group.members.values())
    yield epoch_record(group_id, group.group_epoch, group.metadata_hash)
    yield from (target_record(group_id, member_id, group.target_of(member_id)) for member_id in group.members)
    yield target_epoch_record(group_id, group.assignment_epoch, group.assignment_timestamp_ms)
    yield from (current_record(group_id, member) for member in group.members.values())
