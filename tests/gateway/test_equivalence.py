"""Before a real Kafka: what the client sends is what Kafka gets, and what Kafka answers is what the client gets.

A wire tap stands between gateway and Kafka, so that nothing depends on Kafka answering the same twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.lawful import (
    JOIN_GROUP,
    SHARE_FETCH,
    Topic,
    join_group,
    share_fetch,
    share_group_heartbeat,
    spoken_request,
)
from tests.gateway.rig import Rig, cut
from tests.gateway.running import HOST, RunningGateway, has_coordinator, wait_until
from tests.gateway.tap import Recording, Tap
from tests.gateway.test_passage import endpoints, frames_of, lawful_request, without_addresses
from tests.kafka.cluster import KafkaCluster, NodeSpec
from tests.kafka.requests import (
    GROUP,
    METADATA,
    Change,
    Connection,
    Operation,
    api_versions,
    describe_configs,
    incremental_alter_configs,
    make_request,
)

from doorkeeper.gateway.address_table import NodeKind, address_row
from doorkeeper.wire.codec import decode_request, decode_response, encode_request
from doorkeeper.wire.messages import (
    API_KEYS,
    API_VERSIONS,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    newest_stable_version,
    oldest_version,
)

if TYPE_CHECKING:
    from pathlib import Path

confluent = pytest.importorskip("confluent_kafka")
kafka_python = pytest.importorskip("kafka")
pytestmark = pytest.mark.kafka

PRODUCED = 500
MEMBER_ID_REQUIRED = 79
MEMBER_ID_LIMIT = 36
RESET = "share.auto.offset.reset"
PATIENCE = timedelta(seconds=20)


class Taps(NamedTuple):
    """Between the gateway and each of Kafka's listeners."""

    broker: Tap
    controller: Tap

    def of(self, kind: NodeKind) -> Tap:
        return self.broker if kind is NodeKind.BROKER else self.controller


@pytest.fixture(scope="module")
def taps() -> Iterator[Taps]:
    with Tap() as broker, Tap() as controller:
        yield Taps(broker, controller)


@pytest.fixture(scope="module")
def tap(taps: Taps) -> Tap:
    return taps.broker


@pytest.fixture(scope="module")
def kafka(kafka_jars: Path, tmp_path_factory: pytest.TempPathFactory, taps: Taps) -> Iterator[KafkaCluster]:
    """A broker that says it is where the tap is."""
    advertised = {
        "advertised.listeners": f"PLAINTEXT://{HOST}:{taps.broker.port}",
        "group.initial.rebalance.delay.ms": "0",
    }
    spec = NodeSpec(1, ("broker", "controller"), advertised)
    with KafkaCluster(kafka_jars, tmp_path_factory.mktemp("tapped"), [spec]) as cluster:
        taps.broker.target = cluster.broker_addresses[1]
        taps.controller.target = cluster.controller_addresses[1]
        yield cluster


@pytest.fixture(scope="module")
def gateway(kafka: KafkaCluster, taps: Taps) -> Iterator[RunningGateway]:
    brokers = ("--upstream", f"{HOST}:{taps.broker.port}", "--mode", "enforce")
    controllers = ("--upstream-controllers", f"{HOST}:{taps.controller.port}", "--listen-controllers", f"{HOST}:0")
    with RunningGateway(*brokers, *controllers) as running:
        yield running


