"""Requests and responses of every version, through kio's own codec."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta, i64Timedelta
from tests.cluster.groups.driver import BAR, FOO

from doorkeeper.cluster.groups import messages, translation
from doorkeeper.cluster.groups.topics import TopicsView


def kio_class(api: str, version: int, kind: str, name: str = "") -> Any:
    module = importlib.import_module(f"kio.schema.{api}.v{version}.{kind}")
    return getattr(module, name or "".join(part.title() for part in api.split("_")) + kind.title())


def span(milliseconds: int) -> Any:
    return i32Timedelta.parse(milliseconds * translation._MILLISECOND)


def roundtrip(response: Any) -> Any:
    """Through bytes: what kio can't write, no client can read."""
    from io import BytesIO

    from kio.serial import entity_reader, entity_writer

    buffer = BytesIO()
    entity_writer(type(response))(buffer, response)
    read, _ = entity_reader(type(response))(buffer.getvalue(), 0)
    assert read == response
    return read


@pytest.mark.parametrize("version", range(10))
def test_translates_join_group(version: int) -> None:
    kind = kio_class("join_group", version, "request")
    protocol = kio_class("join_group", version, "request", "JoinGroupRequestProtocol")
    fields: dict[str, Any] = {
        "group_id": "g",
        "session_timeout": span(10_000),
        "member_id": "m",
        "protocol_type": "consumer",
        "protocols": (protocol(name="range", metadata=b"x"),),
    }
    if version >= 1:
        fields["rebalance_timeout"] = span(20_000)
    if version >= 5:
        fields["group_instance_id"] = "i"
    assert translation.read_join_group(kind(**fields)) == messages.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=20_000 if version >= 1 else 10_000,
        member_id="m",
        group_instance_id="i" if version >= 5 else None,
        protocol_type="consumer",
        protocols=(messages.Protocol("range", b"x"),),
    )
    refused = messages.JoinGroupResponse(error_code=ErrorCode.unknown_member_id, member_id="m")
    response = roundtrip(translation.write_join_group(kio_class("join_group", version, "response"), refused))
    assert response.error_code is ErrorCode.unknown_member_id
    assert response.protocol_name == (None if version >= 7 else "")
    joined = messages.JoinGroupResponse(
        generation_id=3,
        protocol_type="consumer",
        protocol_name="range",
        leader="m",
        member_id="m",
        members=(messages.JoinGroupResponseMember(member_id="m", metadata=b"x"),),
    )
    response = roundtrip(translation.write_join_group(kio_class("join_group", version, "response"), joined))
    assert (response.generation_id, response.protocol_name, response.members[0].metadata) == (3, "range", b"x")


@pytest.mark.parametrize("version", range(6))
def test_translates_sync_group(version: int) -> None:
    kind = kio_class("sync_group", version, "request")
    entry = kio_class("sync_group", version, "request", "SyncGroupRequestAssignment")
    request = kind(group_id="g", generation_id=1, member_id="m", assignments=(entry(member_id="m", assignment=b"a"),))
    assert translation.read_request(messages.SyncGroupRequest, request) == messages.SyncGroupRequest(
        group_id="g", generation_id=1, member_id="m", assignments=(messages.SyncGroupAssignment("m", b"a"),)
    )
    message = messages.SyncGroupResponse(protocol_type="consumer", protocol_name="range", assignment=b"a")
    response = roundtrip(translation.write_response(kio_class("sync_group", version, "response"), message))
    assert response.assignment == b"a"


@pytest.mark.parametrize("version", range(5))
def test_translates_heartbeat(version: int) -> None:
    request = kio_class("heartbeat", version, "request")(group_id="g", generation_id=1, member_id="m")
    assert translation.read_request(messages.HeartbeatRequest, request) == messages.HeartbeatRequest(
        group_id="g", generation_id=1, member_id="m"
    )
    message = messages.HeartbeatResponse(error_code=ErrorCode.rebalance_in_progress)
    response = roundtrip(translation.write_response(kio_class("heartbeat", version, "response"), message))
    assert response.error_code is ErrorCode.rebalance_in_progress


