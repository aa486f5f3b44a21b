"""Find the member that a request speaks for, or make it, and fence those that have been overtaken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.member import LEAVE_STATIC_EPOCH, ConsumerMember
from doorkeeper.cluster.groups.consumer.records import (
    current_record,
    member_tombstones,
    subscription_record,
    target_record,
)
from doorkeeper.cluster.groups.step import GroupRefusedError

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.messages import TopicPartitions
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request says about its sender."""

    member_id: str
    instance_id: str | None
    create: bool
    """Whether the member may be new."""
    classic: bool = False
    epoch: int = -1
    owned: Sequence[TopicPartitions] | None = ()


def require_room(state: CoordinatorState, group: ConsumerGroup, member_id: str) -> None:
    limit = state.settings.consumer_max_size
    if len(group.members) >= limit and (not member_id or member_id not in group.members):
        message = f"The consumer group has reached its maximum capacity of {limit} members."
        raise GroupRefusedError(ErrorCode.group_max_size_reached, message)


def claimed_member(step: Step, group: ConsumerGroup, claim: Claim) -> ConsumerMember:
    """The member as the group knows it; a static member that is back takes the place of its former self."""
    if claim.instance_id is not None:
        return _static_member(step, group, claim.instance_id, claim)
    if claim.create:
        member = group.members.get(claim.member_id) or ConsumerMember(member_id=claim.member_id)
    else:
        member = group.require_member(claim.member_id)
    if not claim.classic:
        require_epoch(member, claim.epoch, claim.owned)
    return member


def _static_member(step: Step, group: ConsumerGroup, instance_id: str, claim: Claim) -> ConsumerMember:
    existing = group.static_member(instance_id)
    if not claim.create:
        member = require_static(group, instance_id, claim.member_id)
        if not claim.classic:
            require_epoch(member, claim.epoch, claim.owned)
        return member
    if existing is None:
        return group.members.get(claim.member_id) or ConsumerMember(member_id=claim.member_id)
    if not claim.classic and not existing.uses_classic_protocol and existing.member_epoch != LEAVE_STATIC_EPOCH:
        raise GroupRefusedError(
            ErrorCode.unreleased_instance_id,
            f"Static member {claim.member_id} with instance id {instance_id} cannot join the group "
            f"because the instance id is owned by {existing.member_id} member.",
        )
    member = replace(existing, member_id=claim.member_id, member_epoch=0, previous_member_epoch=0)
    step.write(
        *member_tombstones(group.group_id, existing.member_id),
        subscription_record(group.group_id, member),
        target_record(group.group_id, member.member_id, group.target_of(existing.member_id)),
        current_record(group.group_id, member),
    )
    return member


def require_static(group: ConsumerGroup, instance_id: str, member_id: str) -> ConsumerMember:
    """The member behind an instance id, if it is the one that asks."""
    member = group.static_member(instance_id)
    if member is None:
        raise GroupRefusedError(ErrorCode.unknown_member_id, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise GroupRefusedError(
            ErrorCode.fenced_instance_id,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
        )
    return member


def require_epoch(member: ConsumerMember, epoch: int, owned: Sequence[TopicPartitions] | None) -> None:
    """Fence a member whose epoch is not ours; an answer that got lost, and took nothing away, is forgiven."""
    if epoch in (0, member.member_epoch):
        return
    if epoch < member.member_epoch and epoch == member.previous_member_epoch and _within(owned, member):
        return
    order = "greater" if epoch > member.member_epoch else "smaller"
    raise GroupRefusedError(
        ErrorCode.fenced_member_epoch,
        f"The consumer group member has a {order} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def _within(owned: Sequence[TopicPartitions] | None, member: ConsumerMember) -> bool:
    if owned is None:
        return False
    return all(
        partition in member.assigned.get(entry.topic_id, {}) for entry in owned for partition in entry.partitions
    )
