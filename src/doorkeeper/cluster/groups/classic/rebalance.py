"""How a classic group moves from one generation to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicMember, ClassicState
from doorkeeper.cluster.groups.classic.records import group_metadata_record
from doorkeeper.cluster.groups.messages import JoinGroupResponse, SyncGroupResponse
from doorkeeper.cluster.groups.timers import TimerKey, TimerKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step


def heartbeat_key(group: ClassicGroup, member_id: str) -> TimerKey:
    return TimerKey(TimerKind.CLASSIC_HEARTBEAT, group.group_id, member_id)


def cancel_group_timers(state: CoordinatorState, group: ClassicGroup) -> None:
    """Forget every deadline of a group that ends, or that another kind of group follows."""
    _cancel_join_timers(state, group)
    state.timers.cancel(TimerKey(TimerKind.CLASSIC_SYNC, group.group_id))
    for member_id in (*group.members, *group.pending_join):
        state.timers.cancel(heartbeat_key(group, member_id))


def _cancel_join_timers(state: CoordinatorState, group: ClassicGroup) -> None:
    state.timers.cancel(TimerKey(TimerKind.CLASSIC_JOIN, group.group_id))
    state.timers.cancel(TimerKey(TimerKind.CLASSIC_INITIAL_JOIN, group.group_id))


def schedule_heartbeat(
    state: CoordinatorState, step: Step, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None
) -> None:
    """Give a member its session's time again, or another time."""
    timeout = member.session_timeout_ms if timeout_ms is None else timeout_ms
    state.timers.schedule(heartbeat_key(group, member.member_id), step.now_ms + timeout)


# --- the join phase ----------------------------------------------------------------------------------------------


def rebalance_or_complete_join(state: CoordinatorState, step: Step, group: ClassicGroup) -> None:
    """Start a rebalance; where one runs already, see whether its join phase is over."""
    if group.can_rebalance:
        prepare_rebalance(state, step, group)
    else:
        complete_join_if_all_joined(state, step, group)


def prepare_rebalance(state: CoordinatorState, step: Step, group: ClassicGroup) -> None:
    """Ask all members to join; a group that was empty waits a while for others to come along."""
    if group.is_in(ClassicState.COMPLETING_REBALANCE):
        _reset_assignments(state, step, group)
    group.pending_sync.clear()
    state.timers.cancel(TimerKey(TimerKind.CLASSIC_SYNC, group.group_id))
    was_empty = group.is_empty
    group.transition_to(ClassicState.PREPARING_REBALANCE, step.now_ms)
    if was_empty:
        delay = state.settings.classic_initial_rebalance_delay_ms
        remaining = max(group.rebalance_timeout_ms - delay, 0)
        _schedule_initial_join(state, step, group, delay, remaining)
    elif group.all_members_joined:
        complete_join(state, step, group)
    else:
        _schedule_join(state, step, group)


def _schedule_join(state: CoordinatorState, step: Step, group: ClassicGroup) -> None:
    key = TimerKey(TimerKind.CLASSIC_JOIN, group.group_id)
    state.timers.schedule(key, step.now_ms + group.rebalance_timeout_ms)


def _schedule_initial_join(
    state: CoordinatorState, step: Step, group: ClassicGroup, delay_ms: int, remaining_ms: int
) -> None:
    key = TimerKey(TimerKind.CLASSIC_INITIAL_JOIN, group.group_id)
    state.timers.schedule(key, step.now_ms + delay_ms, (delay_ms, remaining_ms))


def expire_initial_join(
    state: CoordinatorState, step: Step, group: ClassicGroup, delay_ms: int, remaining_ms: int
) -> None:
    """End the first join phase, or wait once more if members keep coming and the rebalance time-out allows it."""
    if not group.new_member_added or remaining_ms == 0:
        complete_join(state, step, group)
        return
    group.new_member_added = False
    next_delay = min(state.settings.classic_initial_rebalance_delay_ms, remaining_ms)
    _schedule_initial_join(state, step, group, next_delay, max(remaining_ms - delay_ms, 0))


def complete_join_if_all_joined(state: CoordinatorState, step: Step, group: ClassicGroup) -> None:
    """End the join phase early, but never the first one of a group that was empty."""
    initial = group.previous_state is ClassicState.EMPTY
    if group.is_in(ClassicState.PREPARING_REBALANCE) and not initial and group.all_members_joined:
        complete_join(state, step, group)


