"""Stories of groups, told to a real Kafka and to our coordinator: every answer is the same."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.cluster.groups.asking import (
    FOO,
    beat,
    commit,
    consume,
    describe,
    fetch,
    heartbeat_fields,
    held,
    join_fields,
    poll,
    span,
    sync_fields,
)
from tests.cluster.groups.both import (
    CONSUMER_DESCRIBE,
    CONSUMER_HEARTBEAT,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    OFFSET_DELETE,
    START_MS,
    SYNC_GROUP,
    Both,
    Ref,
)
from tests.kafka.cluster import KafkaCluster
from tests.kafka.requests import make_request

from doorkeeper.cluster.groups.coordinator import GroupCoordinator
from doorkeeper.cluster.groups.topics import TopicsView
from doorkeeper.wire.consumer_protocol import (
    Assignment,
    NamedPartitions,
    Subscription,
    write_assignment,
    write_subscription,
)
from doorkeeper.wire.coordinator_records import CoordinatorRecord, read_coordinator_record, write_coordinator_record
from doorkeeper.wire.records import iter_batches

pytestmark = pytest.mark.kafka


# --- the classic protocol ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4))
def test_one_member_of_an_old_client(both: Both, group: str, version: int) -> None:
    both.call("a", JOIN_GROUP, version, **join_fields(group, version=version), saves="a")
    fields: dict[str, Any] = {"group_id": group, "generation_id": 1, "member_id": Ref("a")}
    assignments = [{"member_id": Ref("a"), "assignment": b"x"}]
    both.call("a", SYNC_GROUP, min(version, 3), **fields, assignments=assignments)
    assert beat(both, group, Ref("a"), 1, min(version, 3)) == "none"
    assert beat(both, group, Ref("a"), 2, min(version, 3)) == "illegal_generation"
    options: dict[str, Any] = {"include_authorized_operations": False} if version >= 3 else {}
    both.call("a", DESCRIBE_GROUPS, version, groups=(group,), **options)
    if version < 3:
        both.call("a", LEAVE_GROUP, version, group_id=group, member_id=Ref("a"))
        both.call("a", LEAVE_GROUP, version, group_id=group, member_id=Ref("a"))
    else:
        both.call("a", LEAVE_GROUP, 3, group_id=group, members=[{"member_id": Ref("a")}])


def test_two_members_join_rebalance_and_leave(both: Both, group: str) -> None:
    assert both.call("a", JOIN_GROUP, 9, **join_fields(group), saves="a")["error_code"] == "member_id_required"
    both.call("a", JOIN_GROUP, 9, **join_fields(group, Ref("a")))
    both.call("a", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 1, [(Ref("a"), b"A")]))
    both.call("b", JOIN_GROUP, 9, **join_fields(group), saves="b")
    assert beat(both, group, Ref("a"), 1) == "none"
    both.start("b", JOIN_GROUP, 9, **join_fields(group, Ref("b")))
    # The two connections are not in step: wait until Kafka has seen the join.
    request = make_request(DESCRIBE_GROUPS, 6, groups=(group,), include_authorized_operations=False)
    with both.theirs.kafka.connect_broker() as connection:
        poll(lambda: connection.call(request).groups[0].group_state == "PreparingRebalance")
    assert beat(both, group, Ref("a"), 1) == "rebalance_in_progress"
    both.call("c", DESCRIBE_GROUPS, 6, groups=(group,), include_authorized_operations=False)
    both.call("a2", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 1))
    both.start("a", JOIN_GROUP, 9, **join_fields(group, Ref("a")))
    assert len(both.finish("a")["members"]) == 2
    assert both.finish("b")["generation_id"] == 2
    both.start("b", SYNC_GROUP, 5, **sync_fields(group, Ref("b"), 2))
    both.call("a", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 2, [(Ref("a"), b"A"), (Ref("b"), b"B")]))
    assert both.finish("b")["assignment"] == b"B"
    both.call("c", DESCRIBE_GROUPS, 6, groups=(group,), include_authorized_operations=False)
    members = [{"member_id": Ref("b")}, {"member_id": "stranger"}, {"member_id": Ref("a"), "group_instance_id": "i"}]
    both.call("c", LEAVE_GROUP, 5, group_id=group, members=members)
    assert beat(both, group, Ref("b"), 2) == "unknown_member_id"
    both.call("a", JOIN_GROUP, 9, **join_fields(group, Ref("a")))
    both.call("c", LEAVE_GROUP, 5, group_id=group, members=[{"member_id": Ref("a")}])
    both.call("c", DESCRIBE_GROUPS, 6, groups=(group,), include_authorized_operations=False)
    both.call("c", DELETE_GROUPS, 2, groups_names=(group, "nope", group + "-x"))
    both.call("c", DESCRIBE_GROUPS, 6, groups=(group,), include_authorized_operations=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"group_id": ""},
        {"session_timeout": 5_999},
        {"session_timeout": 1_800_001},
        {"protocols": []},
        {"protocol_type": ""},
        {"member_id": "stranger"},
        {"member_id": "stranger", "group_instance_id": "i"},
    ],
)
def test_joins_that_are_refused(both: Both, group: str, changes: dict[str, Any]) -> None:
    changes = {key: span(value) if isinstance(value, int) else value for key, value in changes.items()}
    both.call("a", JOIN_GROUP, 9, **{**join_fields(group), **changes})


@pytest.mark.parametrize("version", [8, 9])
def test_static_members_come_back(both: Both, group: str, version: int) -> None:
    both.call("a", JOIN_GROUP, version, **join_fields(group, group_instance_id="i"), saves="a")
    fields = sync_fields(group, Ref("a"), 1, [(Ref("a"), b"A")], group_instance_id="i")
    both.call("a", SYNC_GROUP, 5, **fields)
    both.call("b", JOIN_GROUP, version, **join_fields(group, group_instance_id="i"), saves="b")
    assert beat(both, group, Ref("a"), 1, group_instance_id="i") == "fenced_instance_id"
    assert beat(both, group, Ref("b"), 1, group_instance_id="i") == "none"
    assert beat(both, group, Ref("b"), 1, group_instance_id="j") == "unknown_member_id"
    both.call("b", SYNC_GROUP, 5, **sync_fields(group, Ref("b"), 1, group_instance_id="i"))
    both.call("a", JOIN_GROUP, version, **join_fields(group, Ref("a"), group_instance_id="i"))
    both.call("c", LEAVE_GROUP, 5, group_id=group, members=[{"member_id": "", "group_instance_id": "i"}])
    both.call("c", DESCRIBE_GROUPS, 5, groups=(group,), include_authorized_operations=False)


def test_syncs_that_are_refused(both: Both, group: str) -> None:
    both.call("a", SYNC_GROUP, 5, **sync_fields(group, "m", 1))
    both.call("a", SYNC_GROUP, 5, **sync_fields("", "m", 1))
    both.call("a", JOIN_GROUP, 3, **join_fields(group), saves="a")
    both.call("b", SYNC_GROUP, 5, **sync_fields(group, "m", 1))
    both.call("b", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 0))
    both.call("b", SYNC_GROUP, 5, **{**sync_fields(group, Ref("a"), 1), "protocol_type": "connect"})
    both.call("b", SYNC_GROUP, 5, **{**sync_fields(group, Ref("a"), 1), "protocol_name": "sticky"})
    both.call("b", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 1, [("stranger", b"x")]))


# --- the consumer protocol ---------------------------------------------------------------------------------------


def test_three_consumers_share_and_leave(both: Both, group: str, topics: TopicsView) -> None:
    consume(both, group, "m1", instance_id="i1", rack_id="r")
    describe(both, group)
    consume(both, group, "m1", 2, instance_id="i1")
    consume(both, group, "m2")
    describe(both, group)
    consume(both, group, "m1", 2, instance_id="i1")
    describe(both, group)
    consume(both, group, "m2", 3)
    consume(both, group, "m1", 2, instance_id="i1", topic_partitions=held(topics, "foo", 0, 1, 2, 3))
    consume(both, group, "m1", 2, instance_id="i1", topic_partitions=held(topics, "foo", 0, 1, 2))
    consume(both, group, "m2", 3)
    describe(both, group)
    consume(both, group, "m3", subscribed_topic_names=("foo", "bar"))
    consume(both, group, "m2", 3, subscribed_topic_names=("bar",))
    consume(both, group, "m2", 3, topic_partitions=[])
    describe(both, group)
    consume(both, group, "m1", 3, instance_id="i1")
    consume(both, group, "m1", 99, instance_id="i1")
    consume(both, group, "m1", 1, instance_id="i1")
    consume(both, group, "m9", 1)
    consume(both, group, "m9", instance_id="i1")
    consume(both, group, "m1", -2, instance_id="i1")
    describe(both, group)
    consume(both, group, "m4", instance_id="i1")
    consume(both, group, "m1", 3, instance_id="i1")
    describe(both, group)
    consume(both, group, "m3", -1)
    consume(both, group, "m4", -1, instance_id="i1")
    consume(both, group, "m4", -1, instance_id="i1")
    describe(both, group)
    consume(both, group, "m2", -1)
    describe(both, group)
    both.call("d", DESCRIBE_GROUPS, 6, groups=(group,), include_authorized_operations=False)
    both.call("d", DELETE_GROUPS, 2, groups_names=(group,))
    describe(both, group)


@pytest.mark.parametrize(
    "changes",
    [
        {"member_id": ""},
        {"member_id": " "},
        {"group_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout": span(-1)},
        {"topic_partitions": None},
        {"topic_partitions": [{"topic_id": UUID(int=1), "partitions": (0,)}]},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"member_epoch": -1},
        {"member_epoch": 5},
        {"server_assignor": "mine"},
        {"subscribed_topic_names": ()},
        {"subscribed_topic_names": ("no-such-topic",)},
        {"rack_id": "r", "instance_id": "i", "server_assignor": None},
    ],
)
def test_first_heartbeats(both: Both, group: str, changes: dict[str, Any]) -> None:
    if changes.get("server_assignor") == "mine":
        both.start("x", CONSUMER_HEARTBEAT, 1, **{**heartbeat_fields(group), **changes})
        theirs, ours = both.theirs.finish("x"), both.ours.finish("x")
        assert theirs.error_code == ours.error_code  # Kafka names the assignors in the order of a hash set
        return
    both.call("x", CONSUMER_HEARTBEAT, 1, **{**heartbeat_fields(group), **changes})


def test_a_consumer_of_version_0_gets_its_id_from_the_coordinator(both: Both, group: str) -> None:
    fields = {**heartbeat_fields(group), "member_id": ""}
    both.call("x", CONSUMER_HEARTBEAT, 0, **fields, saves="m")
    describe(both, group)


def test_a_subscription_by_pattern(both: Both, group: str) -> None:
    fields = {**heartbeat_fields(group), "subscribed_topic_names": None, "subscribed_topic_regex": "fo.*|b"}
    epoch = both.call("x", CONSUMER_HEARTBEAT, 1, **fields)["member_epoch"]
    request = make_request(CONSUMER_DESCRIBE, 1, group_ids=(group,), include_authorized_operations=False)
    with both.theirs.kafka.connect_broker() as connection:
        poll(lambda: connection.call(request).groups[0].group_epoch > epoch)
    consume(both, group, "m1", epoch)
    describe(both, group)
    consume(both, group, "m1", epoch + 1, subscribed_topic_regex="", subscribed_topic_names=("bar",))
    describe(both, group)


@pytest.mark.parametrize("regex", ["(", "[a", r"(a)\1", "(?=a)", "*", "a**", "\\"])
def test_patterns_that_are_refused(both: Both, group: str, regex: str) -> None:
    fields = {**heartbeat_fields(group), "subscribed_topic_regex": regex}
    both.start("x", CONSUMER_HEARTBEAT, 1, **fields)
    theirs, ours = both.theirs.finish("x"), both.ours.finish("x")
    assert theirs.error_code == ours.error_code
    prefix = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: "
    assert str(theirs.error_message).startswith(prefix) == str(ours.error_message).startswith(prefix)


# --- offsets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 11))
def test_commits_and_fetches_of_every_version(both: Both, group: str, topics: TopicsView, version: int) -> None:
    fetch(both, group, max(version - 1, 1), topics)
    commit(both, group, version, topics)
    commit(both, group + "-none", version, topics, generation_id_or_member_epoch=3, member_id="m")
    for fetched in {max(version - 1, 1), version}:
        fetch(both, group, fetched, topics)
        if fetched >= 2:
            fetch(both, group, fetched, topics, everything=True)
            fetch(both, group + "-none", fetched, topics, everything=True)


def test_commits_of_a_classic_member(both: Both, group: str, topics: TopicsView) -> None:
    both.call("a", JOIN_GROUP, 3, **join_fields(group), saves="a")
    commit(both, group, 9, topics, generation_id_or_member_epoch=1, member_id=Ref("a"))
    both.call("a", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 1, [(Ref("a"), b"A")]))
    for epoch, member in ((1, Ref("a")), (2, Ref("a")), (0, Ref("a")), (1, "stranger"), (-1, ""), (1, "")):
        commit(both, group, 9, topics, generation_id_or_member_epoch=epoch, member_id=member)
    partitions = [{"partition_index": 0}, {"partition_index": 9}]
    deleted = [{"name": name, "partitions": partitions} for name in ("foo", "bar", "nope")]
    both.call("o", OFFSET_DELETE, 0, group_id=group, topics=deleted)
    both.call("o", LEAVE_GROUP, 5, group_id=group, members=[{"member_id": Ref("a")}])
    both.call("o", OFFSET_DELETE, 0, group_id=group, topics=deleted)
    both.call("o", OFFSET_DELETE, 0, group_id=group + "-none", topics=deleted)
    fetch(both, group, 9, topics, everything=True)
    both.call("o", DELETE_GROUPS, 2, groups_names=(group,))
    fetch(both, group, 9, topics)


def test_commits_and_fetches_of_a_consumer(both: Both, group: str, topics: TopicsView) -> None:
    consume(both, group, "m1")
    for epoch, member in ((2, "m1"), (3, "m1"), (1, "m1"), (2, "stranger"), (-1, "")):
        commit(both, group, 9, topics, generation_id_or_member_epoch=epoch, member_id=member)
        fetch(both, group, 9, topics, member_id=member or None, member_epoch=epoch)
    commit(both, group, 8, topics, generation_id_or_member_epoch=2, member_id="m1")
    commit(both, group, 10, topics, generation_id_or_member_epoch=2, member_id="m1")
    fetch(both, group, 10, topics, member_id="m1", member_epoch=2)
    both.call("o", OFFSET_DELETE, 0, group_id=group, topics=[{"name": "foo", "partitions": [{"partition_index": 0}]}])


# --- from one protocol to the other, and back --------------------------------------------------------------------


def test_a_group_is_upgraded_and_downgraded(both: Both, group: str, topics: TopicsView) -> None:
    everything = NamedPartitions(topic="foo", partitions=tuple(range(6)))
    both.call("a", JOIN_GROUP, 3, **join_fields(group), saves="a")
    assigned = write_assignment(Assignment(assigned_partitions=(everything,)))
    both.call("a", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 1, [(Ref("a"), assigned)]))
    consume(both, group, "0-first", instance_id="i")
    describe(both, group)
    assert beat(both, group, Ref("a"), 1) == "rebalance_in_progress"
    owning = write_subscription(Subscription(topics=("foo",), owned_partitions=(everything,)))
    fields = {**join_fields(group, Ref("a")), "protocols": [{"name": "range", "metadata": owning}]}
    both.call("a", JOIN_GROUP, 9, **fields)
    both.call("a", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 1))
    fields["protocols"] = [{"name": "range", "metadata": FOO}]
    both.call("a", JOIN_GROUP, 9, **fields)
    both.call("a", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 2))
    describe(both, group)
    assert beat(both, group, Ref("a"), 2) == "none"
    consume(both, group, "0-first", 2, instance_id="i")
    describe(both, group)
    commit(both, group, 8, topics, generation_id_or_member_epoch=2, member_id=Ref("a"))
    both.call("b", JOIN_GROUP, 9, **join_fields(group, group_instance_id="i"), saves="b")
    both.call("d", DESCRIBE_GROUPS, 6, groups=(group,), include_authorized_operations=False)
    assert beat(both, group, Ref("a"), 2) == "none"
    both.call("b", SYNC_GROUP, 5, **sync_fields(group, Ref("b"), 2, group_instance_id="i"))


def test_refused_upgrades(both: Both, group: str) -> None:
    fields = {**join_fields(group), "protocol_type": "connect"}
    both.call("a", JOIN_GROUP, 3, **fields, saves="a")
    consume(both, group, "m1")
    consume(both, group, "m1", 3)


# --- the log -----------------------------------------------------------------------------------------------------


def test_reads_the_log_that_kafka_wrote(both: Both, kafka: KafkaCluster, topics: TopicsView, group: str) -> None:
    """Our coordinator, loaded from Kafka's files, describes every group as Kafka does; and writes the same bytes."""
    consume(both, group, "m1")
    consume(both, group, "m2", subscribed_topic_names=("foo", "bar"))
    coordinator = GroupCoordinator(new_member_id=str, topics=topics)
    count = 0
    for segment in sorted((kafka.nodes[1].folder / "data" / "__consumer_offsets-0").glob("*.log")):
        for _, batch in iter_batches(segment.read_bytes()):
            for record in () if batch.header.is_control else batch.records:
                assert record.key is not None
                parsed = read_coordinator_record(record.key, record.value)
                assert isinstance(parsed, CoordinatorRecord)
                assert write_coordinator_record(parsed) == (record.key, record.value)
                coordinator.replay(parsed, count)
                count += 1
    assert count > 5
    coordinator.loaded(START_MS)
    ours = {one.group_id: one for one in coordinator.list_groups()}
    with kafka.connect_broker() as connection:
        listed = connection.call(make_request(LIST_GROUPS, 5, states_filter=(), types_filter=())).groups
        assert {str(one.group_id) for one in listed} == ours.keys()
        names = tuple(str(one.group_id) for one in listed if one.group_type == "consumer")
        theirs = connection.call(
            make_request(CONSUMER_DESCRIBE, 1, group_ids=names, include_authorized_operations=False)
        ).groups
    described = {one.group_id: one for one in coordinator.describe_consumer_groups(names)}
    for one in theirs:
        mine = described[str(one.group_id)]
        assert (one.group_state, one.group_epoch, one.assignment_epoch) == (
            mine.group_state,
            mine.group_epoch,
            mine.assignment_epoch,
        )
        assert {m.member_id: m.member_epoch for m in one.members} == {m.member_id: m.member_epoch for m in mine.members}
