"""Produce, over the network, at both ends of its versions."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import PRODUCE, ask, batch, create_topic, fetch, fetched, produce, topic_id
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire

from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.registry import Door

OLDEST, NEWEST = 3, 13
OFFERED = NEWEST + 1  # KIP-1233's


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data")) as running:
        with running.connect() as connection:
            for topic in ("oldest", "newest", "refusing", "silent", "__consumer_offsets"):
                create_topic(connection, topic)
            create_topic(connection, "keyed", cleanup_policy="compact")
            create_topic(connection, "timed", message_timestamp_type="LogAppendTime")
        yield running


@pytest.fixture
def connection(cluster: RunningCluster) -> Iterator[wire.Connection]:
    with cluster.connect() as opened:
        yield opened


@pytest.mark.parametrize("acks", [1, -1])
def test_oldest_version_appends_and_answers_with_the_offset(
    cluster: RunningCluster, connection: wire.Connection, acks: int
) -> None:
    first = produce(connection, "oldest", batch(b"a", b"b"), version=OLDEST, acks=acks)
    second = produce(connection, "oldest", batch(b"c"), version=OLDEST, acks=acks)
    assert (first.error_code, second.error_code) == (ErrorCode.none, ErrorCode.none)
    assert second.base_offset == first.base_offset + 2
    assert fetched(fetch(connection, "oldest", first.base_offset)) == [b"a", b"b", b"c"]


def test_one_connection_produces_again_and_again(connection: wire.Connection) -> None:
    for version in (OLDEST, NEWEST - 1, NEWEST - 1, OLDEST):
        answers = [produce(connection, "oldest", batch(b"x"), version=version) for _ in range(3)]
        assert {one.error_code for one in answers} == {ErrorCode.none}


def test_newest_version_goes_by_topic_id(cluster: RunningCluster, connection: wire.Connection) -> None:
    answer = produce(connection, topic_id(cluster, "newest"), batch(b"a"), version=NEWEST)
    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (ErrorCode.none, 0, 0)
    assert answer.log_append_time is None
    assert fetched(fetch(connection, topic_id(cluster, "newest"), version=18)) == [b"a"]


@pytest.mark.parametrize("unknown", [uuid4(), None])
def test_unknown_topic_id_is_refused_as_such(connection: wire.Connection, unknown: object) -> None:
    answer = produce(connection, unknown, batch(b"a"), version=NEWEST)  # type: ignore[arg-type]
    assert (answer.error_code, answer.base_offset) == (ErrorCode.unknown_topic_id, -1)


@pytest.mark.parametrize(("topic", "partition"), [("nowhere", 0), ("refusing", 1)])
def test_unknown_topic_or_partition_is_refused(connection: wire.Connection, topic: str, partition: int) -> None:
    answer = produce(connection, topic, batch(b"a"), partition=partition)
    assert answer.error_code == ErrorCode.unknown_topic_or_partition


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (None, ErrorCode.invalid_record),
        (b"", ErrorCode.invalid_record),
        (batch(b"a") + batch(b"b"), ErrorCode.invalid_record),
        (batch(b"a")[:-1] + b"\xff", ErrorCode.corrupt_message),
        (batch(b"x" * 1_100_000), ErrorCode.message_too_large),
    ],
    ids=["null", "nothing", "two batches", "broken checksum", "too large"],
)
def test_bad_records_are_refused_and_nothing_is_appended(
    connection: wire.Connection, records: bytes | None, code: ErrorCode
) -> None:
    assert produce(connection, "refusing", records).error_code == code
    assert fetched(fetch(connection, "refusing")) == []


def test_acks_of_two_are_refused(connection: wire.Connection) -> None:
    assert produce(connection, "refusing", batch(b"a"), acks=2).error_code == ErrorCode.invalid_required_acks


def test_record_without_key_in_a_compacted_topic_is_named(connection: wire.Connection) -> None:
    assert produce(connection, "keyed", batch(b"a")).error_code == ErrorCode.none
    refused = produce(connection, "keyed", batch(b"a", b"b", key=None))
    assert refused.error_code == ErrorCode.invalid_record
    assert [one.batch_index for one in refused.record_errors] == [0, 1]
    assert refused.error_message


def test_internal_topic_is_kept_from_clients(cluster: RunningCluster) -> None:
    with cluster.connect() as connection:
        refused = produce(connection, "__consumer_offsets", batch(b"a"))
        assert refused.error_code == ErrorCode.invalid_topic_exception
    with cluster.connect(client_id="__admin_client") as connection:
        refused = produce(connection, "__consumer_offsets", batch(b"a"), partition=99)
        assert refused.error_code == ErrorCode.unknown_topic_or_partition


def silent(topic: str) -> Any:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch(b"quiet")}]}]
    return make_request(PRODUCE, 9, {"acks": 0, "timeout": timedelta(seconds=1), "topic_data": data})


def test_acks_of_zero_get_no_answer_and_the_records_are_there(connection: wire.Connection) -> None:
    connection.send(silent("silent"))
    assert fetched(fetch(connection, "silent")) == [b"quiet"]


def test_acks_of_zero_that_fail_end_the_connection(connection: wire.Connection) -> None:
    connection.send(silent("nowhere"))
    with pytest.raises(ConnectionError):
        fetch(connection, "silent")


def test_log_append_time_is_told_and_kept(connection: wire.Connection) -> None:
    answer = produce(connection, "timed", batch(b"a"))
    assert answer.log_append_time > datetime(2025, 1, 1, tzinfo=UTC)


def test_config_that_changes_reaches_the_log(connection: wire.Connection) -> None:
    change = wire.Change(wire.TOPIC, "refusing", (wire.Operation("max.message.bytes", "10"),))
    assert [one.code for one in wire.incremental_alter_configs(connection, [change])] == [0]
    assert produce(connection, "refusing", batch(b"a")).error_code == ErrorCode.message_too_large
    back = wire.Change(wire.TOPIC, "refusing", (wire.Operation("max.message.bytes", None, wire.DELETE),))
    assert [one.code for one in wire.incremental_alter_configs(connection, [back])] == [0]


@pytest.mark.parametrize("version", [0, 2])
def test_versions_before_the_third_are_advertised_and_refused(cluster: RunningCluster, version: int) -> None:
    with cluster.connect() as connection:
        assert wire.api_versions(connection)[PRODUCE] == (0, OFFERED)
        connection.send_bytes(struct.pack(">hhih", PRODUCE, version, 7, -1) + bytes(8))
        with pytest.raises(ConnectionError):
            wire.api_versions(connection)


def test_broker_that_does_not_lead_says_who_does(tmp_path: Path) -> None:
    with RunningCluster(tmp_path, brokers=2) as cluster, cluster.connect() as connection:
        create_topic(connection, "spread", partitions=2)
        brokers = [node.broker for node in cluster.nodes if node.broker is not None]
        cluster.wait_until(lambda: all("spread" in broker.image.topics.by_name for broker in brokers))
        partitions = brokers[0].image.topics.by_name["spread"].partitions
        assert {one.leader for one in partitions.values()} == {1, 2}
        elsewhere = next(index for index, one in partitions.items() if one.leader == 2)
        refused = produce(connection, "spread", batch(b"a"), partition=elsewhere, version=10)
        assert refused.error_code == ErrorCode.not_leader_or_follower
        assert refused.current_leader.leader_id == 2
        answer = fetch(connection, topic_id(cluster, "spread"), partition=elsewhere, version=16)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.not_leader_or_follower
        assert answer.responses[0].partitions[0].current_leader.leader_id == 2
        assert [one.port for one in answer.node_endpoints] == [cluster.address(Door.BROKER, 2)[1]]
        with cluster.connect(Door.BROKER, 2) as right:
            assert produce(right, "spread", batch(b"a"), partition=elsewhere).error_code == ErrorCode.none


@pytest.mark.parametrize("together", [True, False])
def test_of_two_batches_for_one_partition_the_last_counts(connection: wire.Connection, *, together: bool) -> None:
    topic = f"twice-{together}"
    create_topic(connection, topic)
    first, last = ({"index": 0, "records": batch(value)} for value in (b"first", b"last"))
    data: list[dict[str, Any]] = [{"name": topic, "partition_data": [first]}, {"name": topic, "partition_data": [last]}]
    if together:
        data = [{"name": topic, "partition_data": [first, last]}]
    (answered,) = ask(connection, PRODUCE, 9, acks=-1, timeout=timedelta(seconds=5), topic_data=data).responses
    assert [(one.error_code, one.base_offset) for one in answered.partition_responses] == [(0, 0)]
    assert fetched(fetch(connection, topic)) == [b"last"]