def complete_join(state: CoordinatorState, step: Step, group: ClassicGroup) -> None:
    """End the join phase: drop dynamic members that did not come, elect a leader, start the next generation."""
    _cancel_join_timers(state, group)
    missing = [m for m in group.members.values() if m.join_token is None and m.group_instance_id is None]
    for member in missing:
        group.remove(member.member_id)
        state.timers.cancel(heartbeat_key(group, member.member_id))
    if not group.elect_joined_leader() and group.members:
        # Only static members are left, and none came: give them the time once more.
        _schedule_join(state, step, group)
        return
    group.start_next_generation(step.now_ms)
    if group.is_empty:
        step.note([group_metadata_record(group)])
        return
    for member in group.members.values():
        leads = group.leader_id == member.member_id
        group.answer_join(step, member, group.joined_response(member.member_id, with_members=leads))
        schedule_heartbeat(state, step, group, member)
        member.is_new = False
        group.pending_sync.add(member.member_id)
    key = TimerKey(TimerKind.CLASSIC_SYNC, group.group_id)
    state.timers.schedule(key, step.now_ms + group.rebalance_timeout_ms, (group.generation_id,))


# --- the sync phase ----------------------------------------------------------------------------------------------


def _reset_assignments(state: CoordinatorState, step: Step, group: ClassicGroup) -> None:
    for member in group.members.values():
        member.assignment = b""
        if group.answer_sync(step, member, SyncGroupResponse(error_code=ErrorCode.rebalance_in_progress)):
            schedule_heartbeat(state, step, group, member)


def complete_sync(state: CoordinatorState, step: Step, group: ClassicGroup, assignments: Mapping[str, bytes]) -> None:
    """Hand the leader's assignments to all who wait, and keep them; who got none gets an empty one."""
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
    step.note([group_metadata_record(group)])
    for member in group.members.values():
        response = SyncGroupResponse(
            protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
        )
        if group.answer_sync(step, member, response):
            schedule_heartbeat(state, step, group, member)
    group.transition_to(ClassicState.STABLE, step.now_ms)


def expire_sync(state: CoordinatorState, step: Step, group: ClassicGroup, generation_id: int) -> None:
    """Drop members that joined this generation and never synced."""
    awaited = group.is_in(ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE) and group.pending_sync
    if generation_id != group.generation_id or not awaited:
        return
    for member_id in sorted(group.pending_sync):
        group.remove(member_id)
        state.timers.cancel(heartbeat_key(group, member_id))
    prepare_rebalance(state, step, group)


def received_sync(state: CoordinatorState, group: ClassicGroup, member_id: str) -> None:
    group.pending_sync.discard(member_id)
    if not group.pending_sync:
        state.timers.cancel(TimerKey(TimerKind.CLASSIC_SYNC, group.group_id))


# --- members that go ---------------------------------------------------------------------------------------------


def expire_heartbeat(state: CoordinatorState, step: Step, group: ClassicGroup, member_id: str) -> None:
    """End a session: of an id that was handed out, or of a member that does not wait for an answer."""
    member = group.members.get(member_id)
    if member_id in group.pending_join:
        group.remove(member_id)
        if group.is_in(ClassicState.PREPARING_REBALANCE) and group.all_members_joined:
            complete_join(state, step, group)
    elif member is not None and not member.waits:
        remove_member(step, group, member)
        after_removal(state, step, group)


def remove_member(step: Step, group: ClassicGroup, member: ClassicMember) -> None:
    """Take a member out; what it was waiting for ends with UNKNOWN_MEMBER_ID."""
    group.answer_join(step, member, JoinGroupResponse(error_code=ErrorCode.unknown_member_id))
    group.answer_sync(step, member, SyncGroupResponse(error_code=ErrorCode.unknown_member_id))
    group.remove(member.member_id)


def after_removal(state: CoordinatorState, step: Step, group: ClassicGroup) -> None:
    """Rebalance what is left, or go on with the rebalance that is under way."""
    if group.is_in(ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
        prepare_rebalance(state, step, group)
    elif group.is_in(ClassicState.PREPARING_REBALANCE) and group.all_members_joined:
        complete_join(state, step, group)
