"""The four inconsistencies of Kafka's controller path, sent by Java's Admin: Kafka shows them, the gateway does not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.gateway.running import HOST, RunningGateway, wait_until
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Connection, Operation

from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.rules.codes import ErrorCode

if TYPE_CHECKING:
    from tests.kafka.cluster import KafkaCluster
    from tests.kafka.plugin import KafkaFactory

pytestmark = pytest.mark.kafka

RETENTION = "retention.ms"
CLEANERS = "log.cleaner.threads"
QUORUM = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
PROGRAM = Path(__file__).with_name("ControllerChanges.java")
JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
JAVA_SECONDS = 120


@pytest.fixture(scope="module")
def kafka(kafka_cluster: KafkaFactory) -> KafkaCluster:
    return kafka_cluster("gateway-controller-path")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway") / "verdicts.jsonl"


@pytest.fixture(scope="module")
def gateway(kafka: KafkaCluster, verdicts: Path) -> Iterator[RunningGateway]:
    controllers = ",".join(f"{host}:{port}" for host, port in kafka.controller_addresses.values())
    words = ("--upstream", kafka.bootstrap_servers, "--upstream-controllers", controllers)
    listen = ("--listen-controllers", f"{HOST}:0", "--mode", "enforce", "--verdict-log", str(verdicts))
    with RunningGateway(*words, *listen) as running:
        yield running


def send_by_java(jars: Path, port: int, topic: str) -> dict[str, str]:
    done = subprocess.run(
        ["java", *JVM, "-cp", f"{jars}/*", str(PROGRAM), f"{HOST}:{port}", topic],
        capture_output=True,
        text=True,
        check=False,
        timeout=JAVA_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def stored(connection: Connection, resource_type: int, name: str, key: str) -> str | None:
    described = wire.describe_configs(connection, resource_type, name, [key])
    return next((one.value for one in described.configs), None)


def comes_to(connection: Connection, topic: str, is_right: Callable[[str | None], bool]) -> None:
    wait_until(lambda: is_right(stored(connection, wire.TOPIC, topic, RETENTION)))


def test_the_gateway_refuses_what_kafkas_controller_lets_in(
    kafka: KafkaCluster, gateway: RunningGateway, kafka_jars: Path, verdicts: Path
) -> None:
    with kafka.connect_controller() as controller, kafka.connect_broker() as broker:
        for topic in ("guarded", "bare"):
            wire.create_topic(broker, topic, {RETENTION: "7000"})
            comes_to(controller, topic, lambda value: value == "7000")
        guarded = send_by_java(kafka_jars, gateway.port(NodeKind.CONTROLLER), "guarded")
        invalid = "InvalidRequestException"
        assert guarded == {
            "null": invalid,
            "duplicate": invalid,
            "unknown": invalid,
            "invalid": invalid,
            "lawful": "NONE",
        }
        assert stored(controller, wire.TOPIC, "guarded", RETENTION) == "7000"
        wait_until(lambda: stored(broker, wire.BROKER, "1", CLEANERS) == "2")
        try:
            port = next(iter(kafka.controller_addresses.values()))[1]
            bare = send_by_java(kafka_jars, port, "bare")
            assert (bare["null"], bare["duplicate"], bare["invalid"]) == ("NONE", "NONE", "NONE")
            assert bare["unknown"] != invalid
            comes_to(controller, "bare", lambda value: value == "2000")
        finally:
            removal = Change(wire.BROKER, "1", (Operation(CLEANERS, None, wire.DELETE),))
            wire.incremental_alter_configs(controller, [removal])
    wait_until(lambda: len(lines_of_java(verdicts)) == 4)
    lines = lines_of_java(verdicts)
    assert {(one["mode"], one["kind"], one["answer"], one["door"]) for one in lines} == {
        ("enforce", "config_change", 42, "controller")
    }
    assert {(one["software_name"], one["address"]) for one in lines} == {("apache-kafka-java", HOST)}


def lines_of_java(verdicts: Path) -> list[dict[str, object]]:
    lines = verdicts.read_text().splitlines() if verdicts.exists() else []
    return [one for one in map(json.loads, lines) if one["client_id"] == "java-admin"]


def test_the_lawful_rest_of_a_request_goes_on_and_answers_come_in_the_callers_order(
    kafka: KafkaCluster, gateway: RunningGateway
) -> None:
    changes = [
        Change(wire.BROKER, "", (Operation("num.io.threads", "1000"),)),
        Change(wire.GROUP, "readers", (Operation("consumer.session.timeout.ms", "50000"),)),
        Change(wire.UNKNOWN, "x", (Operation("y", "1"),)),
        Change(wire.TOPIC, "no-such-topic", (Operation(RETENTION, "1000"),)),
    ]
    with gateway.connect(NodeKind.CONTROLLER) as connection, kafka.connect_broker() as broker:
        outcomes = wire.incremental_alter_configs(connection, changes)
        assert [(one.resource_type, one.resource_name) for one in outcomes] == [
            (one.resource_type, one.resource_name) for one in changes
        ]
        codes = [42, 0, 42, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert [one.code for one in outcomes] == codes
        wait_until(lambda: stored(broker, wire.GROUP, "readers", "consumer.session.timeout.ms") == "50000")


def test_a_change_that_depends_on_static_configs_is_judged_by_them(gateway: RunningGateway) -> None:
    """A broker with 8 I/O threads takes 16, and no more."""
    for threads, code in (("16", 0), ("17", ErrorCode.INVALID_REQUEST)):
        with gateway.connect(NodeKind.CONTROLLER) as connection:
            change = Change(wire.BROKER, "1", (Operation("num.io.threads", threads),))
            (outcome,) = wire.incremental_alter_configs(connection, [change], validate_only=True)
            assert (threads, outcome.code) == (threads, code)


def test_controllers_addresses_are_the_gateways(kafka: KafkaCluster, gateway: RunningGateway) -> None:
    (real,) = kafka.controller_addresses.values()
    with gateway.connect(NodeKind.CONTROLLER) as connection:
        cluster = connection.call(
            wire.make_request(60, 1, include_cluster_authorized_operations=False, endpoint_type=2)
        )
        assert {(one.broker_id, one.port) for one in cluster.brokers} == {(1, gateway.port(NodeKind.CONTROLLER, 1))}
    for kind in (NodeKind.CONTROLLER, NodeKind.BROKER):
        with gateway.connect(kind) as connection:
            quorum = connection.call(wire.make_request(55, 2, topics=[QUORUM]))
            told = {(listener.host, listener.port) for node in quorum.nodes for listener in node.listeners}
            assert told == {(HOST, gateway.port(NodeKind.CONTROLLER, 1))}
            assert real not in told
