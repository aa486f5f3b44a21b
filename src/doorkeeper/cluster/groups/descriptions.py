"""ListGroups, DescribeGroups, ConsumerGroupDescribe: what is known about groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import GROUP_TYPE as CLASSIC
from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicMember, ClassicState
from doorkeeper.cluster.groups.consumer.group import GROUP_TYPE as CONSUMER
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.member import ConsumerMember
from doorkeeper.cluster.groups.messages import (
    DescribedAssignment,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribedGroupMember,
    DescribedTopicPartitions,
    ListedGroup,
    RequestContext,
)
from doorkeeper.cluster.groups.step import GroupRefusedError

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.cluster.groups.state import CoordinatorState, Group
    from doorkeeper.cluster.groups.topics import TopicsView

NOT_FOUND_ERROR_SINCE: Final = 6  # version of DescribeGroups (KIP-1043); before, a missing group was just dead
MEMBER_TYPE_CLASSIC: Final = 0
MEMBER_TYPE_CONSUMER: Final = 1


def state_name(group: Group) -> str:
    return group.state_name if isinstance(group, ConsumerGroup) else group.state.value


def list_groups(state: CoordinatorState, states: Sequence[str], types: Sequence[str]) -> list[ListedGroup]:
    """The groups in any of the states and of any of the types; an empty filter lets all through."""
    wanted_states = {name.lower().strip() for name in states}
    wanted_types = {name.lower() for name in types}
    listed = [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=state_name(group),
            group_type=CONSUMER if isinstance(group, ConsumerGroup) else CLASSIC,
        )
        for group in state.groups.values()
    ]
    return [
        group
        for group in listed
        if (not wanted_states or group.group_state.lower() in wanted_states)
        and (not wanted_types or group.group_type in wanted_types)
    ]


# --- classic groups ----------------------------------------------------------------------------------------------


def describe_groups(state: CoordinatorState, context: RequestContext, group_ids: Iterable[str]) -> list[DescribedGroup]:
    return [_describe_classic(state, context, group_id) for group_id in group_ids]


def _describe_classic(state: CoordinatorState, context: RequestContext, group_id: str) -> DescribedGroup:
    group = state.groups.get(group_id)
    if not isinstance(group, ClassicGroup):
        if context.api_version < NOT_FOUND_ERROR_SINCE:
            return DescribedGroup(group_id=group_id, group_state=ClassicState.DEAD.value)
        missing = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a classic group."
        return DescribedGroup(
            group_id=group_id,
            group_state=ClassicState.DEAD.value,
            error_code=ErrorCode.group_id_not_found,
            error_message=missing,
        )
    stable = group.is_in(ClassicState.STABLE)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=tuple(
            _describe_classic_member(member, group.protocol_name if stable else None)
            for member in group.members.values()
        ),
    )


def _describe_classic_member(member: ClassicMember, protocol_name: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol_name is None else member.metadata(protocol_name),
        member_assignment=member.assignment,
    )


# --- consumer groups ---------------------------------------------------------------------------------------------


def describe_consumer_groups(state: CoordinatorState, group_ids: Iterable[str]) -> list[DescribedConsumerGroup]:
    return [_describe_consumer(state, group_id) for group_id in group_ids]


def _describe_consumer(state: CoordinatorState, group_id: str) -> DescribedConsumerGroup:
    if not group_id:
        return DescribedConsumerGroup(group_id="", error_code=ErrorCode.invalid_group_id)
    try:
        group = state.require_consumer_group(group_id)
    except GroupRefusedError as refusal:
        return DescribedConsumerGroup(group_id=group_id, error_code=refusal.code, error_message=refusal.message)
    return DescribedConsumerGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor() or state.settings.consumer_assignors[0],
        members=tuple(_describe_member(group, member, state.topics) for member in group.members.values()),
    )


def _describe_member(group: ConsumerGroup, member: ConsumerMember, topics: TopicsView) -> DescribedConsumer:
    held: dict[UUID, set[int]] = {}
    for part in (member.assigned, member.pending_revocation):
        for topic_id, partitions in part.items():
            held.setdefault(topic_id, set()).update(partitions)
    return DescribedConsumer(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_describe_assignment(held, topics),
        target_assignment=_describe_assignment(group.target_of(member.member_id), topics),
        member_type=MEMBER_TYPE_CLASSIC if member.uses_classic_protocol else MEMBER_TYPE_CONSUMER,
    )


def _describe_assignment(partitions: Mapping[UUID, Iterable[int]], topics: TopicsView) -> DescribedAssignment:
    """Partitions with the names of their topics; a topic that is gone has none and is left out."""
    return DescribedAssignment(
        tuple(
            DescribedTopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=tuple(sorted(chosen)))
            for topic_id, chosen in sorted(partitions.items())
            if (topic := topics.by_id(topic_id)) is not None
        )
    )
