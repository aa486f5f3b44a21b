"""Move one member towards its target assignment (Kafka's CurrentAssignmentBuilder).

A member first gives up what it must not keep, then moves to the epoch of the target and gets what is free; what others
still hold it gets when they have let go. So no partition is ever in two hands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.consumer.group import NO_OWNER
from doorkeeper.cluster.groups.consumer.member import ConsumerMember, EpochsByPartition, MemberState, PartitionSets
from doorkeeper.cluster.groups.step import GroupRefusedError

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.cluster.groups.messages import TopicPartitions


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What a member's next assignment depends on."""

    target_epoch: int
    target: PartitionSets
    subscribed_topic_ids: Set[UUID]
    partition_epoch: Callable[[UUID, int], int]
    owned: Sequence[TopicPartitions] | None
    """What the member says it holds; None if it does not say."""
    subscription_changed: bool = False


def reconcile(member: ConsumerMember, context: Reconciliation) -> ConsumerMember:
    """The member after this heartbeat; the same object if nothing changes for it."""
    match member.state:
        case MemberState.STABLE:
            if member.member_epoch != context.target_epoch:
                return _next_assignment(member, context, member.member_epoch)
            return _without_unsubscribed(member, context) if context.subscription_changed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if _holds(context.owned, member.pending_revocation):
                return _without_unsubscribed(member, context) if context.subscription_changed else member
            return _next_assignment(member, context, member.member_epoch)
        case MemberState.UNRELEASED_PARTITIONS:
            return _next_assignment(member, context, member.member_epoch)
        case MemberState.UNKNOWN:
            # A later release wrote this state. What the member holds is unknown, so it has to start over.
            if context.owned is None or context.owned:
                raise GroupRefusedError(
                    ErrorCode.fenced_member_epoch,
                    "The consumer group member is in a unknown state. "
                    "The member must abandon all its partitions and rejoin.",
                )
            return _next_assignment(member, context, context.target_epoch)


def _holds(owned: Sequence[TopicPartitions] | None, partitions: Mapping[UUID, Mapping[int, int]]) -> bool:
    """Whether the member still has any of the partitions; silence means yes."""
    if owned is None:
        return True
    return any(partition in partitions.get(entry.topic_id, {}) for entry in owned for partition in entry.partitions)


def _without_unsubscribed(member: ConsumerMember, context: Reconciliation) -> ConsumerMember:
    """Take away at once what the member has unsubscribed from, before any new target is computed."""
    gone = {topic_id: epochs for topic_id, epochs in member.assigned.items() if not _wanted(context, topic_id)}
    if not gone:
        return member
    assigned = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in gone}
    pending = {topic_id: dict(epochs) for topic_id, epochs in member.pending_revocation.items()}
    for topic_id, epochs in gone.items():
        pending.setdefault(topic_id, {}).update(epochs)
    if _holds(context.owned, pending):
        return member.moved_to(MemberState.UNREVOKED_PARTITIONS, member.member_epoch, assigned, pending)
    return replace(member, previous_member_epoch=member.member_epoch, assigned=assigned)


def _wanted(context: Reconciliation, topic_id: UUID) -> bool:
    return topic_id in context.subscribed_topic_ids


@dataclass(slots=True)
class _Split:
    """How a member's present partitions and its target divide."""

    kept: dict[UUID, dict[int, int]] = field(default_factory=dict)
    to_revoke: dict[UUID, dict[int, int]] = field(default_factory=dict)
    to_assign: dict[UUID, list[int]] = field(default_factory=dict)
    waits: bool = False


def _split(member: ConsumerMember, context: Reconciliation) -> _Split:
    split = _Split()
    for topic_id in sorted({*context.target, *member.assigned}):
        target = context.target.get(topic_id, frozenset()) if _wanted(context, topic_id) else frozenset()
        present = member.assigned.get(topic_id, {})
        released = member.pending_revocation.get(topic_id, {})
        _put(split.kept, topic_id, {p: epoch for p, epoch in present.items() if p in target})
        _put(split.to_revoke, topic_id, {p: epoch for p, epoch in present.items() if p not in target})
        missing = sorted(target - present.keys())
        free = [p for p in missing if context.partition_epoch(topic_id, p) == NO_OWNER or p in released]
        split.waits = split.waits or len(free) < len(missing)
        if free:
            split.to_assign[topic_id] = free
    return split


def _put(partitions: dict[UUID, dict[int, int]], topic_id: UUID, epochs: dict[int, int]) -> None:
    if epochs:
        partitions[topic_id] = epochs


def _next_assignment(member: ConsumerMember, context: Reconciliation, epoch: int) -> ConsumerMember:
    split = _split(member, context)
    if split.to_revoke and _holds(context.owned, split.to_revoke):
        return member.moved_to(MemberState.UNREVOKED_PARTITIONS, epoch, split.kept, split.to_revoke)
    assigned: dict[UUID, dict[int, int]] = {topic_id: dict(epochs) for topic_id, epochs in split.kept.items()}
    for topic_id, partitions in split.to_assign.items():
        assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, context.target_epoch))
    state = MemberState.UNRELEASED_PARTITIONS if split.waits else MemberState.STABLE
    nothing: EpochsByPartition = {}
    return member.moved_to(state, context.target_epoch, assigned, nothing)
