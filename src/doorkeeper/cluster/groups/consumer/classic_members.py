"""Classic requests to a consumer group: members that have not been upgraded yet.

Each classic member gets its own assignment from the coordinator instead of a leader's: joining is reconciling, the
epoch is its generation, and it never learns of the other members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.consumer.fencing import downgrade, fence
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.heartbeat import Update, reconcile_member
from doorkeeper.cluster.groups.consumer.member import ConsumerMember, MemberState
from doorkeeper.cluster.groups.consumer.sessions import expect_rejoin, schedule_session
from doorkeeper.cluster.groups.consumer.subscribers import Claim, claimed_member, require_room, require_static
from doorkeeper.cluster.groups.consumer.target import Target, update_target
from doorkeeper.cluster.groups.messages import (
    NONE,
    UNKNOWN_MEMBER,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    RequestContext,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartitions,
)
from doorkeeper.cluster.groups.migration import (
    classic_metadata,
    may_downgrade_by_replacement,
    write_member_assignment,
)
from doorkeeper.cluster.groups.settings import MigrationPolicy
from doorkeeper.cluster.groups.step import GroupRefusedError
from doorkeeper.cluster.groups.timers import TimerKey, TimerKind
from doorkeeper.errors import RecordError
from doorkeeper.wire.consumer_protocol import PROTOCOL_TYPE, Subscription, read_subscription

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step

KNOWN_MEMBER_ID_REQUIRED_SINCE: Final = 4  # version of JoinGroup (KIP-394)


# --- JoinGroup ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Join:
    state: CoordinatorState
    step: Step
    context: RequestContext
    request: JoinGroupRequest
    group: ConsumerGroup


def join_consumer_group(
    state: CoordinatorState, step: Step, context: RequestContext, request: JoinGroupRequest, group: ConsumerGroup
) -> JoinGroupResponse:
    """Let a classic member in, or on; if no other than classic members are left, the group becomes a classic one."""
    _require_joinable(state, group, request)
    is_unknown = request.member_id == UNKNOWN_MEMBER
    member_id = state.new_member_id() if is_unknown else request.member_id
    if is_unknown and request.group_instance_id is None and context.api_version >= KNOWN_MEMBER_ID_REQUIRED_SINCE:
        return JoinGroupResponse(member_id=member_id, error_code=ErrorCode.member_id_required)
    join = _Join(state, step, context, request, group)
    subscription = _require_subscription(request)
    is_static = request.group_instance_id is not None
    claim = Claim(member_id, request.group_instance_id, create=is_unknown or not is_static, classic=True)
    old = claimed_member(step, group, claim)
    existing = group.static_member(request.group_instance_id)
    ends = existing is not None and may_downgrade_by_replacement(group, existing, state.settings)
    new = _take_in(join, old, subscription, ends=ends)
    assert new.classic is not None
    state.timers.cancel(TimerKey(TimerKind.CONSUMER_JOIN, group.group_id, new.member_id))
    if not ends:
        schedule_session(state, step, group.group_id, new.member_id, request.session_timeout_ms)
        key = TimerKey(TimerKind.CONSUMER_SYNC, group.group_id, new.member_id)
        state.timers.schedule(key, step.now_ms + request.rebalance_timeout_ms)
    return JoinGroupResponse(
        member_id=new.member_id,
        generation_id=new.member_epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=new.classic.supported_protocols[0].name,
    )


def _require_joinable(state: CoordinatorState, group: ConsumerGroup, request: JoinGroupRequest) -> None:
    if state.settings.consumer_migration_policy is MigrationPolicy.DISABLED:
        message = (
            f"Cannot join the consumer group {group.group_id} with the classic protocol "
            "because the group migration is disabled."
        )
        raise GroupRefusedError(ErrorCode.inconsistent_group_protocol, message)
    require_room(state, group, request.member_id)
    names = [protocol.name for protocol in request.protocols]
    if not group.supports_classic_protocols(request.protocol_type, names):
        message = f"Member {request.member_id}'s protocols are not supported."
        raise GroupRefusedError(ErrorCode.inconsistent_group_protocol, message)


def _require_subscription(request: JoinGroupRequest) -> Subscription:
    try:
        return read_subscription(request.protocols[0].metadata)
    except RecordError:
        # Kafka ends in an IllegalStateException here, that is UNKNOWN_SERVER_ERROR; the client should learn more.
        message = "Malformed embedded consumer protocol in subscription deserialization."
        raise GroupRefusedError(ErrorCode.inconsistent_group_protocol, message) from None


def _take_in(join: _Join, old: ConsumerMember, subscription: Subscription, *, ends: bool) -> ConsumerMember:
    state, step, group, request = join.state, join.step, join.group, join.request
    new = _updated(join, old, subscription)
    decided = Update(state, step, join.context, group, old, new).decide(unresolved_regex_counts=True)
    owned = _owned(state, subscription)
    if not ends:
        target = update_target(state, step, group, decided.group_epoch, old, new, decided.subscriptions)
        return reconcile_member(state, step, group, new, target, decided.changed, owned)
    rebalance = group.assignment_epoch < decided.group_epoch
    if not rebalance:
        target = Target(group.assignment_epoch, group.target_of(new.member_id, request.group_instance_id))
        new = reconcile_member(state, step, group, new, target, decided.changed, owned)
    downgrade(state, step, group, [], new, rebalance=rebalance)
    return new


def _updated(join: _Join, member: ConsumerMember, subscription: Subscription) -> ConsumerMember:
    request = join.request
    instance_id = request.group_instance_id
    timeout = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if instance_id is None else instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="",
        client_id=join.context.client_id,
        client_host=join.context.client_host,
        classic=classic_metadata(request.session_timeout_ms, request.protocols),
    )


def _owned(state: CoordinatorState, subscription: Subscription) -> tuple[TopicPartitions, ...]:
    """What the member says it holds; topics that are gone count as let go."""
    return tuple(
        TopicPartitions(topic.topic_id, entry.partitions)
        for entry in subscription.owned_partitions
        if (topic := state.topics.by_name(entry.topic)) is not None
    )


# --- SyncGroup and Heartbeat -------------------------------------------------------------------------------------


def _require_classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
) -> ConsumerMember:
    if instance_id is None:
        member = group.require_member(member_id)
    else:
        if instance_id not in group.static_members:
            message = f"Member with instance id {instance_id} is not a member of group {group.group_id}."
            raise GroupRefusedError(ErrorCode.unknown_member_id, message)
        member = require_static(group, instance_id, member_id)
    if not member.uses_classic_protocol:
        message = f"Member {member.member_id} does not use the classic protocol."
        raise GroupRefusedError(ErrorCode.unknown_member_id, message)
    if member.member_epoch != generation_id:
        message = (
            f"The request generation id {generation_id} is not equal to the member epoch "
            f"{member.member_epoch} of member {member.member_id}."
        )
        raise GroupRefusedError(ErrorCode.illegal_generation, message)
    return member


def sync_consumer_group(
    state: CoordinatorState, step: Step, group: ConsumerGroup, request: SyncGroupRequest
) -> SyncGroupResponse:
    """Hand a classic member what it is assigned, in the embedded protocol."""
    member = _require_classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
    assert member.classic is not None
    chosen = member.classic.supported_protocols[0]
    if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (None, chosen.name):
        raise GroupRefusedError(ErrorCode.inconsistent_group_protocol)
    if group.assignment_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        expect_rejoin(state, step, group.group_id, member)
        raise GroupRefusedError(ErrorCode.rebalance_in_progress)
    state.timers.cancel(TimerKey(TimerKind.CONSUMER_SYNC, group.group_id, member.member_id))
    schedule_session(state, step, group.group_id, member.member_id, member.classic.session_timeout_ms)
    return SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=write_member_assignment(member.assigned, state.topics, chosen.metadata),
    )


def heartbeat_to_consumer_group(
    state: CoordinatorState, step: Step, group: ConsumerGroup, request: HeartbeatRequest
) -> ErrorCode:
    """Keep a classic member's session alive, and send it to join again when there is something for it to learn."""
    member = _require_classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
    assert member.classic is not None
    schedule_session(state, step, group.group_id, member.member_id, member.classic.session_timeout_ms)
    has_news = (
        member.member_epoch < group.assignment_epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member))
    )
    if not has_news:
        return NONE
    expect_rejoin(state, step, group.group_id, member)
    return ErrorCode.rebalance_in_progress


# --- LeaveGroup --------------------------------------------------------------------------------------------------


def leave_consumer_group(
    state: CoordinatorState, step: Step, group: ConsumerGroup, request: LeaveGroupRequest
) -> LeaveGroupResponse:
    """Let members of either protocol go, each with an answer of its own."""
    leaving: dict[str, ConsumerMember] = {}
    responses = []
    for identity in request.members:
        code = NONE
        try:
            member = _identified(group, identity)
            leaving[member.member_id] = member
        except GroupRefusedError as refusal:
            code = refusal.code
        response = MemberResponse(
            member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code
        )
        responses.append(response)
    fence(state, step, group, list(leaving.values()))
    return LeaveGroupResponse(members=tuple(responses))


def _identified(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    if identity.group_instance_id is None:
        return group.require_member(identity.member_id)
    static = group.static_member(identity.group_instance_id)
    if identity.member_id == UNKNOWN_MEMBER and static is not None:
        return static
    return require_static(group, identity.group_instance_id, identity.member_id)
