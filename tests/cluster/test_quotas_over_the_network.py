"""Quotas that bite, over the network: who is throttled is told so, left unread, and nobody else notices."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.quotas import ODD, set_quota
from tests.cluster.records import ask, batch, create_topic, fetch, fetch_request, fetched
from tests.cluster.running import RunningCluster
from tests.kafka.requests import Connection

from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.registry import Door

PRODUCE, METADATA, CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 0, 3, 19, 20, 37
NOTHING = timedelta(0)
LIMIT = 10_000.0
TOO_MUCH = 112_000
"""At once, for `LIMIT`: for a second, more or less."""
SELDOM = 0.1
"""Mutations a second: two at once take the bucket so far below zero that nobody waits for it here."""
SMALL_WINDOWS = {"quota.window.num": "2", "quota.window.size.seconds": "1"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """With Kafka's windows: rates are taken over ten seconds at least, so that a busy machine changes nothing."""
    with RunningCluster(tmp_path_factory.mktemp("data")) as running:
        with running.connect() as connection:
            create_topic(connection, "topic")
        yield running


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """With small windows, for what can't be waited for otherwise."""
    with RunningCluster(tmp_path_factory.mktemp("quick"), overrides=SMALL_WINDOWS) as running:
        yield running


@pytest.fixture
def quick_admin(quick: RunningCluster) -> Iterator[Connection]:
    with quick.connect(client_id="admin") as opened:
        yield opened


@pytest.fixture
def admin(cluster: RunningCluster) -> Iterator[Connection]:
    with cluster.connect(client_id="admin") as opened:
        yield opened


def produce_response(connection: Connection, size: int, *, version: int = 9, acks: int = -1) -> Any:
    data = [{"name": "topic", "partition_data": [{"index": 0, "records": batch(b"x" * size)}]}]
    request = make_request(PRODUCE, version, {"acks": acks, "timeout": timedelta(seconds=5), "topic_data": data})
    if acks == 0:
        return connection.send(request)
    return connection.call(request)


def records_in(response: Any) -> bytes:
    return bytes(response.responses[0].partitions[0].records)


def fetch_until_given(connection: Connection, offset: int) -> Any:
    """What a consumer does: ask again, and wait as long as the broker lets it wait."""
    answer = fetch(connection, "much", offset, version=12)
    while answer.throttle_time:
        assert answer.responses == ()
        answer = fetch(connection, "much", offset, version=12)
    return answer


def is_muted(cluster: RunningCluster, client_id: str) -> bool:
    """Whether the only connection of a client is left unread."""
    (muted,) = [
        protocol.connection._muted
        for listener in cluster.node()._listeners[Door.BROKER]
        for protocol in listener._protocols
        if protocol.peer.meter is not None and protocol.peer.meter.client_id == client_id
    ]
    return muted


@pytest.mark.parametrize("version", [3, 9, 12])
def test_a_producer_over_its_byte_rate_is_told_and_left_unread(
    cluster: RunningCluster, admin: Connection, version: int
) -> None:
    name = f"{ODD}{version}"
    set_quota(admin, {"client-id": name}, producer_byte_rate=LIMIT)
    with cluster.connect(client_id=name) as throttled, cluster.connect(client_id="other") as other:
        assert produce_response(throttled, 100, version=version).throttle_time == NOTHING
        answer = produce_response(throttled, TOO_MUCH, version=version)
        assert answer.throttle_time > NOTHING
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.none
        assert is_muted(cluster, name)
        assert produce_response(other, TOO_MUCH, version=version).throttle_time == NOTHING
        assert not is_muted(cluster, "other")
        ask(throttled, METADATA, 9, topics=[])  # answered once the time is over


def test_a_producer_may_change_its_version(cluster: RunningCluster) -> None:
    with cluster.connect(client_id="changing version") as connection:
        for version in (9, 9, 9, 3, 8, 12, 9):
            answer = produce_response(connection, 100, version=version)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.none


