"""Bring records of consumer groups back into memory; the only writer of what a consumer group keeps.

A log that was compacted, or cut at any record, still gives a group that can be served: a tombstone for what is not
there is passed over, and a member without its assignment is one that has to reconcile.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from doorkeeper.cluster.groups.consumer.group import ConsumerGroup, ResolvedRegex
from doorkeeper.cluster.groups.consumer.member import LEAVE_EPOCH, ConsumerMember, MemberState
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
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from doorkeeper.cluster.groups.state import Group
    from doorkeeper.wire.coordinator_records import CoordinatorRecord, CurrentTopicPartitions, RecordKey
    from doorkeeper.wire.metadata.schema import Message

TOMBSTONED_EPOCH = -1


def replay_consumer_record(groups: dict[str, Group], record: CoordinatorRecord) -> None:
    """Apply one record of a consumer group to the groups."""
    key, value = record.key, record.value
    group_id: str = getattr(key, "group_id", "")
    group = groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        if value is None:
            return
        group = ConsumerGroup(group_id)
        groups[group_id] = group
    if value is None:
        _replay_tombstone(groups, group, key)
    else:
        _replay_value(group, key, value)


def _replay_value(group: ConsumerGroup, key: RecordKey, value: Message) -> None:
    match key, value:
        case ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue():
            group.group_epoch = value.epoch
            group.metadata_hash = value.metadata_hash
        case ConsumerGroupPartitionMetadataKey(), _:
            group.has_partition_metadata_record = True
        case ConsumerGroupMemberMetadataKey(), ConsumerGroupMemberMetadataValue():
            group.put_member(_subscribed(_member(group, key.member_id), value))
        case ConsumerGroupTargetAssignmentMetadataKey(), ConsumerGroupTargetAssignmentMetadataValue():
            group.assignment_epoch = value.assignment_epoch
            group.assignment_timestamp_ms = value.assignment_timestamp
        case ConsumerGroupTargetAssignmentMemberKey(), ConsumerGroupTargetAssignmentMemberValue():
            group.target[key.member_id] = {
                entry.topic_id: frozenset(entry.partitions) for entry in value.topic_partitions
            }
        case ConsumerGroupCurrentMemberAssignmentKey(), ConsumerGroupCurrentMemberAssignmentValue():
            group.put_member(_assigned(_member(group, key.member_id), value))
        case ConsumerGroupRegularExpressionKey(), ConsumerGroupRegularExpressionValue():
            resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
            group.resolved[key.regular_expression] = resolved


def _replay_tombstone(groups: dict[str, Group], group: ConsumerGroup, key: RecordKey) -> None:
    match key:
        case ConsumerGroupMetadataKey():
            del groups[group.group_id]
        case ConsumerGroupPartitionMetadataKey():
            group.has_partition_metadata_record = False
        case ConsumerGroupMemberMetadataKey():
            group.remove_member(key.member_id)
        case ConsumerGroupTargetAssignmentMetadataKey():
            group.assignment_epoch = TOMBSTONED_EPOCH
            group.assignment_timestamp_ms = 0
        case ConsumerGroupTargetAssignmentMemberKey():
            group.target.pop(key.member_id, None)
        case ConsumerGroupCurrentMemberAssignmentKey():
            member = group.members.get(key.member_id)
            if member is not None:
                group.put_member(
                    replace(
                        member,
                        member_epoch=LEAVE_EPOCH,
                        previous_member_epoch=LEAVE_EPOCH,
                        assigned={},
                        pending_revocation={},
                    )
                )
        case ConsumerGroupRegularExpressionKey():
            group.resolved.pop(key.regular_expression, None)


def _member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    return group.members.get(member_id) or ConsumerMember(member_id=member_id)


def _subscribed(member: ConsumerMember, value: ConsumerGroupMemberMetadataValue) -> ConsumerMember:
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=frozenset(value.subscribed_topic_names),
        subscribed_topic_regex=value.subscribed_topic_regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=value.classic_member_metadata,
    )


def _assigned(member: ConsumerMember, value: ConsumerGroupCurrentMemberAssignmentValue) -> ConsumerMember:
    return replace(
        member,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=MemberState.of(value.state),
        assigned=_epochs(value.assigned_partitions, value.member_epoch),
        pending_revocation=_epochs(value.partitions_pending_revocation, value.member_epoch),
    )


def _epochs(topics: Iterable[CurrentTopicPartitions], member_epoch: int) -> dict[UUID, dict[int, int]]:
    """Partitions with their epochs; records before Kafka 4.3 have none, then it is the member's."""
    default = max(member_epoch, 0)
    read: dict[UUID, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs or ()
        if len(epochs) != len(topic.partitions):
            epochs = (default,) * len(topic.partitions)
        read[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return read
