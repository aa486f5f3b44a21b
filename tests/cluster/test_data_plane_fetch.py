"""Fetch, ListOffsets, DeleteRecords and OffsetForLeaderEpoch, over the network."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import (
    DELETE_RECORDS,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    TIME,
    ask,
    batch,
    create_topic,
    fetch,
    fetch_request,
    fetched,
    produce,
    topic_id,
    values_in,
)
from tests.cluster.running import RunningCluster
from tests.kafka.requests import Connection

LONG_MS = 20_000
"""Longer than any test takes: what is answered before was not waited for."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data")) as running:
        with running.connect() as connection:
            create_topic(connection, "three")
            for value in (b"a", b"b", b"c"):
                produce(connection, "three", batch(value, time=TIME + value[0]))
            for topic in ("empty", "growing", "busy", "idle", "shrinking", "fenced", "quiet"):
                create_topic(connection, topic)
        yield running


@pytest.fixture
def connection(cluster: RunningCluster) -> Iterator[Connection]:
    with cluster.connect() as opened:
        yield opened


@pytest.mark.parametrize("version", [4, 7, 11, 12])
def test_records_are_read_by_name(connection: Connection, version: int) -> None:
    response = fetch(connection, "three", 1, version=version)
    assert fetched(response) == [b"b", b"c"]
    partition = response.responses[0].partitions[0]
    assert (partition.high_watermark, partition.last_stable_offset) == (3, 3)


@pytest.mark.parametrize("version", [13, 18])
def test_records_are_read_by_id(cluster: RunningCluster, connection: Connection, version: int) -> None:
    assert fetched(fetch(connection, topic_id(cluster, "three"), version=version)) == [b"a", b"b", b"c"]


def test_aborted_transactions_are_null_for_read_uncommitted_and_listed_for_read_committed(
    connection: Connection,
) -> None:
    assert fetch(connection, "three").responses[0].partitions[0].aborted_transactions is None
    committed = fetch(connection, "three", isolation_level=1)
    assert committed.responses[0].partitions[0].aborted_transactions == ()


@pytest.mark.parametrize(
    ("topic", "offset", "options", "code"),
    [
        ("three", 4, {}, ErrorCode.offset_out_of_range),
        ("three", 0, {"partition": 1}, ErrorCode.unknown_topic_or_partition),
        ("nowhere", 0, {}, ErrorCode.unknown_topic_or_partition),
        ("three", 0, {"current_leader_epoch": 9}, ErrorCode.unknown_leader_epoch),
        (uuid4(), 0, {"version": 13}, ErrorCode.unknown_topic_id),
    ],
)
def test_refusals_are_answered_at_once(
    connection: Connection, topic: Any, offset: int, options: dict[str, int], code: ErrorCode
) -> None:
    partition = fetch(connection, topic, offset, wait_ms=LONG_MS, **options).responses[0].partitions[0]
    assert partition.error_code == code
    assert not partition.records


def test_first_batch_comes_whole_however_small_the_limit(connection: Connection) -> None:
    assert fetched(fetch(connection, "three", max_bytes=1)) == [b"a"]


def test_limit_of_the_request_leaves_later_partitions_empty(connection: Connection) -> None:
    create_topic(connection, "other")
    produce(connection, "other", batch(b"o"))
    response = fetch(connection, "", topics=_wanted("three", "other"), total_bytes=1)
    assert [values_in(topic.partitions[0].records) for topic in response.responses] == [[b"a"], []]


def test_nothing_new_is_answered_empty_when_the_time_is_up(connection: Connection) -> None:
    assert fetched(fetch(connection, "empty", wait_ms=1)) == []


def test_fetch_waits_until_a_record_comes(cluster: RunningCluster, connection: Connection) -> None:
    log = _log(cluster, "growing")
    answers: list[Any] = []
    reader = threading.Thread(target=lambda: answers.append(fetch(connection, "growing", wait_ms=LONG_MS)))
    reader.start()
    cluster.wait_until(lambda: bool(log.waiters))
    with cluster.connect() as writer:
        produce(writer, "growing", batch(b"news"))
    reader.join(LONG_MS / 1000)
    assert fetched(answers[0]) == [b"news"]
    assert not log.waiters


def test_waiting_fetch_ends_with_its_connection(cluster: RunningCluster) -> None:
    log = _log(cluster, "empty")
    with cluster.connect() as connection:
        connection.send(fetch_request("empty", wait_ms=LONG_MS))
        cluster.wait_until(lambda: bool(log.waiters))
        connection.reset()
    cluster.wait_until(lambda: not log.waiters)


def test_min_bytes_are_waited_for(cluster: RunningCluster, connection: Connection) -> None:
    size = len(batch(b"x"))
    with cluster.connect() as writer:
        start = produce(writer, "busy", batch(b"x")).base_offset
    log = _log(cluster, "busy")
    answers: list[Any] = []
    reader = threading.Thread(
        target=lambda: answers.append(fetch(connection, "busy", start, wait_ms=LONG_MS, min_bytes=size + 1))
    )
    reader.start()
    cluster.wait_until(lambda: bool(log.waiters))
    with cluster.connect() as writer:
        produce(writer, "busy", batch(b"y"))
    reader.join(LONG_MS / 1000)
    assert fetched(answers[0]) == [b"x", b"y"]


# --- sessions (KIP-227) ---


def _wanted(*topics: str, offset: int = 0) -> list[dict[str, Any]]:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    return [{"topic": topic, "partitions": [partition]} for topic in topics]