def test_a_producer_without_acks_is_left_unread_too(cluster: RunningCluster, admin: Connection) -> None:
    set_quota(admin, {"client-id": "silent"}, producer_byte_rate=LIMIT)
    with cluster.connect(client_id="silent") as throttled:
        ask(throttled, METADATA, 9, topics=[])
        produce_response(throttled, TOO_MUCH, acks=0)
        cluster.wait_until(lambda: is_muted(cluster, "silent"))


def test_a_changed_quota_counts_from_the_next_request_on(cluster: RunningCluster, admin: Connection) -> None:
    with cluster.connect(client_id="changing") as connection:
        assert produce_response(connection, TOO_MUCH).throttle_time == NOTHING
        set_quota(admin, {"client-id": "changing"}, producer_byte_rate=LIMIT)
        assert produce_response(connection, 1000).throttle_time > NOTHING
        set_quota(admin, {"client-id": "changing"}, producer_byte_rate=None)
        assert produce_response(connection, TOO_MUCH).throttle_time == NOTHING


def test_a_throttled_consumer_gets_nothing_now_and_everything_later(
    quick: RunningCluster, quick_admin: Connection
) -> None:
    create_topic(quick_admin, "much")
    for _ in range(3):
        data = [{"name": "much", "partition_data": [{"index": 0, "records": batch(b"x" * 8000)}]}]
        ask(quick_admin, PRODUCE, 9, acks=-1, timeout=timedelta(seconds=5), topic_data=data)
    set_quota(quick_admin, {"client-id": ODD}, consumer_byte_rate=10_000.0)
    with quick.connect(client_id=ODD) as connection, quick.connect(client_id="other") as other:
        first = fetch_until_given(connection, 0)
        assert len(records_in(first)) == 10_000, "no more is read than may be sent at once"
        assert first.throttle_time == NOTHING
        second = fetch(connection, "much", 1, version=12)
        while not second.throttle_time:  # on a machine so slow that the window has passed
            second = fetch(connection, "much", 1, version=12)
        assert second.responses == ()
        assert second.error_code == ErrorCode.none
        assert b"x" * 8000 in records_in(fetch_until_given(connection, 1))
        everything = fetch(other, "much", version=12)
        assert everything.throttle_time == NOTHING
        assert len(fetched(everything)) == 3


def test_a_throttled_fetch_begins_no_session(cluster: RunningCluster, admin: Connection) -> None:
    broker = cluster.node().broker
    assert broker is not None
    before = len(broker.data.sessions)
    set_quota(admin, {"client-id": "sessions"}, request_percentage=0.000001)
    with cluster.connect(client_id="sessions") as connection:
        answer = connection.call(fetch_request("topic", session_id=0, session_epoch=0))
        assert answer.throttle_time > NOTHING
        assert (answer.session_id, answer.responses) == (0, ())
    assert len(broker.data.sessions) == before


def test_request_percentage_throttles_a_tight_metadata_loop(cluster: RunningCluster, admin: Connection) -> None:
    set_quota(admin, {"client-id": "tight"}, request_percentage=0.0001)
    with cluster.connect(client_id="tight") as tight, cluster.connect(client_id="calm") as calm:
        times = [ask(tight, METADATA, 9, topics=None).throttle_time for _ in range(2)]
        assert max(times) > NOTHING
        assert max(times) <= timedelta(seconds=1), "no longer than one window"
        assert ask(calm, METADATA, 9, topics=None).throttle_time == NOTHING


def test_a_relayed_answer_says_the_throttle_time_too(cluster: RunningCluster, admin: Connection) -> None:
    set_quota(admin, {"client-id": "relayed"}, request_percentage=0.000001)
    with cluster.connect(client_id="relayed") as connection:
        assert ask(connection, CREATE_PARTITIONS, 3, topics=[], timeout=timedelta(seconds=1)).throttle_time > NOTHING
        assert ask(connection, 32, 4, resources=[]).throttle_time > NOTHING


