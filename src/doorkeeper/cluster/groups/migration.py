"""Conversions between the two kinds of groups while their members go on (`group.consumer.migration.policy`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicMember, ClassicState
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.member import ConsumerMember, with_epoch
from doorkeeper.cluster.groups.messages import Protocol
from doorkeeper.cluster.groups.step import GroupRefusedError
from doorkeeper.errors import RecordError
from doorkeeper.wire.consumer_protocol import (
    PROTOCOL_TYPE,
    Assignment,
    NamedPartitions,
    read_assignment,
    read_subscription,
    read_version,
    write_assignment,
)
from doorkeeper.wire.coordinator_records import ClassicMemberMetadata, ClassicProtocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from doorkeeper.cluster.groups.consumer.member import PartitionSets
    from doorkeeper.cluster.groups.settings import GroupSettings
    from doorkeeper.cluster.groups.topics import TopicsView


# --- classic to consumer -----------------------------------------------------------------------------------------


def upgraded_group(group: ClassicGroup, settings: GroupSettings, topics: TopicsView) -> ConsumerGroup:
    """The consumer group that a classic group becomes: same members, same partitions, its generation as the epoch."""
    _require_upgradable(group, settings)
    consumer_group = ConsumerGroup(
        group.group_id, group_epoch=group.generation_id, assignment_epoch=group.generation_id
    )
    for member in group.members.values():
        try:
            partitions = _assigned_partitions(group.group_id, member.assignment, topics)
            consumer_group.put_member(_upgraded_member(group, member, partitions))
        except RecordError:
            raise _no_upgrade(group.group_id, "the embedded consumer protocol is malformed.") from None
        consumer_group.target[member.member_id] = partitions
    consumer_group.metadata_hash = topics.metadata_hash(consumer_group.subscribed_topics())
    return consumer_group


def _require_upgradable(group: ClassicGroup, settings: GroupSettings) -> None:
    if not settings.consumer_migration_policy.allows_upgrade:
        raise _no_upgrade(group.group_id, "online upgrade is disabled.")
    if not group.uses_consumer_protocol:
        raise _no_upgrade(group.group_id, "the group does not use the consumer embedded protocol.")
    if len(group.members) > settings.consumer_max_size:
        raise _no_upgrade(group.group_id, "the group size exceeds the consumer group maximum size.")


def _no_upgrade(group_id: str, reason: str) -> GroupRefusedError:
    message = f"Cannot upgrade classic group {group_id} to consumer group because {reason}"
    return GroupRefusedError(ErrorCode.group_id_not_found, message)


def _assigned_partitions(group_id: str, assignment: bytes, topics: TopicsView) -> PartitionSets:
    if not assignment:
        return {}
    parsed = read_assignment(assignment)
    if parsed.user_data:
        # An assignor of the user's own keeps state there, which no server-side assignor would hand back.
        raise _no_upgrade(
            group_id,
            "an unsupported custom assignor is in use. Please refer to the documentation "
            "or switch to a default assignor before re-attempting the upgrade.",
        )
    partitions: dict[UUID, frozenset[int]] = {}
    for entry in parsed.assigned_partitions:
        topic = topics.by_name(entry.topic)
        if topic is not None:
            partitions[topic.topic_id] = frozenset(entry.partitions)
    return partitions


def _upgraded_member(group: ClassicGroup, member: ClassicMember, partitions: PartitionSets) -> ConsumerMember:
    # In the first join phase no protocol is chosen yet; then the one that the member likes best speaks for it.
    chosen = group.protocol_name if group.protocol_name is not None else member.protocols[0].name
    subscription = read_subscription(member.metadata(chosen))
    return ConsumerMember(
        member_id=member.member_id,
        member_epoch=group.generation_id,
        previous_member_epoch=group.generation_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=frozenset(subscription.topics),
        assigned=with_epoch(partitions, group.generation_id),
        classic=classic_metadata(member.session_timeout_ms, member.protocols),
    )


def classic_metadata(session_timeout_ms: int, protocols: Iterable[Protocol]) -> ClassicMemberMetadata:
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=tuple(ClassicProtocol(name=p.name, metadata=p.metadata) for p in protocols),
    )


# --- consumer to classic -----------------------------------------------------------------------------------------


def may_downgrade(group: ConsumerGroup, leaving: Iterable[ConsumerMember], settings: GroupSettings) -> bool:
    """Whether only classic members are left when these have gone, and the policy lets the group follow them."""
    gone = list(leaving)
    left = len(group.members) - len(gone)
    classic_left = group.classic_member_count - sum(member.uses_classic_protocol for member in gone)
    return (
        0 < left <= settings.classic_max_size
        and classic_left == left
        and settings.consumer_migration_policy.allows_downgrade
    )


def may_downgrade_by_replacement(group: ConsumerGroup, replaced: ConsumerMember, settings: GroupSettings) -> bool:
    """Whether the last member of the consumer protocol is a static one that is just back as a classic member."""
    return (
        not replaced.uses_classic_protocol
        and group.classic_member_count == len(group.members) - 1
        and settings.consumer_migration_policy.allows_downgrade
        and len(group.members) <= settings.classic_max_size
    )


def downgraded_group(
    group: ConsumerGroup,
    leaving: Iterable[ConsumerMember],
    joining: ConsumerMember | None,
    topics: TopicsView,
    now_ms: int,
) -> ClassicGroup:
    """The classic group that a consumer group becomes: its target assignment is what each member has.

    `joining` takes the place of the member with the same instance id.
    """
    gone = {member.member_id for member in leaving}
    replaced = group.static_member(joining.instance_id) if joining is not None else None
    classic = ClassicGroup(
        group.group_id,
        state=ClassicState.STABLE,
        state_since_ms=now_ms,
        generation_id=group.group_epoch,
        protocol_type=PROTOCOL_TYPE,
    )
    targets: dict[str, str] = {}
    for member in group.members.values():
        if member.member_id not in gone and member is not replaced:
            classic.add(_classic_member(member))
            targets[member.member_id] = member.member_id
    if joining is not None:
        classic.add(_classic_member(joining))
        targets[joining.member_id] = replaced.member_id if replaced is not None else joining.member_id
    classic.protocol_name = classic.select_protocol()
    classic.subscribed_topics = classic.read_subscribed_topics()
    for member_id, target_of in targets.items():
        kept = classic.members[member_id]
        kept.assignment = write_member_assignment(
            group.target_of(target_of), topics, kept.metadata(classic.protocol_name)
        )
    return classic


def _classic_member(member: ConsumerMember) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocol_type=PROTOCOL_TYPE,
        protocols=tuple(Protocol(p.name, p.metadata) for p in member.classic.supported_protocols),
    )


def write_member_assignment(partitions: Mapping[UUID, Iterable[int]], topics: TopicsView, subscription: bytes) -> bytes:
    """An assignment in the embedded protocol, at the version that the member's subscription has."""
    named = [
        NamedPartitions(topic=topic.name, partitions=tuple(sorted(chosen)))
        for topic_id, chosen in partitions.items()
        if (topic := topics.by_id(topic_id)) is not None
    ]
    named.sort(key=lambda entry: entry.topic)
    return write_assignment(Assignment(assigned_partitions=tuple(named)), read_version(subscription))