@pytest.mark.parametrize("version", range(6))
def test_translates_leave_group(version: int) -> None:
    kind = kio_class("leave_group", version, "request")
    if version >= 3:
        identity = kio_class("leave_group", version, "request", "MemberIdentity")
        request = kind(group_id="g", members=(identity(member_id="m", group_instance_id="i"),))
        instance = "i"
    else:
        request = kind(group_id="g", member_id="m")
        instance = None
    expected = messages.MemberIdentity(member_id="m", group_instance_id=instance)
    assert translation.read_leave_group(request) == messages.LeaveGroupRequest(group_id="g", members=(expected,))
    unknown = ErrorCode.unknown_member_id
    message = messages.LeaveGroupResponse(members=(messages.MemberResponse(member_id="m", error_code=unknown),))
    response = roundtrip(translation.write_leave_group(kio_class("leave_group", version, "response"), message))
    assert (response.members[0] if version >= 3 else response).error_code is unknown
    whole = messages.LeaveGroupResponse(error_code=ErrorCode.invalid_group_id)
    response = translation.write_leave_group(kio_class("leave_group", version, "response"), whole)
    assert response.error_code is ErrorCode.invalid_group_id


@pytest.mark.parametrize("version", range(2))
def test_translates_consumer_group_heartbeat(version: int) -> None:
    kind = kio_class("consumer_group_heartbeat", version, "request")
    held = kio_class("consumer_group_heartbeat", version, "request", "TopicPartitions")
    request = kind(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout=span(1_000),
        subscribed_topic_names=("foo",),
        topic_partitions=(held(topic_id=FOO.topic_id, partitions=(1,)),),
    )
    assert translation.read_request(
        messages.ConsumerGroupHeartbeatRequest, request
    ) == messages.ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=("foo",),
        topic_partitions=(messages.TopicPartitions(FOO.topic_id, (1,)),),
    )
    bare = kind(group_id="g", member_id="m", member_epoch=1, topic_partitions=None)
    assert translation.read_request(messages.ConsumerGroupHeartbeatRequest, bare).rebalance_timeout_ms == -1
    assigned = messages.Assignment((messages.TopicPartitions(FOO.topic_id, (1, 2)),))
    message = messages.ConsumerGroupHeartbeatResponse(
        member_id="m", member_epoch=2, heartbeat_interval_ms=5_000, assignment=assigned
    )
    response = roundtrip(
        translation.write_response(kio_class("consumer_group_heartbeat", version, "response"), message)
    )
    assert response.assignment.topic_partitions[0].partitions == (1, 2)
    assert response.heartbeat_interval == span(5_000)


@pytest.mark.parametrize("version", range(2, 11))
def test_translates_offset_commit(version: int) -> None:
    kind = kio_class("offset_commit", version, "request")
    topic = kio_class("offset_commit", version, "request", "OffsetCommitRequestTopic")
    partition = kio_class("offset_commit", version, "request", "OffsetCommitRequestPartition")
    name = {"topic_id": FOO.topic_id} if version >= 10 else {"name": "foo"}
    fields: dict[str, Any] = {"retention_time": i64Timedelta.parse(7 * translation._MILLISECOND)}
    entry = partition(partition_index=1, committed_offset=5, committed_metadata=None)
    request = kind(
        group_id="g",
        generation_id_or_member_epoch=3,
        member_id="m",
        topics=(topic(**name, partitions=(entry,)),),
        **(fields if version <= 4 else {}),
    )
    read = translation.read_request(messages.OffsetCommitRequest, request)
    assert read.retention_time_ms == (7 if version <= 4 else -1)
    assert read.topics[0].partitions[0].committed_offset == 5
    assert (read.topics[0].name, read.topics[0].topic_id) == (("", FOO.topic_id) if version >= 10 else ("foo", None))
    result = messages.TopicResult(
        name="foo", topic_id=FOO.topic_id, partitions=(messages.PartitionResult(partition_index=1),)
    )
    message = messages.OffsetCommitResponse(topics=(result,))
    response = roundtrip(translation.write_response(kio_class("offset_commit", version, "response"), message))
    assert response.topics[0].partitions[0].partition_index == 1


@pytest.mark.parametrize("version", range(6))
def test_translates_txn_offset_commit(version: int) -> None:
    kind = kio_class("txn_offset_commit", version, "request")
    request = kind(transactional_id="t", group_id="g", producer_id=1, producer_epoch=2, topics=())
    read = translation.read_request(messages.TxnOffsetCommitRequest, request)
    assert (read.producer_id, read.producer_epoch, read.generation_id) == (1, 2, -1)
    message = messages.OffsetCommitResponse(topics=(messages.TopicResult(name="foo"),))
    response = roundtrip(translation.write_response(kio_class("txn_offset_commit", version, "response"), message))
    assert response.topics[0].name == "foo"


