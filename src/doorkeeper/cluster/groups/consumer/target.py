"""Compute the target assignment of a group epoch (Kafka's TargetAssignmentBuilder)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from doorkeeper.cluster.groups.assignors import ASSIGNORS
from doorkeeper.cluster.groups.assignors.contract import GroupSpec, MemberSpec, SubscriptionType
from doorkeeper.cluster.groups.consumer.records import target_epoch_record, target_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.cluster.groups.consumer.group import ConsumerGroup, ResolvedRegex
    from doorkeeper.cluster.groups.consumer.member import ConsumerMember, PartitionSets
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step
    from doorkeeper.cluster.groups.topics import TopicsView


@dataclass(frozen=True, slots=True)
class Target:
    """A member's part of the target assignment, and the epoch of it."""

    epoch: int
    partitions: PartitionSets


def subscribed_names(member: ConsumerMember, resolved: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """The topics that a member asks for by name and by pattern; a pattern not yet resolved matches nothing."""
    pattern = resolved.get(member.regex) if member.regex is not None else None
    return member.subscribed_topic_names if pattern is None else member.subscribed_topic_names | pattern.topics


def update_target(
    state: CoordinatorState,
    step: Step,
    group: ConsumerGroup,
    group_epoch: int,
    old: ConsumerMember,
    member: ConsumerMember,
    subscriptions: SubscriptionType,
) -> Target:
    """The member's target: a new one if the group has moved on, and the last one is old enough (KIP-1263)."""
    last = Target(group.assignment_epoch, group.target_of(member.member_id, member.instance_id))
    if group.assignment_epoch >= group_epoch or not _may_assign(state, step, group):
        return last
    assignor = group.preferred_assignor(old, member)
    if assignor is None or assignor not in ASSIGNORS:
        assignor = state.settings.consumer_assignors[0]
    specs = _member_specs(group, member, state.topics)
    counts = {
        topic.topic_id: topic.partition_count
        for topic_id in {topic_id for spec in specs.values() for topic_id in spec.subscribed}
        if (topic := state.topics.by_id(topic_id)) is not None
    }
    assignment = ASSIGNORS[assignor](GroupSpec(specs, counts, subscriptions))
    for member_id in specs:
        partitions = assignment.get(member_id, {})
        if group.target.get(member_id) != partitions:
            step.write(target_record(group.group_id, member_id, partitions))
    step.write(target_epoch_record(group.group_id, group_epoch, step.now_ms))
    return Target(group_epoch, assignment.get(member.member_id, {}))


def _may_assign(state: CoordinatorState, step: Step, group: ConsumerGroup) -> bool:
    if group.assignment_timestamp_ms == 0:
        return True
    return step.now_ms >= group.assignment_timestamp_ms + state.configs.assignment_interval_ms(group.group_id)


def _member_specs(group: ConsumerGroup, updated: ConsumerMember, topics: TopicsView) -> dict[str, MemberSpec]:
    """All members, with the one that asks as it now is, and under its new id if it is a static member that is back."""
    members = dict(group.members)
    targets = dict(group.target)
    replaced = group.static_members.get(updated.instance_id) if updated.instance_id is not None else None
    if replaced is not None and replaced != updated.member_id:
        members.pop(replaced, None)
        targets[updated.member_id] = targets.pop(replaced, {})
    members[updated.member_id] = updated
    return {
        member_id: MemberSpec(
            subscribed=frozenset(topics.ids_of(subscribed_names(member, group.resolved))),
            current=targets.get(member_id, {}),
            instance_id=member.instance_id,
            rack_id=member.rack_id,
        )
        for member_id, member in sorted(members.items())
    }
