"""Groups in a running node: found, joined, kept in `__consumer_offsets`, and there again after a restart."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import ask, batch, create_topic, produce
from tests.cluster.running import RunningCluster
from tests.kafka.requests import Connection

from doorkeeper.cluster.broker.coordinated_topic import coordinator_partition
from doorkeeper.cluster.messages import make_request
from doorkeeper.errors import StorageError
from doorkeeper.wire.registry import Door

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP = 8, 9, 10, 11, 12, 13
SYNC_GROUP, DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS, OFFSET_DELETE = 14, 15, 16, 42, 47
CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69
FEW = {"offsets.topic.num.partitions": "4", "group.initial.rebalance.delay.ms": "0"}
SESSION = timedelta(seconds=30)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides=FEW) as running:
        with running.connect() as connection:
            create_topic(connection, "orders", partitions=2)
            find(connection, "any")
        yield running


@pytest.fixture
def connection(cluster: RunningCluster) -> Iterator[Connection]:
    with cluster.connect() as opened:
        yield opened


def find(connection: Connection, *keys: str, key_type: int = 0) -> Any:
    return ask(connection, FIND_COORDINATOR, 6, key_type=key_type, coordinator_keys=keys).coordinators


def test_that_there_can_be_no_groups_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING, "doorkeeper.broker"),
        RunningCluster(tmp_path, overrides={"offsets.topic.replication.factor": "3"}) as cluster,
        cluster.connect() as connection,
    ):
        for _ in range(2):
            assert find(connection, "any")[0].error_code == ErrorCode.coordinator_not_available
    (said,) = [one.getMessage() for one in caplog.records if "was not created" in one.getMessage()]
    assert said.startswith("topic '__consumer_offsets' was not created: ")
    assert "gateway" in said


def join(connection: Connection, group: str, member: str = "", version: int = 9) -> Any:
    return ask(
        connection,
        JOIN_GROUP,
        version,
        group_id=group,
        member_id=member,
        session_timeout=SESSION,
        rebalance_timeout=SESSION,
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": b"\0\0"}],
    )


def settle(connection: Connection, group: str) -> tuple[str, int]:
    """Join alone, and sync; returns the member's id and generation."""
    first = join(connection, group)
    assert first.error_code == ErrorCode.member_id_required
    joined = join(connection, group, first.member_id)
    assert joined.error_code == ErrorCode.none
    synced = ask(
        connection,
        SYNC_GROUP,
        5,
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[{"member_id": joined.member_id, "assignment": b"mine"}],
    )
    assert (synced.error_code, bytes(synced.assignment)) == (ErrorCode.none, b"mine")
    return joined.member_id, joined.generation_id


def commit(connection: Connection, group: str, offset: int, *, member: str = "", generation: int = -1) -> ErrorCode:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "note"}
    topics = [{"name": "orders", "partitions": [partition]}]
    values = {"group_id": group, "member_id": member, "topics": topics}
    response = ask(connection, OFFSET_COMMIT, 9, generation_id_or_member_epoch=generation, **values)
    code: ErrorCode = response.topics[0].partitions[0].error_code
    return code


def committed(connection: Connection, group: str) -> int:
    topics = [{"name": "orders", "partition_indexes": [0]}]
    response = ask(connection, OFFSET_FETCH, 8, groups=[{"group_id": group, "topics": topics}])
    return int(response.groups[0].topics[0].partitions[0].committed_offset)


# --- finding ---


@pytest.mark.parametrize("version", [0, 3])
def test_coordinator_of_one_key_is_found(cluster: RunningCluster, connection: Connection, version: int) -> None:
    found = ask(connection, FIND_COORDINATOR, version, key="readers", key_type=0)
    assert (found.error_code, found.node_id) == (ErrorCode.none, 1)
    assert found.port == cluster.address(Door.BROKER)[1]


