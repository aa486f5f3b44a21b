"""ConsumerGroupHeartbeat: join, stay, report, learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.assignors.contract import SubscriptionType
from doorkeeper.cluster.groups.classic.group import ClassicGroup
from doorkeeper.cluster.groups.classic.rebalance import cancel_group_timers
from doorkeeper.cluster.groups.classic.records import group_metadata_tombstone
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup, subscription_type
from doorkeeper.cluster.groups.consumer.member import (
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerMember,
    to_topic_partitions,
)
from doorkeeper.cluster.groups.consumer.reconcile import Reconciliation, reconcile
from doorkeeper.cluster.groups.consumer.records import (
    current_record,
    epoch_record,
    group_records,
    partition_metadata_tombstone,
    subscription_record,
)
from doorkeeper.cluster.groups.consumer.regexes import METADATA_REFRESH_INTERVAL_MS, RegexChange, update_regexes
from doorkeeper.cluster.groups.consumer.sessions import follow_revocation, schedule_session
from doorkeeper.cluster.groups.consumer.subscribers import Claim, claimed_member, require_room
from doorkeeper.cluster.groups.consumer.target import Target, subscribed_names, update_target
from doorkeeper.cluster.groups.messages import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestContext,
)
from doorkeeper.cluster.groups.migration import upgraded_group
from doorkeeper.cluster.groups.step import GroupRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.cluster.groups.messages import TopicPartitions
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step

OWN_MEMBER_ID_SINCE: Final = 1  # version of ConsumerGroupHeartbeat: clients bring their own UUID (KIP-1082)


# --- what is no lawful request at all ----------------------------------------------------------------------------


def require_lawful_heartbeat(
    state: CoordinatorState, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> None:
    """Refuse what no group need be asked about (GroupCoordinatorService, in its order)."""
    if context.api_version >= OWN_MEMBER_ID_SINCE or request.member_epoch > 0 or request.member_epoch == LEAVE_EPOCH:
        _require_text(request.member_id, "MemberId")
    _require_text(request.group_id, "GroupId")
    _require_text(request.instance_id, "InstanceId")
    _require_text(request.rack_id, "RackId")
    if request.member_epoch == 0:
        _require_full_join(request)
    elif request.member_epoch == LEAVE_STATIC_EPOCH and request.instance_id is None:
        raise GroupRefusedError(ErrorCode.invalid_request, "InstanceId can't be null.")
    elif request.member_epoch < LEAVE_STATIC_EPOCH:
        raise GroupRefusedError(ErrorCode.invalid_request, "MemberEpoch is invalid.")
    assignors = state.settings.consumer_assignors
    if request.server_assignor is not None and request.server_assignor not in assignors:
        message = (
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}."
        )
        raise GroupRefusedError(ErrorCode.unsupported_assignor, message)


def _require_text(value: str | None, name: str) -> None:
    # Java's trim takes everything up to the space away.
    if value is not None and not value.strip("".join(map(chr, range(33)))):
        raise GroupRefusedError(ErrorCode.invalid_request, f"{name} can't be empty.")


def _require_full_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise GroupRefusedError(ErrorCode.invalid_request, "RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise GroupRefusedError(ErrorCode.invalid_request, "TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        message = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        raise GroupRefusedError(ErrorCode.invalid_request, message)


# --- the decision ------------------------------------------------------------------------------------------------


def heartbeat(
    state: CoordinatorState, step: Step, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """Update the member and the group with what it says, and tell it what to do next."""
    joins = request.member_epoch == 0
    group, classic = _group_for(state, step, request.group_id, create=joins)
    require_room(state, group, request.member_id)
    member_id = request.member_id or state.new_member_id()
    claim = Claim(
        member_id, request.instance_id, create=joins, epoch=request.member_epoch, owned=request.topic_partitions
    )
    old = claimed_member(step, group, claim)
    new = _updated(old, context, request)
    decided = Update(state, step, context, group, old, new).decide()
    target = update_target(state, step, group, decided.group_epoch, old, new, decided.subscriptions)
    new = reconcile_member(state, step, group, new, target, decided.changed, request.topic_partitions)
    if classic is not None:
        _end_classic_group(state, step, classic, group)
    schedule_session(state, step, group.group_id, new.member_id)
    full = (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    told = joins or full or old.assigned != new.assigned
    return ConsumerGroupHeartbeatResponse(
        member_id=new.member_id,
        member_epoch=new.member_epoch,
        heartbeat_interval_ms=state.configs.heartbeat_interval_ms(group.group_id),
        assignment=Assignment(to_topic_partitions(new.assigned)) if told else None,
    )


def _group_for(
    state: CoordinatorState, step: Step, group_id: str, *, create: bool
) -> tuple[ConsumerGroup, ClassicGroup | None]:
    """The group, and the classic group that it is about to follow, if any."""
    group = state.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group, None
    if not create:
        what = "Consumer group {} not found." if group is None else "Group {} is not a consumer group."
        raise GroupRefusedError(ErrorCode.group_id_not_found, what.format(group_id))
    if group is None:
        return ConsumerGroup(group_id), None
    step.write(group_metadata_tombstone(group_id))
    if group.is_empty:
        return ConsumerGroup(group_id), group
    consumer_group = upgraded_group(group, state.settings, state.topics)
    step.write(*group_records(consumer_group))
    return consumer_group, group


def _end_classic_group(state: CoordinatorState, step: Step, classic: ClassicGroup, group: ConsumerGroup) -> None:
    """Send those who wait back to join again, now as classic members of a consumer group."""
    cancel_group_timers(state, classic)
    classic.answer_all(step, ErrorCode.rebalance_in_progress)
    for member in group.members.values():
        if member.classic is not None:
            schedule_session(state, step, group.group_id, member.member_id, member.classic.session_timeout_ms)


def _updated(member: ConsumerMember, context: RequestContext, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
    """The member with what it says about itself; what it leaves out stays."""
    names = request.subscribed_topic_names
    regex = request.subscribed_topic_regex
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=(
            member.rebalance_timeout_ms if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms
        ),
        server_assignor=member.server_assignor if request.server_assignor is None else request.server_assignor,
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        client_id=context.client_id,
        client_host=context.client_host,
        classic=None,
    )


# --- steps that members of either protocol share -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decided:
    """What a member's news mean for its group."""

    group_epoch: int
    subscriptions: SubscriptionType
    changed: bool
    """Whether the member's own subscription is another one now."""


