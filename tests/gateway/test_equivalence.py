"""Before a real Kafka: what the client sends is what Kafka gets, and what Kafka answers is what the client gets.

A wire tap stands between gateway and Kafka, so that nothing depends on Kafka answering the same twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gateway.rig import Rig, cut
from tests.gateway.running import HOST, RunningGateway, wait_until
from tests.gateway.tap import Recording, Tap
from tests.gateway.test_passage import endpoints, frames_of, lawful_request, without_addresses
from tests.kafka.cluster import KafkaCluster, NodeSpec
from tests.kafka.requests import Connection, api_versions

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

WAITS = {1, 11, 58, 59, 62, 63, 70, 78, 80, 82}
"""Fetch and JoinGroup may take their time; the rest would change who is in the quorum or registered."""
PRODUCED = 500


@pytest.fixture(scope="module")
def tap() -> Iterator[Tap]:
    with Tap() as tapped:
        yield tapped


@pytest.fixture(scope="module")
def kafka(kafka_jars: Path, tmp_path_factory: pytest.TempPathFactory, tap: Tap) -> Iterator[KafkaCluster]:
    """A broker that says it is where the tap is."""
    advertised = {
        "advertised.listeners": f"PLAINTEXT://{HOST}:{tap.port}",
        "group.initial.rebalance.delay.ms": "0",
    }
    spec = NodeSpec(1, ("broker", "controller"), advertised)
    with KafkaCluster(kafka_jars, tmp_path_factory.mktemp("tapped"), [spec]) as cluster:
        tap.target = cluster.broker_addresses[1]
        yield cluster


@pytest.fixture(scope="module")
def gateway(kafka: KafkaCluster, tap: Tap) -> Iterator[RunningGateway]:
    with RunningGateway("--upstream", f"{HOST}:{tap.port}", "--mode", "enforce") as running:
        yield running


def ask(connection: Connection, api_key: int, version: int, correlation_id: int) -> tuple[bytes, bytes | None]:
    """A lawful request and its answer; None when Kafka closes the connection instead."""
    sent = encode_request(lawful_request(api_key, version), correlation_id, "client")
    connection.send_bytes(sent)
    try:
        return sent, connection.receive_frame()
    except OSError:
        return sent, None


def test_offers_what_kafka_offers(kafka: KafkaCluster, gateway: RunningGateway) -> None:
    with kafka.connect_broker() as direct, gateway.connect() as through:
        assert api_versions(through) == api_versions(direct)


@pytest.mark.parametrize("api_key", sorted(API_KEYS - WAITS))
def test_every_version_of_an_api_is_the_same_with_the_gateway(
    kafka: KafkaCluster, gateway: RunningGateway, tap: Tap, api_key: int
) -> None:
    for version in range(oldest_version(api_key), newest_stable_version(api_key) + 1):
        before = len(tap.recordings)
        with gateway.connect() as connection:
            sent, got = ask(connection, api_key, version, 1000 + version)
        recording = recording_of(tap, before, sent)
        assert frames_of(bytes(recording.requests)) == [sent]
        answers = frames_of(bytes(recording.responses))
        if got is None:
            assert answers == []
        else:
            assert_same(api_key, version, answers[0], got, gateway)


def recording_of(tap: Tap, since: int, sent: bytes) -> Recording:
    """The connection with this request; the gateway has connections of its own."""
    return next(one for one in tap.recordings[since:] if sent in one.requests)


def assert_same(api_key: int, version: int, answered: bytes, got: bytes, gateway: RunningGateway) -> None:
    if address_row(api_key, version) is None:
        assert got == answered
        return
    told, real = decode_response(api_key, version, got), decode_response(api_key, version, answered)
    assert without_addresses(told) == without_addresses(real)
    for one in endpoints(told):
        # Without a controller's door, controllers have no address at all.
        assert not one.host or (one.host, one.port) == (HOST, gateway.port(NodeKind.BROKER, 1))


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
        _, handshake = ask(connection, SASL_HANDSHAKE, 1, 1)
        assert handshake is not None
        assert decode_response(SASL_HANDSHAKE, 1, handshake).error_code == 34  # ILLEGAL_SASL_STATE
    with gateway.connect() as connection:
        _, authenticate = ask(connection, SASL_AUTHENTICATE, 2, 1)
        assert authenticate is None or decode_response(SASL_AUTHENTICATE, 2, authenticate).error_code != 0
