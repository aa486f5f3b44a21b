"""JoinGroup to a classic group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicMember, ClassicState
from doorkeeper.cluster.groups.classic.rebalance import (
    complete_join_if_all_joined,
    heartbeat_key,
    prepare_rebalance,
    rebalance_or_complete_join,
    schedule_heartbeat,
)
from doorkeeper.cluster.groups.classic.records import empty_group_record, group_metadata_record
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.records import group_tombstones
from doorkeeper.cluster.groups.messages import (
    UNKNOWN_MEMBER,
    JoinGroupRequest,
    JoinGroupResponse,
    RequestContext,
    SyncGroupResponse,
)
from doorkeeper.cluster.groups.settings import NEW_MEMBER_JOIN_TIMEOUT_MS
from doorkeeper.cluster.groups.step import GroupRefusedError

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step

KNOWN_MEMBER_ID_REQUIRED_SINCE: Final = 4  # version of JoinGroup (KIP-394)
SKIP_ASSIGNMENT_SINCE: Final = 9  # version of JoinGroup (KIP-814)


@dataclass(frozen=True, slots=True)
class Joining:
    """A join request on its way, with all that answering it takes."""

    state: CoordinatorState
    step: Step
    context: RequestContext
    request: JoinGroupRequest
    token: object

    def refuse(self, code: ErrorCode, member_id: str = UNKNOWN_MEMBER) -> None:
        self.step.reply(self.token, JoinGroupResponse(member_id=member_id, error_code=code))


def join_classic_group(joining: Joining) -> None:
    """Let a client join: a group that is not there, or that is an empty consumer group, becomes a new classic group."""
    request, state, step = joining.request, joining.state, joining.step
    is_unknown = request.member_id == UNKNOWN_MEMBER
    group = state.classic_group(request.group_id)
    is_new_group = group is None
    if group is None:
        if not is_unknown:
            joining.refuse(ErrorCode.unknown_member_id, request.member_id)
            return
        _end_empty_consumer_group(joining)
        group = state.create_classic_group(request.group_id, step.now_ms)
    if is_new_group:
        step.note([empty_group_record(group)])
    if not _has_room(joining, group):
        group.remove(request.member_id)
        joining.refuse(ErrorCode.group_max_size_reached)
    elif group.is_in(ClassicState.DEAD):
        joining.refuse(ErrorCode.coordinator_not_available, request.member_id)
    elif not group.supports_protocols(request.protocol_type, (protocol.name for protocol in request.protocols)):
        joining.refuse(ErrorCode.inconsistent_group_protocol, request.member_id)
    elif is_unknown:
        _join_as_new(joining, group)
    else:
        _join_as_known(joining, group)


def _end_empty_consumer_group(joining: Joining) -> None:
    group = joining.state.groups.get(joining.request.group_id)
    if isinstance(group, ConsumerGroup):
        joining.step.note(group_tombstones(group))
        del joining.state.groups[group.group_id]


def _has_room(joining: Joining, group: ClassicGroup) -> bool:
    """Whether `group.max.size` allows the member (GroupMetadataManager.acceptJoiningMember)."""
    limit = joining.state.settings.classic_max_size
    member = group.members.get(joining.request.member_id)
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        return (member is not None and member.join_token is not None) or group.awaiting_join < limit
    if group.is_in(ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
        return member is not None or len(group.members) < limit
    return True


# --- members without an id ---------------------------------------------------------------------------------------


def _join_as_new(joining: Joining, group: ClassicGroup) -> None:
    """Give the member an id: a plain UUID, where Kafka puts the client id or the instance id before it."""
    member_id = joining.state.new_member_id()
    instance_id = joining.request.group_instance_id
    if instance_id is not None:
        existing = group.static_members.get(instance_id)
        if existing is None:
            _add_member(joining, group, member_id)
        else:
            _replace_static_member(joining, group, existing, member_id)
    elif joining.context.api_version >= KNOWN_MEMBER_ID_REQUIRED_SINCE:
        group.pending_join.add(member_id)
        deadline = joining.step.now_ms + joining.request.session_timeout_ms
        joining.state.timers.schedule(heartbeat_key(group, member_id), deadline)
        joining.refuse(ErrorCode.member_id_required, member_id)
    else:
        _add_member(joining, group, member_id)


def _add_member(joining: Joining, group: ClassicGroup, member_id: str) -> None:
    request, state, step = joining.request, joining.state, joining.step
    member = ClassicMember(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=joining.context.client_id,
        client_host=joining.context.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=request.protocols,
        is_new=True,
    )
    if group.is_in(ClassicState.PREPARING_REBALANCE) and group.previous_state is ClassicState.EMPTY:
        group.new_member_added = True
    group.add(member, joining.token)
    # A client may hang up while it waits; so a new member has a time limit of its own until the join phase ends.
    schedule_heartbeat(state, step, group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    rebalance_or_complete_join(state, step, group)


def _replace_static_member(joining: Joining, group: ClassicGroup, old_id: str, new_id: str) -> None:
    """A static member came back without its id: fence the old id, and rebalance only if the protocol changes."""
    request, state, step = joining.request, joining.state, joining.step
    old_leader = group.leader_id
    member = _rename_static_member(step, group, old_id, new_id)
    state.timers.cancel(heartbeat_key(group, old_id))
    schedule_heartbeat(state, step, group, member)
    group.update(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, joining.token)
    if group.is_in(ClassicState.STABLE):
        if group.select_protocol() == group.protocol_name:
            step.note([group_metadata_record(group)])
            group.answer_join(step, member, _unchanged_response(joining, group, new_id, old_leader))
        else:
            rebalance_or_complete_join(state, step, group)
    elif group.is_in(ClassicState.COMPLETING_REBALANCE):
        prepare_rebalance(state, step, group)
    else:
        complete_join_if_all_joined(state, step, group)


def _rename_static_member(step: Step, group: ClassicGroup, old_id: str, new_id: str) -> ClassicMember:
    member = group.members.pop(old_id)
    fenced = ErrorCode.fenced_instance_id
    group.answer_join(step, member, JoinGroupResponse(member_id=old_id, error_code=fenced))
    group.answer_sync(step, member, SyncGroupResponse(error_code=fenced))
    member.member_id = new_id
    member.is_new = False
    group.members[new_id] = member
    assert member.group_instance_id is not None
    group.static_members[member.group_instance_id] = new_id
    group.pending_sync.discard(old_id)
    if group.leader_id == old_id:
        group.leader_id = new_id
    return member


def _unchanged_response(
    joining: Joining, group: ClassicGroup, member_id: str, old_leader: str | None
) -> JoinGroupResponse:
    """The generation goes on. An old client that leads must not learn it, or it would assign anew (KAFKA-9801)."""
    if joining.context.api_version >= SKIP_ASSIGNMENT_SINCE:
        leads = group.leader_id == member_id
        return group.joined_response(member_id, with_members=leads, skip_assignment=leads)
    response = group.joined_response(member_id)
    return JoinGroupResponse(
        generation_id=response.generation_id,
        protocol_type=response.protocol_type,
        protocol_name=response.protocol_name,
        leader=old_leader or "",
        member_id=member_id,
    )


# --- members with an id ------------------------------------------------------------------------------------------


def _join_as_known(joining: Joining, group: ClassicGroup) -> None:
    request = joining.request
    if request.member_id in group.pending_join:
        if request.group_instance_id is not None:
            joining.refuse(ErrorCode.unknown_server_error)
            return
        _add_member(joining, group, request.member_id)
        return
    try:
        member = group.require_member(request.member_id, request.group_instance_id)
    except GroupRefusedError as refusal:
        joining.refuse(refusal.code, request.member_id)
        return
    _rejoin(joining, group, member)


def _rejoin(joining: Joining, group: ClassicGroup, member: ClassicMember) -> None:
    """A member that joins again learns the present generation, unless its joining changes something."""
    request, state, step = joining.request, joining.state, joining.step
    leads = group.leader_id == member.member_id
    same = member.protocols == request.protocols
    if group.is_in(ClassicState.COMPLETING_REBALANCE) and same:
        step.reply(joining.token, group.joined_response(member.member_id, with_members=leads))
    elif group.is_in(ClassicState.STABLE) and same and not leads:
        step.reply(joining.token, group.joined_response(member.member_id))
    else:
        # The client asks again: only the newer request can still be answered.
        again = JoinGroupResponse(member_id=member.member_id, error_code=ErrorCode.rebalance_in_progress)
        group.answer_join(step, member, again)
        timeouts = (request.rebalance_timeout_ms, request.session_timeout_ms)
        group.update(member, request.protocols, *timeouts, joining.token)
        rebalance_or_complete_join(state, step, group)