@dataclass(frozen=True, slots=True)
class Update:
    """News of one member."""

    state: CoordinatorState
    step: Step
    context: RequestContext
    group: ConsumerGroup
    old: ConsumerMember
    new: ConsumerMember

    def decide(self, *, unresolved_regex_counts: bool = False) -> Decided:
        """Write the news down, and raise the group epoch if the group has to be assigned anew.

        A pattern whose topics are not known yet raises it only once they are, but for classic members, who need a new
        epoch to notice anything (`unresolved_regex_counts`).
        """
        if self.new != self.old:
            self.step.write(subscription_record(self.group.group_id, self.new))
        names_changed = self.new.subscribed_topic_names != self.old.subscribed_topic_names
        regexes = update_regexes(self.state, self.step, self.context, self.group, self.old, self.new)
        changed = names_changed or regexes is not RegexChange.NONE
        bump = names_changed or regexes is RegexChange.UPDATED_AND_RESOLVED or (unresolved_regex_counts and changed)
        if bump or self.group.needs_metadata_refresh(self.step.now_ms):
            epoch, subscriptions = self._update_metadata(bump)
            return Decided(epoch, subscriptions, changed)
        return Decided(self.group.group_epoch, self.group.subscription_type, changed)

    def _update_metadata(self, bump: bool) -> tuple[int, SubscriptionType]:
        """Look at the subscribed topics; if they, or the subscriptions, are others than before, raise the epoch."""
        group, old, new = self.group, self.old, self.new
        name_counts = group.name_counts_after([old], new)
        regex_counts = group.regex_counts_after(old, new)
        unused = [regex for regex in group.resolved if regex not in regex_counts]
        regex_topics = group.regex_topic_counts(without=unused)
        metadata_hash = self.state.topics.metadata_hash({*name_counts, *regex_topics})
        joins = new.member_id not in group.members and group.static_member(new.instance_id) is None
        subscriptions = subscription_type(regex_counts, name_counts, regex_topics, len(group.members) + joins)
        epoch = group.group_epoch
        if bump or metadata_hash != group.metadata_hash:
            epoch += 1
            self.step.write(epoch_record(group.group_id, epoch, metadata_hash))
        group.metadata_refresh_ms = self.step.now_ms + METADATA_REFRESH_INTERVAL_MS
        group.metadata_refresh_epoch = epoch
        if group.has_partition_metadata_record:
            self.step.write(partition_metadata_tombstone(group.group_id))
        return epoch, subscriptions


def reconcile_member(
    state: CoordinatorState,
    step: Step,
    group: ConsumerGroup,
    member: ConsumerMember,
    target: Target,
    subscription_changed: bool,
    owned: Sequence[TopicPartitions] | None,
) -> ConsumerMember:
    """Move the member towards its target, write it down, and watch over what it has to let go."""
    if not subscription_changed and member.is_reconciled_to(target.epoch):
        return member
    context = Reconciliation(
        target_epoch=target.epoch,
        target=target.partitions,
        subscribed_topic_ids=state.topics.ids_of(subscribed_names(member, group.resolved)),
        partition_epoch=group.partition_epoch,
        owned=owned,
        subscription_changed=subscription_changed,
    )
    moved = reconcile(member, context)
    if moved != member:
        step.write(current_record(group.group_id, moved))
        if not moved.uses_classic_protocol:
            follow_revocation(state, step, group.group_id, moved)
    return moved
