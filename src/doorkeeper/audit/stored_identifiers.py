"""Which fields of the coordinators' records are identifiers, and which are not, and why.

The counterpart of `rules.fields`, for what is stored instead of asked: a test walks every record type and fails on a
string that is in neither table. Opaque bytes of classic members are opened where they are the consumer protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from doorkeeper.errors import RecordError
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire import coordinator_records as groups
from doorkeeper.wire import share_group_records as share
from doorkeeper.wire import streams_group_records as streams
from doorkeeper.wire.consumer_protocol import PROTOCOL_TYPE, read_subscription
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.metadata.schema import Struct, specs_of
from doorkeeper.wire.transaction_records import PartitionsSchema, TransactionLogKey

_BROKER_MADE: Final = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)

IDENTIFIERS: Final[Mapping[type[Struct], Mapping[str, Kind]]] = {
    groups.LegacyOffsetCommitKey: {"group": Kind.GROUP_ID, "topic": Kind.TOPIC_NAME},
    groups.OffsetCommitKey: {"group": Kind.GROUP_ID, "topic": Kind.TOPIC_NAME},
    groups.LegacyOffsetCommitValue: {"metadata": Kind.OFFSET_METADATA},
    groups.OffsetCommitValue: {"metadata": Kind.OFFSET_METADATA},
    groups.GroupMetadataKey: {"group": Kind.GROUP_ID},
    groups.MemberMetadata: {
        "member_id": Kind.MEMBER_ID,
        "group_instance_id": Kind.GROUP_INSTANCE_ID,
        "client_id": Kind.CLIENT_ID,
    },
    groups.ConsumerGroupMetadataKey: {"group_id": Kind.GROUP_ID},
    groups.ConsumerGroupPartitionMetadataKey: {"group_id": Kind.GROUP_ID},
    groups.ConsumerGroupMemberMetadataKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    groups.ConsumerGroupTargetAssignmentMetadataKey: {"group_id": Kind.GROUP_ID},
    groups.ConsumerGroupTargetAssignmentMemberKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    groups.ConsumerGroupCurrentMemberAssignmentKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    groups.ConsumerGroupRegularExpressionKey: {"group_id": Kind.GROUP_ID},
    groups.TopicMetadata: {"topic_name": Kind.TOPIC_NAME},
    groups.PartitionMetadata: {"racks": Kind.RACK_ID},
    groups.ConsumerGroupMemberMetadataValue: {
        "instance_id": Kind.GROUP_INSTANCE_ID,
        "rack_id": Kind.RACK_ID,
        "client_id": Kind.CLIENT_ID,
        "subscribed_topic_names": Kind.TOPIC_NAME,
    },
    share.ShareGroupMemberMetadataKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    share.ShareGroupMetadataKey: {"group_id": Kind.GROUP_ID},
    share.ShareGroupTargetAssignmentMetadataKey: {"group_id": Kind.GROUP_ID},
    share.ShareGroupTargetAssignmentMemberKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    share.ShareGroupCurrentMemberAssignmentKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    share.ShareGroupStatePartitionMetadataKey: {"group_id": Kind.GROUP_ID},
    share.ShareGroupMemberMetadataValue: {
        "rack_id": Kind.RACK_ID,
        "client_id": Kind.CLIENT_ID,
        "subscribed_topic_names": Kind.TOPIC_NAME,
    },
    share.TopicPartitionsInfo: {"topic_name": Kind.TOPIC_NAME},
    share.TopicInfo: {"topic_name": Kind.TOPIC_NAME},
    share.ShareSnapshotKey: {"group_id": Kind.GROUP_ID},
    share.ShareUpdateKey: {"group_id": Kind.GROUP_ID},
    streams.StreamsGroupMetadataKey: {"group_id": Kind.GROUP_ID},
    streams.StreamsGroupMemberMetadataKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    streams.StreamsGroupTargetAssignmentMetadataKey: {"group_id": Kind.GROUP_ID},
    streams.StreamsGroupTargetAssignmentMemberKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    streams.StreamsGroupCurrentMemberAssignmentKey: {"group_id": Kind.GROUP_ID, "member_id": Kind.MEMBER_ID},
    streams.StreamsGroupTopologyKey: {"group_id": Kind.GROUP_ID},
    streams.StreamsGroupMemberMetadataValue: {
        "instance_id": Kind.GROUP_INSTANCE_ID,
        "rack_id": Kind.RACK_ID,
        "client_id": Kind.CLIENT_ID,
    },
    streams.TopologyTopic: {"name": Kind.TOPIC_NAME},
    streams.Subtopology: {"source_topics": Kind.TOPIC_NAME, "repartition_sink_topics": Kind.TOPIC_NAME},
    TransactionLogKey: {"transactional_id": Kind.TRANSACTIONAL_ID},
    PartitionsSchema: {"topic": Kind.TOPIC_NAME},
}

NO_IDENTIFIERS: Final[Mapping[type[Struct], Mapping[str, str]]] = {
    groups.GroupMetadataValue: {
        "protocol_type": "protocol's name",
        "protocol": "protocol's name",
        "leader": "one of the members, which are judged themselves",
    },
    groups.MemberMetadata: {"client_host": "address, told with the member's identifiers"},
    groups.ConsumerGroupMemberMetadataValue: {
        "client_host": "address, told with the member's identifiers",
        "subscribed_topic_regex": "pattern",
        "server_assignor": "assignor's name",
    },
    groups.ClassicProtocol: {"name": "protocol's name"},
    groups.ConsumerGroupRegularExpressionKey: {"regular_expression": "pattern"},
    groups.ConsumerGroupRegularExpressionValue: {"topics": "topics that exist"},
    share.ShareGroupMemberMetadataValue: {"client_host": "address, told with the member's identifiers"},
    streams.StreamsGroupMemberMetadataValue: {
        "client_host": "address, told with the member's identifiers",
        "process_id": "process of a Streams application: not in KIP-1233's table",
    },
    streams.UserEndpoint: {"host": "address"},
    streams.KeyValue: {"key": "config or tag", "value": "config or tag"},
    streams.TargetTaskIds: {"subtopology_id": "part of a topology"},
    streams.CurrentTaskIds: {"subtopology_id": "part of a topology"},
    streams.Subtopology: {"subtopology_id": "part of a topology", "source_topic_regex": "pattern"},
}


class Identifier(NamedTuple):
    """An identifier in a record."""

    kind: Kind
    value: str
    where: str
    """Kafka's names: `GroupMetadataValue.members[].clientId`."""
    client_id: str | None = None
    address: str | None = None
    """Of the member that it belongs to."""


