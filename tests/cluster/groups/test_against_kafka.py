"""Stories of groups, told to a real Kafka and to our coordinator: every answer is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16, i32Timedelta, i64Timedelta
from tests.cluster.groups.both import (
    CONSUMER_DESCRIBE,
    CONSUMER_HEARTBEAT,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    PROPERTIES,
    START_MS,
    SYNC_GROUP,
    Both,
    Ours,
    Ref,
    Theirs,
)
from tests.kafka.cluster import KafkaCluster
from tests.kafka.plugin import KafkaFactory
from tests.kafka.requests import make_request

from doorkeeper.cluster.groups.coordinator import GroupCoordinator
from doorkeeper.cluster.groups.topics import TopicsView, TopicView
from doorkeeper.cluster.groups.translation import _MILLISECOND
from doorkeeper.wire.consumer_protocol import (
    Assignment,
    NamedPartitions,
    Subscription,
    read_assignment,
    write_assignment,
    write_subscription,
)
from doorkeeper.wire.coordinator_records import CoordinatorRecord, read_coordinator_record, write_coordinator_record
from doorkeeper.wire.records import iter_batches

pytestmark = pytest.mark.kafka

FIND_COORDINATOR, CREATE_TOPICS, METADATA = 10, 19, 3
MAX_QUESTIONS = 20_000

FOO = write_subscription(Subscription(topics=("foo",)))


def span(milliseconds: int) -> Any:
    return i32Timedelta.parse(milliseconds * _MILLISECOND)


@pytest.fixture(scope="module")
def kafka(kafka_cluster: KafkaFactory) -> KafkaCluster:
    cluster = kafka_cluster("groups", properties=PROPERTIES)
    with cluster.connect_broker() as connection:
        fields = {"replication_factor": i16(1), "assignments": [], "configs": []}
        topics = [{"name": "foo", "num_partitions": 6, **fields}, {"name": "bar", "num_partitions": 3, **fields}]
        created = connection.call(
            make_request(CREATE_TOPICS, 7, topics=topics, timeout=span(10_000), validate_only=False)
        )
        assert {int(topic.error_code) for topic in created.topics} == {0}
        # The topic of the offsets comes into being when somebody asks for a coordinator; then it has to be loaded.
        find = make_request(FIND_COORDINATOR, 4, key_type=0, coordinator_keys=("x",))
        poll(lambda: connection.call(find).coordinators[0].error_code is ErrorCode.none)
        probe = make_request(DESCRIBE_GROUPS, 6, groups=("x",), include_authorized_operations=False)
        poll(lambda: connection.call(probe).groups[0].error_code is ErrorCode.group_id_not_found)
    return cluster


def poll(is_so: Callable[[], bool]) -> None:
    """Ask until it is so; each question is a round trip, so this ends."""
    assert any(is_so() for _ in range(MAX_QUESTIONS)), "it never came to be so"


@pytest.fixture(scope="module")
def topics(kafka: KafkaCluster) -> TopicsView:
    with kafka.connect_broker() as connection:
        asked = [{"topic_id": None, "name": name} for name in ("foo", "bar")]
        request = make_request(
            METADATA, 12, topics=asked, allow_auto_topic_creation=False, include_topic_authorized_operations=False
        )
        found = connection.call(request).topics
    return TopicsView.of([TopicView(str(t.name), t.topic_id, len(t.partitions)) for t in found])


@pytest.fixture
def both(kafka: KafkaCluster, topics: TopicsView) -> Iterator[Both]:
    theirs = Theirs(kafka)
    yield Both(theirs, Ours(topics))
    theirs.close()


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", "-").replace("]", "")  # type: ignore[no-any-return]


# --- the classic protocol ----------------------------------------------------------------------------------------


def join_fields(group: str, member: Any = "", **changes: Any) -> dict[str, Any]:
    version = changes.pop("version", 9)
    fields: dict[str, Any] = {
        "group_id": group,
        "session_timeout": span(10_000),
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": FOO}],
        **changes,
    }
    if version >= 1:
        fields["rebalance_timeout"] = span(20_000)
    return fields


def sync_fields(group: str, member: Any, generation: int, assignments: Any = (), **changes: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "generation_id": generation,
        "member_id": member,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member_id, "assignment": data} for member_id, data in assignments],
        **changes,
    }


def beat(both: Both, group: str, member: Any, generation: int, version: int = 4, **changes: Any) -> str:
    fields = {"group_id": group, "generation_id": generation, "member_id": member, **changes}
    return str(both.call("beat", HEARTBEAT, version, **fields)["error_code"])


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
    both.call("a", DESCRIBE_GROUPS, 6, groups=(group,), include_authorized_operations=False)
    both.call("a", JOIN_GROUP, 9, **join_fields(group, Ref("a")))
    both.call("a", SYNC_GROUP, 5, **sync_fields(group, Ref("a"), 1, [(Ref("a"), b"A")]))
    both.call("b", JOIN_GROUP, 9, **join_fields(group), saves="b")
    assert beat(both, group, Ref("a"), 1) == "none"
    both.start("b", JOIN_GROUP, 9, **join_fields(group, Ref("b")))
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


def consume(both: Both, group: str, member: str, epoch: int = 0, *, version: int = 1, **changes: Any) -> Any:
    fields: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": epoch, "topic_partitions": None}
    if epoch == 0:
        fields |= {
            "rebalance_timeout": span(20_000),
            "subscribed_topic_names": ("foo",),
            "server_assignor": "range",
            "topic_partitions": [],
        }
    return both.call(member or "x", CONSUMER_HEARTBEAT, version, **{**fields, **changes})


def describe(both: Both, group: str) -> Any:
    return both.call("d", CONSUMER_DESCRIBE, 1, group_ids=(group,), include_authorized_operations=False)


def held(topics: TopicsView, name: str, *partitions: int) -> list[dict[str, Any]]:
    return [{"topic_id": topics.topics[name].topic_id, "partitions": partitions}] if partitions else []


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


def heartbeat_fields(group: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": "m1",
        "member_epoch": 0,
        "rebalance_timeout": span(20_000),
        "subscribed_topic_names": ("foo",),
        "topic_partitions": [],
    }


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


def commit(both: Both, group: str, version: int, topics: TopicsView, **changes: Any) -> Any:
    entries = [
        {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m"},
        {"partition_index": 5, "committed_offset": 6, "committed_metadata": None},
        {"partition_index": 6, "committed_offset": 7, "committed_metadata": ""},
        {"partition_index": 1, "committed_offset": 7, "committed_metadata": "x" * 4097},
    ]
    known: dict[str, Any] = {"topic_id": topics.topics["foo"].topic_id} if version >= 10 else {"name": "foo"}
    unknown: dict[str, Any] = {"topic_id": UUID(int=99)} if version >= 10 else {"name": "nope"}
    fields: dict[str, Any] = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{**known, "partitions": entries}, {**unknown, "partitions": entries[:1]}],
        **changes,
    }
    if version <= 4:
        fields["retention_time"] = i64Timedelta.parse(-1 * _MILLISECOND)
    return both.call("o", OFFSET_COMMIT, version, **fields)


def fetch(both: Both, group: str, version: int, topics: TopicsView, *, everything: bool = False, **changes: Any) -> Any:
    names: list[dict[str, Any]] = [{"name": "foo"}, {"name": "bar"}, {"name": "nope"}]
    if version >= 10:
        ids = (topics.topics["foo"].topic_id, topics.topics["bar"].topic_id, UUID(int=99))
        names = [{"topic_id": topic_id} for topic_id in ids]
    asked = None if everything else [{**name, "partition_indexes": (0, 1, 5)} for name in names]
    fields: dict[str, Any] = {"group_id": group, "topics": asked, **changes}
    if version >= 8:
        fields = {"groups": [fields]}
    if version >= 7:
        fields["require_stable"] = True
    return both.call("o", OFFSET_FETCH, version, **fields)


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


# --- by lot ------------------------------------------------------------------------------------------------------


class Walk:
    """Random requests of consumers and classic members to one group; one consumer never leaves it."""

    def __init__(self, both: Both, group: str, topics: TopicsView, seed: int) -> None:
        self.both = both
        self.group = group
        self.topics = topics
        self.lot = Random(seed)
        self.epochs: dict[str, int] = {}
        self.told: dict[str, dict[UUID, tuple[int, ...]]] = {}
        consume(both, group, "anchor", subscribed_topic_names=("bar",))

    def names(self) -> tuple[str, ...]:
        return tuple(self.lot.sample(["foo", "bar", "nope"], self.lot.randint(0, 3)))

    def owned(self, member: str) -> list[dict[str, Any]]:
        """All that the member was told to hold, or a part of it."""
        told = self.told.get(member, {})
        entries = [
            {"topic_id": topic_id, "partitions": tuple(p for p in partitions if self.lot.random() < 0.9)}
            for topic_id, partitions in told.items()
        ]
        return [entry for entry in entries if self.lot.random() < 0.9]

    def epoch(self, member: str) -> int:
        known = self.epochs.get(member, 0)
        return self.lot.choices([known, 0, known - 1, known + 1], [85, 7, 4, 4])[0]

    def consumer(self) -> None:
        member = self.lot.choice(["m1", "m2", "m3", "anchor"])
        epoch = max(self.epoch(member), 0)
        fields: dict[str, Any] = {}
        if member == "m3":
            fields["instance_id"] = "i"
        if epoch == 0 or self.lot.random() < 0.2:
            fields |= {"subscribed_topic_names": self.names(), "rebalance_timeout": span(20_000)}
        if epoch > 0 and self.lot.random() < 0.7:
            fields["topic_partitions"] = self.owned(member)
        if member != "anchor" and self.lot.random() < 0.1:
            epoch = -2 if member == "m3" and self.lot.random() < 0.5 else -1
            fields.pop("topic_partitions", None)
        answer = consume(self.both, self.group, member, epoch, **fields)
        self.epochs[member] = max(answer["member_epoch"], 0)
        if answer["assignment"] is not None:
            entries = answer["assignment"]["topic_partitions"]
            self.told[member] = {entry["topic_id"]: tuple(entry["partitions"]) for entry in entries}

    def classic(self) -> None:
        member = self.lot.choice(["c1", "c2"])
        kind = self.lot.choice(["join", "join", "sync", "sync", "beat", "beat", "leave"])
        if kind == "join":
            names = {topic.topic_id: topic.name for topic in self.topics.topics.values()}
            owned = [
                NamedPartitions(topic=names[e["topic_id"]], partitions=e["partitions"]) for e in self.owned(member)
            ]
            subscription = Subscription(topics=self.names(), owned_partitions=tuple(owned))
            protocols = [{"name": "range", "metadata": write_subscription(subscription)}]
            fields = {**join_fields(self.group, member), "protocols": protocols}
            answer = self.both.call(member, JOIN_GROUP, 9, **fields)
            self.epochs[member] = max(answer["generation_id"], 0)
        elif kind == "sync":
            answer = self.sync(member)
            if answer["error_code"] == "none":
                assigned = read_assignment(answer["assignment"]).assigned_partitions
                self.told[member] = {self.topics.topics[e.topic].topic_id: e.partitions for e in assigned}
        elif kind == "beat":
            beat(self.both, self.group, member, self.epoch(member))
        elif self.lot.random() < 0.3:
            self.both.call("l", LEAVE_GROUP, 5, group_id=self.group, members=[{"member_id": member}])

    def sync(self, member: str) -> Any:
        """The order of topics in an assignment is that of a hash map in Kafka; so they are compared sorted."""
        self.both.start(member, SYNC_GROUP, 5, **sync_fields(self.group, member, self.epoch(member)))
        theirs, ours = self.both.theirs.finish(member), self.both.ours.finish(member)
        assert theirs.error_code == ours.error_code
        if theirs.error_code is ErrorCode.none:
            sorted_topics = [
                sorted((e.topic, sorted(e.partitions)) for e in read_assignment(side.assignment).assigned_partitions)
                for side in (theirs, ours)
            ]
            assert sorted_topics[0] == sorted_topics[1]
        return {"error_code": ours.error_code.name, "assignment": ours.assignment}

    def offsets(self) -> None:
        member = self.lot.choice(["m1", "m2", "c1"])
        version = self.lot.choice([8, 9, 10])
        commit(
            self.both,
            self.group,
            version,
            self.topics,
            generation_id_or_member_epoch=self.epoch(member),
            member_id=member,
        )
        fetch(self.both, self.group, 9, self.topics, member_id=member, member_epoch=self.epoch(member))


@pytest.mark.parametrize("seed", range(6))
def test_random_requests(both: Both, group: str, topics: TopicsView, seed: int) -> None:
    walk = Walk(both, group, topics, seed)
    for _ in range(250):
        walk.lot.choices([walk.consumer, walk.classic, walk.offsets], [6, 3, 1])[0]()
        if walk.lot.random() < 0.2:
            describe(both, group)


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