def test_coordinators_of_many_keys_are_found_and_their_topic_is_made_on_demand(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as cluster, cluster.connect() as connection:
        assert {(one.key, one.error_code) for one in find(connection, "a", "b")} == {("a", 0), ("b", 0)}
        topics = cluster.node().broker.image.topics.by_name  # type: ignore[union-attr]
        assert len(topics["__consumer_offsets"].partitions) == 4


def test_share_coordinator_is_not_served(connection: Connection) -> None:
    assert find(connection, "group:AAAAAAAAAAAAAAAAAAAAAA:0", key_type=2)[0].error_code == ErrorCode.invalid_request


def test_broker_that_does_not_keep_the_group_says_so(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, brokers=2, overrides=FEW) as cluster, cluster.connect() as connection:
        found = {one.key: one.node_id for one in find(connection, *(f"group-{number}" for number in range(8)))}
        assert set(found.values()) == {1, 2}
        elsewhere = next(key for key, node in found.items() if node == 2)
        assert join(connection, elsewhere).error_code == ErrorCode.not_coordinator
        with cluster.connect(Door.BROKER, 2) as right:
            cluster.wait_until(lambda: bool(list(cluster.node(2).broker.data.groups)))  # type: ignore[union-attr]
            assert join(right, elsewhere).error_code == ErrorCode.member_id_required


# --- classic groups ---


def test_member_joins_syncs_beats_and_leaves(connection: Connection) -> None:
    member, generation = settle(connection, "classic")
    assert len(member) == 36
    beat = {"group_id": "classic", "generation_id": generation, "member_id": member}
    assert ask(connection, HEARTBEAT, 4, **beat).error_code == ErrorCode.none
    stale = beat | {"generation_id": generation + 1}
    assert ask(connection, HEARTBEAT, 0, **stale).error_code == ErrorCode.illegal_generation
    left = ask(connection, LEAVE_GROUP, 5, group_id="classic", members=[{"member_id": member}])
    assert left.members[0].error_code == ErrorCode.none
    assert ask(connection, HEARTBEAT, 4, **beat).error_code == ErrorCode.unknown_member_id


def test_second_member_waits_until_the_first_has_joined_again(cluster: RunningCluster, connection: Connection) -> None:
    member, generation = settle(connection, "pair")
    with cluster.connect() as other:
        second = join(other, "pair").member_id
        protocols = [{"name": "range", "metadata": b"\0\0"}]
        waiting = {"protocol_type": "consumer", "protocols": protocols, "group_id": "pair"}
        times = {"session_timeout": SESSION, "rebalance_timeout": SESSION}
        other.send(make_request(JOIN_GROUP, 9, {"member_id": second, **waiting, **times}))
        beat = {"group_id": "pair", "generation_id": generation, "member_id": member}
        while (code := ask(connection, HEARTBEAT, 4, **beat).error_code) == ErrorCode.none:
            pass
        assert code == ErrorCode.rebalance_in_progress
        again = join(connection, "pair", member)
        assert (again.error_code, len(again.members)) == (ErrorCode.none, 2)
        assert again.generation_id == generation + 1


def test_member_that_never_comes_back_is_dropped_when_its_session_ends(tmp_path: Path) -> None:
    short = FEW | {"group.min.session.timeout.ms": "50"}
    with RunningCluster(tmp_path, overrides=short) as cluster, cluster.connect() as connection:
        find(connection, "brief")
        quick = {"session_timeout": timedelta(milliseconds=100), "rebalance_timeout": SESSION}
        protocols = [{"name": "range", "metadata": b""}]
        request = {"group_id": "brief", "protocol_type": "consumer", "protocols": protocols, **quick}
        joined = ask(connection, JOIN_GROUP, 3, **request)
        assert joined.error_code == ErrorCode.none
        groups = cluster.node().broker.data.groups  # type: ignore[union-attr]
        partition = groups.find("brief")
        assert not isinstance(partition, ErrorCode)
        cluster.wait_until(lambda: partition.coordinator.state.groups["brief"].is_empty)


# --- the consumer protocol ---


def test_member_of_the_consumer_protocol_is_given_all_partitions(connection: Connection) -> None:
    beat = {
        "group_id": "modern",
        "member_id": "8a6e0804-2bd0-4672-b79d-d97027f9071a",
        "member_epoch": 0,
        "rebalance_timeout": SESSION,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    answer = ask(connection, CONSUMER_GROUP_HEARTBEAT, 1, **beat)
    assert answer.error_code == ErrorCode.none
    assert answer.member_epoch > 0
    assert [one.partitions for one in answer.assignment.topic_partitions] == [(0, 1)]
    asked = {"group_ids": ["modern", "missing"], "include_authorized_operations": True}
    described = ask(connection, CONSUMER_GROUP_DESCRIBE, 1, **asked).groups
    assert [one.error_code for one in described] == [ErrorCode.none, ErrorCode.group_id_not_found]
    assert described[0].members[0].assignment.topic_partitions[0].topic_name == "orders"
    assert described[0].authorized_operations > 0
    assert described[1].authorized_operations < 0


# --- offsets ---


def test_offsets_are_committed_and_fetched(connection: Connection) -> None:
    assert committed(connection, "standalone") == -1
    assert commit(connection, "standalone", 7) == ErrorCode.none
    assert committed(connection, "standalone") == 7
    oldest = ask(
        connection, OFFSET_FETCH, 1, group_id="standalone", topics=[{"name": "orders", "partition_indexes": [0]}]
    )
    assert oldest.topics[0].partitions[0].committed_offset == 7


def test_commit_of_a_stranger_is_refused(connection: Connection) -> None:
    settle(connection, "closed")
    assert commit(connection, "closed", 7, member="stranger", generation=1) == ErrorCode.unknown_member_id
    assert committed(connection, "closed") == -1


def test_offsets_are_deleted(connection: Connection) -> None:
    commit(connection, "forgetful", 7)
    topics = [{"name": "orders", "partitions": [{"partition_index": 0}]}]
    response = ask(connection, OFFSET_DELETE, 0, group_id="forgetful", topics=topics)
    assert response.topics[0].partitions[0].error_code == ErrorCode.none
    assert committed(connection, "forgetful") == -1


def test_groups_are_listed_described_and_deleted(connection: Connection) -> None:
    commit(connection, "idle", 1)
    settle(connection, "active")
    listed = {one.group_id: one.group_state for one in ask(connection, LIST_GROUPS, 5).groups}
    assert (listed["idle"], listed["active"]) == ("Empty", "Stable")
    only = ask(connection, LIST_GROUPS, 5, states_filter=["stable"]).groups
    assert "idle" not in {one.group_id for one in only}
    described = ask(connection, DESCRIBE_GROUPS, 6, groups=["active", "missing"]).groups
    assert [one.error_code for one in described] == [ErrorCode.none, ErrorCode.group_id_not_found]
    deleted = ask(connection, DELETE_GROUPS, 2, groups_names=["idle", "active", "missing"]).results
    expected = [ErrorCode.none, ErrorCode.non_empty_group, ErrorCode.group_id_not_found]
    assert [one.error_code for one in deleted] == expected
    assert "idle" not in {one.group_id for one in ask(connection, LIST_GROUPS, 0).groups}


# --- what is kept ---


def test_groups_and_offsets_survive_a_restart(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
        find(connection, "lasting")
        member, generation = settle(connection, "lasting")
        assert commit(connection, "lasting", 5, member=member, generation=generation) == ErrorCode.none
    with RunningCluster(tmp_path, overrides=FEW) as cluster, cluster.connect() as connection:
        groups = cluster.node().broker.data.groups  # type: ignore[union-attr]
        cluster.wait_until(lambda: all(one.check_ready() is ErrorCode.none for one in groups))
        assert committed(connection, "lasting") == 5
        beat = {"group_id": "lasting", "generation_id": generation, "member_id": member}
        assert ask(connection, HEARTBEAT, 4, **beat).error_code == ErrorCode.none


def test_deleted_topic_takes_its_offsets_along(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as cluster, cluster.connect() as connection:
        find(connection, "reader")
        create_topic(connection, "orders")
        assert commit(connection, "reader", 3) == ErrorCode.none
        gone = ask(connection, 20, 6, topics=[{"name": "orders", "topic_id": None}], timeout=SESSION)
        assert gone.responses[0].error_code == ErrorCode.none
        create_topic(connection, "orders")
        assert committed(connection, "reader") == -1


def test_log_that_fails_is_answered_with_not_coordinator(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, overrides=FEW) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
        find(connection, "unlucky")
        log = cluster.node().broker.data.logs.get(  # type: ignore[union-attr]
            "__consumer_offsets", coordinator_partition("unlucky", 4)
        )
        assert log is not None
        log.fail(StorageError("the disk is full"))
        assert commit(connection, "unlucky", 1) == ErrorCode.not_coordinator
        assert produce(connection, "orders", batch(b"other partitions live on")).error_code == ErrorCode.none
