"""SyncGroup to a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicMember, ClassicState
from doorkeeper.cluster.groups.classic.rebalance import complete_sync, received_sync
from doorkeeper.cluster.groups.messages import SyncGroupRequest, SyncGroupResponse
from doorkeeper.cluster.groups.step import GroupRefusedError

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step


def sync_classic_group(
    state: CoordinatorState, step: Step, group: ClassicGroup, request: SyncGroupRequest, token: object
) -> None:
    """Take the leader's assignments; the others wait for them, or get what is there."""
    member = _require_lawful(group, request)
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        raise GroupRefusedError(ErrorCode.rebalance_in_progress)
    if group.is_in(ClassicState.STABLE):
        received_sync(state, group, member.member_id)
        response = SyncGroupResponse(
            protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
        )
        step.reply(token, response)
        return
    if member.sync_token is not None:
        # The client asks again: only the newer request can still be answered.
        step.reply(member.sync_token, SyncGroupResponse(error_code=ErrorCode.rebalance_in_progress))
    member.sync_token = token
    received_sync(state, group, member.member_id)
    if group.leader_id == member.member_id:
        complete_sync(state, step, group, {entry.member_id: entry.assignment for entry in request.assignments})


def _require_lawful(group: ClassicGroup, request: SyncGroupRequest) -> ClassicMember:
    """The order of checks is Kafka's: member, generation, protocol (GroupMetadataManager.validateSyncGroup)."""
    if group.is_in(ClassicState.DEAD):
        raise GroupRefusedError(ErrorCode.coordinator_not_available)
    member = group.require_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation_id:
        raise GroupRefusedError(ErrorCode.illegal_generation)
    if _differ(request.protocol_type, group.protocol_type) or _differ(request.protocol_name, group.protocol_name):
        raise GroupRefusedError(ErrorCode.inconsistent_group_protocol)
    return member


def _differ(asked: str | None, present: str | None) -> bool:
    return asked is not None and present is not None and asked != present