@pytest.mark.parametrize("version", range(1, 11))
@pytest.mark.parametrize("code", [ErrorCode.none, ErrorCode.unknown_member_id])
def test_translates_offset_fetch(version: int, code: ErrorCode) -> None:
    kind = kio_class("offset_fetch", version, "request")
    suffix = "Topics" if version >= 8 else "Topic"
    topic = kio_class("offset_fetch", version, "request", f"OffsetFetchRequest{suffix}")
    name = {"topic_id": FOO.topic_id} if version >= 10 else {"name": "foo"}
    topics = (topic(**name, partition_indexes=(1,)),)
    fields: dict[str, Any] = {"group_id": "g", "topics": topics}
    if version >= 8:
        group = kio_class("offset_fetch", version, "request", "OffsetFetchRequestGroup")
        fields = {"groups": (group(**fields),)}
    if version >= 7:
        fields["require_stable"] = True
    asked = translation.read_offset_fetch(kind(**fields))
    (read,) = asked
    assert read.topics is not None
    assert read.topics[0].partition_indexes == (1,)
    entry = messages.OffsetFetchPartitionResult(partition_index=1, committed_offset=9)
    result = messages.OffsetFetchTopicResult(name="foo", topic_id=FOO.topic_id, partitions=(entry,))
    whole = messages.OffsetFetchGroupResult(
        group_id="g", topics=(result,) if code is ErrorCode.none else (), error_code=code
    )
    response = roundtrip(
        translation.write_offset_fetch(kio_class("offset_fetch", version, "response"), asked, (whole,))
    )
    place = response.groups[0] if version >= 8 else response
    if code is ErrorCode.none:
        assert place.topics[0].partitions[0].committed_offset == 9
    elif version == 1:
        assert place.topics[0].partitions[0].error_code is code
    else:
        assert place.error_code is code


def test_asks_for_all_topics_with_a_null() -> None:
    (read,) = translation.read_offset_fetch(
        kio_class("offset_fetch", 7, "request")(group_id="g", topics=None, require_stable=False)
    )
    assert read.topics is None


@pytest.mark.parametrize(
    ("api", "version", "field", "items"),
    [
        *(("describe_groups", v, "groups", [messages.DescribedGroup(group_id="g")]) for v in range(7)),
        *(("consumer_group_describe", v, "groups", [messages.DescribedConsumerGroup(group_id="g")]) for v in range(2)),
        *(("delete_groups", v, "results", [messages.DeletedGroup("g")]) for v in range(3)),
        *(
            (
                "list_groups",
                v,
                "groups",
                [messages.ListedGroup(group_id="g", protocol_type="", group_state="Empty", group_type="classic")],
            )
            for v in range(6)
        ),
    ],
)
def test_translates_listings(api: str, version: int, field: str, items: list[Any]) -> None:
    response = roundtrip(translation.write_listing(kio_class(api, version, "response"), field, items))
    assert getattr(response, field)[0].group_id == "g"


def test_translates_a_member_in_a_description() -> None:
    partitions = messages.DescribedTopicPartitions(topic_id=BAR.topic_id, topic_name="bar", partitions=(0,))
    member = messages.DescribedConsumer(
        member_id="m",
        member_epoch=1,
        client_id="c",
        client_host="/h",
        assignment=messages.DescribedAssignment((partitions,)),
        member_type=1,
    )
    group = messages.DescribedConsumerGroup(group_id="g", members=(member,))
    kind = kio_class("consumer_group_describe", 1, "response")
    response = roundtrip(translation.write_listing(kind, "groups", [group]))
    assert response.groups[0].members[0].assignment.topic_partitions[0].topic_name == "bar"
    assert TopicsView().by_id(BAR.topic_id) is None


def test_translates_offset_delete() -> None:
    kind = kio_class("offset_delete", 0, "request")
    topic = kio_class("offset_delete", 0, "request", "OffsetDeleteRequestTopic")
    partition = kio_class("offset_delete", 0, "request", "OffsetDeleteRequestPartition")
    request = kind(group_id="g", topics=(topic(name="foo", partitions=(partition(partition_index=1),)),))
    read = translation.read_request(messages.OffsetDeleteRequest, request)
    assert read.topics == (messages.OffsetDeleteTopic("foo", (messages.OffsetDeletePartition(1),)),)
    message = messages.OffsetDeleteResponse(error_code=ErrorCode.non_empty_group)
    response = roundtrip(translation.write_response(kio_class("offset_delete", 0, "response"), message))
    assert response.error_code is ErrorCode.non_empty_group
