"""The GroupMetadata record: a classic group as the log keeps it."""

from __future__ import annotations

from typing import Final

from doorkeeper.cluster.groups.classic.group import ClassicGroup, ClassicMember, ClassicState
from doorkeeper.cluster.groups.messages import Protocol
from doorkeeper.wire.coordinator_records import (
    CoordinatorRecord,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

VALUE_VERSION: Final = 3  # what Kafka 4.3.1 writes (GroupCoordinatorRecordHelpers)
NO_TIMESTAMP: Final = -1


def group_metadata_record(group: ClassicGroup) -> CoordinatorRecord:
    """The group with its present members and their assignments."""
    members = tuple(
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol_name),
            assignment=member.assignment,
        )
        for member in group.members.values()
    )
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=NO_TIMESTAMP if group.state_since_ms is None else group.state_since_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, VALUE_VERSION)


def empty_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """A group that has just come into being, whatever its members are about to do."""
    value = GroupMetadataValue(
        protocol=None,
        leader=None,
        current_state_timestamp=NO_TIMESTAMP if group.state_since_ms is None else group.state_since_ms,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, VALUE_VERSION)


def group_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id))


def group_from_record(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group that a record tells of: stable, or empty, with nobody waiting."""
    timestamp = value.current_state_timestamp
    group = ClassicGroup(
        group_id,
        state=ClassicState.STABLE if value.members else ClassicState.EMPTY,
        state_since_ms=None if timestamp == NO_TIMESTAMP else timestamp,
        generation_id=value.generation,
        protocol_type=value.protocol_type or None,
        protocol_name=value.protocol,
        leader_id=value.leader,
    )
    for member in value.members:
        group.add(_member_from_record(member, value))
    group.subscribed_topics = group.read_subscribed_topics()
    return group


def _member_from_record(member: MemberMetadata, value: GroupMetadataValue) -> ClassicMember:
    # Before version 1 there was no rebalance time-out: the session's served.
    rebalance_timeout = member.session_timeout if member.rebalance_timeout == -1 else member.rebalance_timeout
    return ClassicMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=rebalance_timeout,
        session_timeout_ms=member.session_timeout,
        protocol_type=value.protocol_type,
        protocols=(Protocol(value.protocol or "", member.subscription),),
        assignment=member.assignment,
    )