class TestMutations:
    """controller_mutation_rate, at the broker's door and at the controller's."""

    @pytest.mark.parametrize("door", list(Door))
    def test_strict_versions_are_refused_once_the_bucket_is_overdrawn(
        self, quick: RunningCluster, quick_admin: Connection, door: Door
    ) -> None:
        name = f"mutating {door}"
        set_quota(quick_admin, {"client-id": name}, controller_mutation_rate=SELDOM)
        with quick.connect(door, client_id=name) as connection:
            topics = [topic(f"strict-{door}-{number}", 2) for number in range(2)]
            answer = ask(connection, CREATE_TOPICS, 7, topics=topics, timeout=timedelta(seconds=5))
            codes = [one.error_code for one in answer.topics]
            assert codes == [ErrorCode.none, ErrorCode.throttling_quota_exceeded]
            assert answer.topics[1].error_message == "The throttling quota has been exceeded."
            assert NOTHING < answer.throttle_time <= timedelta(seconds=18)
        with quick.connect(door, client_id=name) as another:
            growth = {"name": f"strict-{door}-0", "count": 3, "assignments": None}
            grown = ask(another, CREATE_PARTITIONS, 3, topics=[growth], timeout=timedelta(seconds=5))
            assert grown.results[0].error_code == ErrorCode.throttling_quota_exceeded

    def test_older_versions_are_let_through_and_throttled(self, quick: RunningCluster, quick_admin: Connection) -> None:
        set_quota(quick_admin, {"client-id": "older"}, controller_mutation_rate=SELDOM)
        with quick.connect(client_id="older") as connection:
            topics = [topic(f"older-{number}", 2) for number in range(2)]
            answer = ask(connection, CREATE_TOPICS, 5, topics=topics, timeout=timedelta(seconds=5))
            assert [one.error_code for one in answer.topics] == [ErrorCode.none] * 2
            assert answer.throttle_time > NOTHING
            assert is_muted(quick, "older")
        with quick.connect(client_id="older") as another:
            gone = ask(another, DELETE_TOPICS, 4, topic_names=["older-0"], timeout=timedelta(seconds=5))
            assert gone.responses[0].error_code == ErrorCode.none
        with quick.connect(client_id="unbound") as other:
            answer = ask(other, CREATE_TOPICS, 7, topics=[topic("unbound", 5)], timeout=timedelta(seconds=5))
            assert (answer.topics[0].error_code, answer.throttle_time) == (ErrorCode.none, NOTHING)

    def test_deleting_counts_as_much_as_making(self, quick: RunningCluster, quick_admin: Connection) -> None:
        create_topic(quick_admin, "dear", partitions=2)
        create_topic(quick_admin, "dearer", partitions=2)
        set_quota(quick_admin, {"client-id": "deleting"}, controller_mutation_rate=SELDOM)
        with quick.connect(client_id="deleting") as connection:
            names = [{"name": name, "topic_id": None} for name in ("dear", "dearer")]
            answer = ask(connection, DELETE_TOPICS, 6, topics=names, timeout=timedelta(seconds=5))
            assert [one.error_code for one in answer.responses] == [
                ErrorCode.none,
                ErrorCode.throttling_quota_exceeded,
            ]


def test_an_address_that_connects_too_often_is_left_waiting_and_closed(
    quick: RunningCluster, quick_admin: Connection
) -> None:
    set_quota(quick_admin, {"ip": "127.0.0.1"}, connection_creation_rate=2.0)
    try:
        opened = [socket.create_connection(quick.address(Door.BROKER), timeout=30) for _ in range(6)]
        try:
            assert opened[-1].recv(1) == b"", "closed by the broker, without a word"
        finally:
            for one in opened:
                one.close()
    finally:
        set_quota(quick_admin, {"ip": "127.0.0.1"}, connection_creation_rate=None)
    with quick.connect() as connection:
        ask(connection, METADATA, 9, topics=[])


def test_all_clients_of_a_user_share_the_quota_of_the_user(cluster: RunningCluster, admin: Connection) -> None:
    set_quota(admin, {"user": "ANONYMOUS"}, producer_byte_rate=LIMIT)
    try:
        with cluster.connect(client_id="one") as one, cluster.connect(client_id="two") as two:
            assert produce_response(one, 80_000).throttle_time == NOTHING
            assert produce_response(two, 80_000).throttle_time > NOTHING
    finally:
        set_quota(admin, {"user": "ANONYMOUS"}, producer_byte_rate=None)


def topic(name: str, partitions: int) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}
