"""Heartbeat, LeaveGroup and the right to commit, for members of a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicState
from doorkeeper.cluster.groups.classic.rebalance import (
    complete_join_if_all_joined,
    heartbeat_key,
    rebalance_or_complete_join,
    remove_member,
    schedule_heartbeat,
)
from doorkeeper.cluster.groups.messages import (
    NONE,
    UNKNOWN_MEMBER,
    HeartbeatRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from doorkeeper.cluster.groups.step import GroupRefusedError

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step


def heartbeat_to_classic_group(
    state: CoordinatorState, step: Step, group: ClassicGroup, request: HeartbeatRequest
) -> ErrorCode:
    """Keep the session alive, and say whether the member has to join again."""
    if group.is_in(ClassicState.DEAD):
        raise GroupRefusedError(ErrorCode.coordinator_not_available)
    member = group.require_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation_id:
        raise GroupRefusedError(ErrorCode.illegal_generation)
    schedule_heartbeat(state, step, group, member)
    return ErrorCode.rebalance_in_progress if group.is_in(ClassicState.PREPARING_REBALANCE) else NONE


def leave_classic_group(
    state: CoordinatorState, step: Step, group: ClassicGroup, request: LeaveGroupRequest
) -> LeaveGroupResponse:
    """Let members go, each with an answer of its own; one rebalance follows for all."""
    if group.is_in(ClassicState.DEAD):
        return LeaveGroupResponse(error_code=ErrorCode.coordinator_not_available)
    members = tuple(_leave(state, step, group, identity) for identity in request.members)
    if any(member.error_code is NONE for member in members):
        if group.is_in(ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
            rebalance_or_complete_join(state, step, group)
        else:
            complete_join_if_all_joined(state, step, group)
    return LeaveGroupResponse(members=members)


def _leave(state: CoordinatorState, step: Step, group: ClassicGroup, identity: MemberIdentity) -> MemberResponse:
    code = NONE
    if identity.member_id in group.pending_join:
        group.remove(identity.member_id)
        state.timers.cancel(heartbeat_key(group, identity.member_id))
    else:
        try:
            member = group.require_member(_real_member_id(group, identity), identity.group_instance_id)
        except GroupRefusedError as refusal:
            code = refusal.code
        else:
            state.timers.cancel(heartbeat_key(group, member.member_id))
            remove_member(step, group, member)
    return MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)


def _real_member_id(group: ClassicGroup, identity: MemberIdentity) -> str:
    """An administrator may name a static member by its instance id alone."""
    if identity.member_id == UNKNOWN_MEMBER and identity.group_instance_id is not None:
        return group.static_members.get(identity.group_instance_id, UNKNOWN_MEMBER)
    return identity.member_id


def require_classic_commit(
    group: ClassicGroup, member_id: str, group_instance_id: str | None, generation_id: int, *, transactional: bool
) -> None:
    """Whether offsets may be committed in the name of a member, or of nobody (ClassicGroup.validateOffsetCommit)."""
    if group.is_in(ClassicState.DEAD):
        raise GroupRefusedError(ErrorCode.coordinator_not_available)
    if generation_id < 0 and group.is_empty:
        return
    if generation_id >= 0 or member_id != UNKNOWN_MEMBER or group_instance_id is not None:
        group.require_member(member_id, group_instance_id)
        if generation_id != group.generation_id:
            raise GroupRefusedError(ErrorCode.illegal_generation)
    elif not transactional and not group.is_empty:
        raise GroupRefusedError(ErrorCode.unknown_member_id)
    if not transactional and group.is_in(ClassicState.COMPLETING_REBALANCE):
        raise GroupRefusedError(ErrorCode.rebalance_in_progress)