def test_session_answers_only_what_is_new(connection: Connection) -> None:
    first = fetch(connection, "", topics=_wanted("three", "idle"), session_epoch=0)
    session = first.session_id
    assert session != 0
    assert [topic.topic for topic in first.responses] == ["three", "idle"]
    caught_up = fetch(connection, "", topics=_wanted("three", offset=3), session_id=session, session_epoch=1)
    assert caught_up.responses == ()
    produce(connection, "idle", batch(b"new"))
    news = fetch(connection, "", topics=[], session_id=session, session_epoch=2)
    assert [(topic.topic, values_in(topic.partitions[0].records)) for topic in news.responses] == [("idle", [b"new"])]
    forgotten = [{"topic": "idle", "partitions": [0]}]
    quiet = fetch(connection, "", topics=[], session_id=session, session_epoch=3, forgotten_topics_data=forgotten)
    assert quiet.responses == ()


def test_session_that_is_unknown_or_out_of_step_is_refused(cluster: RunningCluster, connection: Connection) -> None:
    unknown = fetch(connection, "", topics=[], session_id=12345, session_epoch=1)
    assert unknown.error_code == ErrorCode.fetch_session_id_not_found
    session = fetch(connection, "three", session_epoch=0).session_id
    late = fetch(connection, "", topics=[], session_id=session, session_epoch=2)
    assert late.error_code == ErrorCode.invalid_fetch_session_epoch
    by_id = fetch(connection, "", topics=[], session_id=session, session_epoch=1, version=13)
    assert by_id.error_code == ErrorCode.fetch_session_topic_id_error


def test_final_epoch_ends_a_session(connection: Connection) -> None:
    session = fetch(connection, "three", session_epoch=0).session_id
    assert fetch(connection, "three", session_id=session, session_epoch=-1).session_id == 0
    gone = fetch(connection, "", topics=[], session_id=session, session_epoch=1)
    assert gone.error_code == ErrorCode.fetch_session_id_not_found


# --- offsets ---


def _list_offset(connection: Connection, timestamp: int, *, version: int = 11, topic: str = "three") -> Any:
    partitions = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}]
    topics = [{"name": topic, "partitions": partitions}]
    return ask(connection, LIST_OFFSETS, version, replica_id=-1, topics=topics).topics[0].partitions[0]


@pytest.mark.parametrize("version", [1, 11])
@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(-1, 3), (-2, 0), (0, 0), (TIME + ord("b"), 1), (TIME + ord("b") + 1, 2), (TIME + ord("c") + 1, -1)],
)
def test_offsets_are_listed_by_time(connection: Connection, version: int, timestamp: int, offset: int) -> None:
    found = _list_offset(connection, timestamp, version=version)
    assert (found.error_code, found.offset) == (ErrorCode.none, offset)


def test_largest_timestamp_is_found_from_version_seven_on(connection: Connection) -> None:
    found = _list_offset(connection, -3, version=7)
    assert (found.offset, found.timestamp) == (2, TIME + ord("c"))
    assert _list_offset(connection, -3, version=6).error_code == ErrorCode.unsupported_version


def test_partition_named_twice_is_refused(connection: Connection) -> None:
    partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
    topics = [{"name": "three", "partitions": [partition, partition]}]
    response = ask(connection, LIST_OFFSETS, 11, replica_id=-1, topics=topics)
    assert {one.error_code for one in response.topics[0].partitions} == {ErrorCode.invalid_request}


def test_deleted_records_are_gone(connection: Connection) -> None:
    for value in (b"a", b"b", b"c"):
        produce(connection, "shrinking", batch(value))
    assert _delete_records(connection, 2) == (ErrorCode.none, 2)
    refused = fetch(connection, "shrinking", 1).responses[0].partitions[0]
    assert refused.error_code == ErrorCode.offset_out_of_range
    assert fetched(fetch(connection, "shrinking", 2)) == [b"c"]
    assert _delete_records(connection, 4) == (ErrorCode.offset_out_of_range, -1)
    assert _delete_records(connection, -1) == (ErrorCode.none, 3)


def _delete_records(connection: Connection, offset: int) -> tuple[ErrorCode, int]:
    topics = [{"name": "shrinking", "partitions": [{"partition_index": 0, "offset": offset}]}]
    answer = ask(connection, DELETE_RECORDS, 2, topics=topics).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


@pytest.mark.parametrize("version", [2, 4])
def test_end_of_an_epoch_is_told(connection: Connection, version: int) -> None:
    epoch = read_epoch(connection)
    partition = {"partition": 0, "current_leader_epoch": -1, "leader_epoch": epoch}
    topics = [{"topic": "three", "partitions": [partition]}]
    answer = ask(connection, OFFSET_FOR_LEADER_EPOCH, version, replica_id=-1, topics=topics).topics[0].partitions[0]
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (ErrorCode.none, epoch, 3)


def test_a_reader_that_is_gone_is_not_waited_for(cluster: RunningCluster) -> None:
    log = _log(cluster, "quiet")
    with cluster.connect() as reader:
        reader.send(fetch_request("quiet", wait_ms=3_600_000))
        cluster.wait_until(lambda: bool(log.waiters))
    cluster.wait_until(lambda: not log.waiters)


def test_a_reader_that_sends_no_more_is_answered_with_what_there_is(cluster: RunningCluster) -> None:
    log = _log(cluster, "quiet")
    request = fetch_request("quiet", wait_ms=3_600_000)
    with cluster.connect() as reader:
        reader.send(request)
        reader.send(request)
        cluster.wait_until(lambda: bool(log.waiters))
        reader.end()
        for _ in range(2):
            assert fetched(reader.receive(request)) == []


def read_epoch(connection: Connection) -> int:
    return int(_list_offset(connection, -1).leader_epoch)


def _log(cluster: RunningCluster, topic: str) -> Any:
    broker = cluster.node().broker
    assert broker is not None
    log = broker.data.logs.get(topic, 0)
    assert log is not None
    return log