@pytest.fixture(scope="module")
def topic(kafka: KafkaCluster, gateway: RunningGateway) -> Topic:
    """A topic with a record, in a Kafka that looks after groups."""
    producer = confluent.Producer({"bootstrap.servers": f"{HOST}:{kafka.broker_addresses[1][1]}"})
    producer.produce("orders", b"1")
    assert producer.flush(30) == 0
    wait_until(lambda: has_coordinator(gateway))
    asked = make_request(
        METADATA,
        12,
        topics=[{"name": "orders", "topic_id": None}],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    with kafka.connect_broker() as connection:
        (told,) = connection.call(asked).topics
    return Topic("orders", told.topic_id)


def ask(connection: Connection, body: Any, correlation_id: int) -> tuple[bytes, bytes | None]:
    """A lawful request and its answer; None when Kafka closes the connection instead."""
    sent = encode_request(body, correlation_id, "client")
    connection.send_bytes(sent)
    try:
        return sent, connection.receive_frame()
    except OSError:
        return sent, None


def test_offers_what_kafka_offers(kafka: KafkaCluster, gateway: RunningGateway) -> None:
    with kafka.connect_broker() as direct, gateway.connect() as through:
        assert api_versions(through) == api_versions(direct)


@pytest.fixture(scope="module")
def served(kafka: KafkaCluster) -> dict[NodeKind, set[int]]:
    """The APIs of each listener."""
    with kafka.connect_broker() as broker, kafka.connect_controller() as controller:
        return {NodeKind.BROKER: set(api_versions(broker)), NodeKind.CONTROLLER: set(api_versions(controller))}


@pytest.mark.parametrize("kind", list(NodeKind))
@pytest.mark.parametrize("api_key", sorted(API_KEYS))
def test_every_version_of_an_api_is_the_same_with_the_gateway(
    gateway: RunningGateway,
    taps: Taps,
    topic: Topic,
    served: dict[NodeKind, set[int]],
    api_key: int,
    kind: NodeKind,
) -> None:
    """Kafka closes the connection on what a listener does not serve; so it does with the gateway."""
    tap = taps.of(kind)
    for version in range(oldest_version(api_key), newest_stable_version(api_key) + 1):
        before = len(tap.recordings)
        with gateway.connect(kind) as connection:
            sent, got = ask(connection, spoken_request(api_key, version, topic), 1000 + version)
        recording = recording_of(tap, before, sent)
        assert frames_of(bytes(recording.requests)) == [sent]
        answers = frames_of(bytes(recording.responses))
        assert got is not None or api_key not in served[kind]
        if got is None:
            assert answers == []
        else:
            assert_same(api_key, version, answers[0], got, gateway)


@pytest.mark.parametrize("version", range(oldest_version(JOIN_GROUP), newest_stable_version(JOIN_GROUP) + 1))
def test_a_member_joins_the_same_with_the_gateway(
    gateway: RunningGateway, tap: Tap, topic: Topic, version: int
) -> None:
    group, before = f"readers-{uuid4()}", len(tap.recordings)
    with gateway.connect() as connection:
        talked = [ask(connection, join_group(version, group), 1)]
        told = decode_response(JOIN_GROUP, version, talked[0][1] or b"")
        if told.error_code == MEMBER_ID_REQUIRED:
            talked.append(ask(connection, join_group(version, group, told.member_id), 2))
            told = decode_response(JOIN_GROUP, version, talked[1][1] or b"")
    assert (told.error_code, told.leader) == (0, told.member_id)
    assert len(told.member_id) > MEMBER_ID_LIMIT
    recording = recording_of(tap, before, talked[0][0])
    assert frames_of(bytes(recording.requests)) == [sent for sent, _ in talked]
    assert frames_of(bytes(recording.responses)) == [got for _, got in talked]


@pytest.mark.parametrize("version", range(oldest_version(SHARE_FETCH), newest_stable_version(SHARE_FETCH) + 1))
def test_records_are_shared_the_same_with_the_gateway(
    kafka: KafkaCluster, gateway: RunningGateway, tap: Tap, topic: Topic, version: int
) -> None:
    group, member_id = f"sharers-{uuid4()}", str(uuid4())
    with kafka.connect_broker() as direct:
        change = Change(GROUP, group, (Operation(RESET, "earliest"),))
        assert [one.code for one in incremental_alter_configs(direct, [change])] == [0]
        wait_until(lambda: describe_configs(direct, GROUP, group, [RESET]).configs[0].value == "earliest")
    with gateway.connect() as connection:
        wait_until(member_with_a_share(connection, topic, group, member_id))
    before = len(tap.recordings)
    with gateway.connect() as connection:
        sent, got = ask(connection, share_fetch(version, topic, group, member_id, PATIENCE), 1)
    assert got is not None
    ((partition,),) = (one.partitions for one in decode_response(SHARE_FETCH, version, got).responses)
    assert [(one.first_offset, one.last_offset) for one in partition.acquired_records] == [(0, 0)]
    recording = recording_of(tap, before, sent)
    assert frames_of(bytes(recording.requests)) == [sent]
    assert_same(SHARE_FETCH, version, frames_of(bytes(recording.responses))[0], got, gateway)


def member_with_a_share(connection: Connection, topic: Topic, group: str, member_id: str) -> Callable[[], bool]:
    """A member that goes on joining until the topic is its own."""
    epoch = 0

    def has_share() -> bool:
        nonlocal epoch
        told = connection.call(share_group_heartbeat(topic, group, member_id, epoch))
        assert told.error_code == 0, told
        epoch = told.member_epoch
        return bool(told.assignment and told.assignment.topic_partitions)

    return has_share


def recording_of(tap: Tap, since: int, sent: bytes) -> Recording:
    """The connection with this request; the gateway has connections of its own."""
    return next(one for one in tap.recordings[since:] if sent in one.requests)


def assert_same(api_key: int, version: int, answered: bytes, got: bytes, gateway: RunningGateway) -> None:
    if address_row(api_key, version) is None:
        assert got == answered
        return
    told, real = decode_response(api_key, version, got), decode_response(api_key, version, answered)
    assert without_addresses(told) == without_addresses(real)
    ours = {(HOST, gateway.port(kind, 1)) for kind in NodeKind}
    assert all(not one.host or (one.host, one.port) in ours for one in endpoints(told))


# -- recorded traffic


@pytest.fixture(scope="module")
def traffic(kafka: KafkaCluster, tap: Tap) -> list[Recording]:
    """What real clients and Kafka say to each other without any gateway."""
    since = len(tap.recordings)
    servers = f"{HOST}:{tap.port}"
    talk_by_confluent(servers)
    talk_by_kafka_python(servers)
    recordings = [one for one in tap.recordings[since:] if one.requests]
    assert {key for one in recordings for key in keys_of(one)} >= {0, 1, 3, 8, 10, 11, 12, 14, 18}
    return recordings


def talk_by_confluent(servers: str) -> None:
    producer = confluent.Producer({"bootstrap.servers": servers, "linger.ms": 5})
    for number in range(PRODUCED):
        producer.produce("recorded", b"%d" % number)
    producer.flush(30)
    consumer = confluent.Consumer(
        {"bootstrap.servers": servers, "group.id": "recorders", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["recorded"])
    seen = 0

    def has_all() -> bool:
        nonlocal seen
        seen += len(consumer.consume(PRODUCED, 1.0))
        return seen >= PRODUCED

    wait_until(has_all)
    consumer.commit(asynchronous=False)
    consumer.close()


def talk_by_kafka_python(servers: str) -> None:
    producer = kafka_python.KafkaProducer(bootstrap_servers=servers, acks=0)
    producer.send("recorded", b"without an answer")
    producer.close()
    consumer = kafka_python.KafkaConsumer(
        "recorded",
        bootstrap_servers=servers,
        group_id="snakes",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=100,
        consumer_timeout_ms=20_000,
    )
    with suppress(StopIteration):
        for _ in range(PRODUCED):
            next(consumer)
    consumer.close()


def keys_of(recording: Recording) -> set[int]:
    return {int.from_bytes(frame[:2], "big") for frame in frames_of(bytes(recording.requests))}


@settings(max_examples=25)
@given(
    mode=st.sampled_from(["off", "evaluate", "enforce"]),
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    data=st.data(),
)
def test_recorded_traffic_goes_through_byte_for_byte(
    traffic: list[Recording], mode: str, sizes: list[int], data: st.DataObject
) -> None:
    recording = data.draw(st.sampled_from(traffic))
    rig = Rig(mode)
    requests = bytes(recording.requests)
    for chunk in cut(requests, sizes):
        rig.requests.feed(chunk)
    assert rig.take_upstream() == requests[: len(requests) - rig.requests.held_bytes]
    responses = bytes(recording.responses)
    asked = iter(expecting(requests))
    for chunk in cut(responses, sizes):
        rig.responses.feed(chunk)
    for sent, got in zip(frames_of(responses), frames_of(rig.take_client()), strict=True):
        api_key, version = next(asked)
        if address_row(api_key, version) is None and api_key != API_VERSIONS:
            assert got == sent
        else:
            assert without_addresses(decode_response(api_key, version, got)) == without_addresses(
                decode_response(api_key, version, sent)
            )


def expecting(requests: bytes) -> Iterator[tuple[int, int]]:
    """API and version of each request that gets an answer."""
    for frame in frames_of(requests):
        api_key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
        if api_key != PRODUCE or not has_no_acks(version, frame):
            yield api_key, version


def has_no_acks(version: int, frame: bytes) -> bool:
    body: Any = decode_request(frame).body
    return bool(body.acks == 0)


def test_sasl_is_passed_even_to_a_kafka_that_has_none(gateway: RunningGateway) -> None:
    with gateway.connect() as connection:
        _, handshake = ask(connection, lawful_request(SASL_HANDSHAKE, 1), 1)
        assert handshake is not None
        assert decode_response(SASL_HANDSHAKE, 1, handshake).error_code == 34  # ILLEGAL_SASL_STATE
    with gateway.connect() as connection:
        _, authenticate = ask(connection, lawful_request(SASL_AUTHENTICATE, 2), 1)
        assert authenticate is None or decode_response(SASL_AUTHENTICATE, 2, authenticate).error_code != 0