def is_broker_made(member_id: str) -> bool:
    """Whether a broker made the id for a classic member: `<client id or instance id>-<uuid>` (decision 6)."""
    return _BROKER_MADE.search(member_id[-37:]) is not None


def identifiers_of(record: groups.CoordinatorRecord) -> Iterator[Identifier]:
    """Every identifier of a record with a value, that decision 6 lets be judged."""
    for one in _all_identifiers(record.key, record.value):
        if one.kind is not Kind.MEMBER_ID or not is_broker_made(one.value):
            yield one


def _all_identifiers(key: groups.RecordKey, value: Struct | None) -> Iterator[Identifier]:
    if value is None:
        return
    members: tuple[Struct, ...] = (value,)
    if isinstance(value, groups.GroupMetadataValue):
        members = value.members or members
    for member in members:  # so that a group's name is told with every client that is in the group
        yield from _walk(key, type(key).__name__, *_member(member))
    yield from _walk(value, type(value).__name__, *_member(value))
    yield from _opaque_identifiers(value)


def _opaque_identifiers(value: Struct) -> Iterator[Identifier]:
    """What classic members say in the consumer protocol's own bytes."""
    if isinstance(value, groups.GroupMetadataValue) and value.protocol_type == PROTOCOL_TYPE:
        for member in value.members:
            yield from _subscribed(member.subscription, "GroupMetadataValue.members[].subscription", *_member(member))
    elif isinstance(value, groups.ConsumerGroupMemberMetadataValue) and value.classic_member_metadata is not None:
        for protocol in value.classic_member_metadata.supported_protocols:
            yield from _subscribed(protocol.metadata, "ClassicProtocol.metadata", *_member(value))


def _member(struct: Struct | None) -> tuple[str | None, str | None]:
    """Client id and address, where the structure describes a member. Kafka writes addresses as `/127.0.0.1`."""
    host: str | None = getattr(struct, "client_host", None)
    return getattr(struct, "client_id", None), None if host is None else host.removeprefix("/")


def _subscribed(data: bytes, where: str, client_id: str | None, address: str | None) -> Iterator[Identifier]:
    """What the embedded consumer protocol names; other protocols' bytes are their own affair."""
    try:
        subscription = read_subscription(data)
    except RecordError:
        return
    for topic in subscription.topics:
        yield Identifier(Kind.TOPIC_NAME, topic, f"{where}.topics[]", client_id, address)
    if subscription.rack_id:
        yield Identifier(Kind.RACK_ID, subscription.rack_id, f"{where}.rackId", client_id, address)


class _Plan(NamedTuple):
    """How one field of a structure is walked: an identifier of a kind, or a structure with some inside."""

    name: str
    kafka_name: str
    kind: Kind | None
    is_array: bool


@remembered
def _plans(struct: type[Struct]) -> tuple[_Plan, ...]:
    kinds = IDENTIFIERS.get(struct, {})
    return tuple(
        _Plan(name, _camel(name), kinds.get(name), spec.is_array)
        for name, spec in specs_of(struct).items()
        if name in kinds or (spec.struct is not None and _holds_any(spec.struct))
    )


@remembered
def _holds_any(struct: type[Struct]) -> bool:
    return struct in IDENTIFIERS or any(
        spec.struct is not None and _holds_any(spec.struct) for spec in specs_of(struct).values()
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _walk(struct: Struct, path: str, client_id: str | None, address: str | None) -> Iterator[Identifier]:
    for plan in _plans(type(struct)):
        value: Any = getattr(struct, plan.name)
        if value is None:
            continue
        where = f"{path}.{plan.kafka_name}{'[]' if plan.is_array else ''}"
        for one in value if plan.is_array else (value,):
            if plan.kind is not None:
                yield Identifier(plan.kind, one, where, client_id, address)
            else:
                own_client, own_address = _member(one)
                yield from _walk(one, where, own_client or client_id, own_address or address)
