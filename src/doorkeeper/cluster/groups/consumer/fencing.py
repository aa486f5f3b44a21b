"""Members that go: by their own will, by an administrator's, or because their time is up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from doorkeeper.cluster.groups.classic.rebalance import prepare_rebalance, schedule_heartbeat
from doorkeeper.cluster.groups.classic.records import group_metadata_record
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.member import LEAVE_STATIC_EPOCH, ConsumerMember
from doorkeeper.cluster.groups.consumer.records import (
    current_record,
    epoch_record,
    group_tombstones,
    member_tombstones,
    regex_tombstone,
)
from doorkeeper.cluster.groups.consumer.sessions import cancel_member_timers
from doorkeeper.cluster.groups.consumer.subscribers import require_static
from doorkeeper.cluster.groups.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from doorkeeper.cluster.groups.migration import downgraded_group, may_downgrade

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step


def leave(
    state: CoordinatorState, step: Step, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """A heartbeat with epoch -1 or -2."""
    group = state.require_consumer_group(request.group_id)
    if request.instance_id is None:
        member = group.require_member(request.member_id)
    else:
        member = require_static(group, request.instance_id, request.member_id)
        if request.member_epoch == LEAVE_STATIC_EPOCH:
            _leave_for_a_while(step, group, member)
            return ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=LEAVE_STATIC_EPOCH)
    fence(state, step, group, [member])
    return ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)


def _leave_for_a_while(step: Step, group: ConsumerGroup, member: ConsumerMember) -> None:
    """Keep the partitions of a static member for it until its session ends; nothing it had to let go is with it now."""
    away = replace(
        member,
        member_epoch=LEAVE_STATIC_EPOCH,
        pending_revocation={},
        assigned={topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.assigned.items()},
    )
    step.write(current_record(group.group_id, away))


def fence(state: CoordinatorState, step: Step, group: ConsumerGroup, members: Sequence[ConsumerMember]) -> None:
    """Remove members and raise the group epoch; if only classic members are left, the group becomes a classic one."""
    if not members:
        return
    if may_downgrade(group, members, state.settings):
        downgrade(state, step, group, members, None, rebalance=True)
        return
    for member in members:
        step.write(*member_tombstones(group.group_id, member.member_id))
    leaving_regexes = Counter(member.regex for member in members if member.regex is not None)
    unused = [regex for regex, count in leaving_regexes.items() if group.regex_counts[regex] == count]
    step.write(*(regex_tombstone(group.group_id, regex) for regex in unused))
    topics = {*group.name_counts_after(members), *group.regex_topic_counts(without=unused)}
    step.write(epoch_record(group.group_id, group.group_epoch + 1, state.topics.metadata_hash(topics)))
    for member in members:
        cancel_member_timers(state, group.group_id, member.member_id)


def downgrade(
    state: CoordinatorState,
    step: Step,
    group: ConsumerGroup,
    leaving: Sequence[ConsumerMember],
    joining: ConsumerMember | None,
    *,
    rebalance: bool,
) -> None:
    """Put a classic group in the place of a consumer group that has only classic members left."""
    classic = downgraded_group(group, leaving, joining, state.topics, step.now_ms)
    renamed = {}
    if joining is not None and joining.instance_id is not None:
        renamed[group.static_members[joining.instance_id]] = joining.member_id
    # The classic group is in place in memory at once, so its records are not replayed, nor are those before them.
    step.to_replay.clear()
    step.note(group_tombstones(group, renamed))
    step.note([group_metadata_record(classic)])
    state.groups[group.group_id] = classic
    for member_id in group.members:
        cancel_member_timers(state, group.group_id, member_id)
    for member in classic.members.values():
        schedule_heartbeat(state, step, classic, member)
    if rebalance:
        prepare_rebalance(state, step, classic)


def fence_by_timer(
    state: CoordinatorState, step: Step, group_id: str, member_id: str, epoch: int | None = None
) -> None:
    """Remove a member whose deadline has passed; with an epoch, only if it has not moved on since."""
    group = state.groups.get(group_id)
    member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
    if not isinstance(member, ConsumerMember) or not isinstance(group, ConsumerGroup):
        return
    if epoch is None or member.member_epoch == epoch:
        fence(state, step, group, [member])
