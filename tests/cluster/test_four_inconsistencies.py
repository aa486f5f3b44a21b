"""The four inconsistencies of KAFKA-19931: what Kafka 4.3.1's controller gets wrong, and ours gets right."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Connection, Operation

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.registry import Door

if TYPE_CHECKING:
    from tests.kafka.cluster import KafkaCluster
    from tests.kafka.plugin import KafkaFactory

pytestmark = pytest.mark.kafka

RETENTION = "retention.ms"
SECONDS = 20


@pytest.fixture(scope="module")
def kafka(kafka_cluster: KafkaFactory) -> KafkaCluster:
    return kafka_cluster("four-inconsistencies")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def kafkas_controller(kafka: KafkaCluster) -> Iterator[Connection]:
    with kafka.connect_controller() as connection:
        yield connection


@pytest.fixture
def our_controller(ours: RunningCluster) -> Iterator[Connection]:
    with ours.connect(Door.CONTROLLER) as connection:
        yield connection


def ask(connection: Connection, change: Change) -> int:
    (outcome,) = wire.incremental_alter_configs(connection, [change])
    return outcome.code


def value_of(connection: Connection, resource_type: int, name: str, key: str) -> str | None:
    described = wire.describe_configs(connection, resource_type, name, [key])
    return next((one.value for one in described.configs), None)


def comes_to(connection: Connection, name: str, is_right: Callable[[str | None], bool]) -> bool:
    """Whether Kafka describes the topic's retention so in the end: its controller publishes what it stored later on."""
    deadline = time.monotonic() + SECONDS
    while not is_right(value_of(connection, wire.TOPIC, name, RETENTION)):
        if time.monotonic() > deadline:
            return False
    return True


def test_null_with_set_deletes_on_kafkas_controller_and_is_refused_on_ours(
    kafkas_controller: Connection, our_controller: Connection
) -> None:
    for connection in (kafkas_controller, our_controller):
        wire.create_topic(connection, "nulls", {RETENTION: "7000"})
    assert comes_to(kafkas_controller, "nulls", lambda value: value == "7000")
    null = Change(wire.TOPIC, "nulls", (Operation(RETENTION, None, wire.SET),))
    assert ask(kafkas_controller, null) == 0
    assert comes_to(kafkas_controller, "nulls", lambda value: value not in (None, "7000"))
    assert ask(our_controller, null) == ErrorCode.INVALID_REQUEST
    assert value_of(our_controller, wire.TOPIC, "nulls", RETENTION) == "7000"


def test_duplicate_key_overwrites_on_kafkas_controller_and_is_refused_on_ours(
    kafkas_controller: Connection, our_controller: Connection
) -> None:
    for connection in (kafkas_controller, our_controller):
        wire.create_topic(connection, "twice", {RETENTION: "7000"})
    twice = Change(wire.TOPIC, "twice", (Operation(RETENTION, "1000"), Operation(RETENTION, "2000")))
    assert ask(kafkas_controller, twice) == 0
    assert comes_to(kafkas_controller, "twice", lambda value: value == "2000")
    assert ask(our_controller, twice) == ErrorCode.INVALID_REQUEST
    assert value_of(our_controller, wire.TOPIC, "twice", RETENTION) == "7000"


def test_unknown_resource_type_is_an_unsupported_version_on_kafkas_controller_and_an_invalid_request_on_ours(
    kafkas_controller: Connection, our_controller: Connection
) -> None:
    unknown = Change(wire.UNKNOWN, "x", (Operation(RETENTION, "1"),))
    assert ask(kafkas_controller, unknown) == ErrorCode.UNSUPPORTED_VERSION
    assert ask(our_controller, unknown) == ErrorCode.INVALID_REQUEST


def test_invalid_dynamic_value_is_stored_by_kafkas_controller_and_refused_by_ours(
    kafkas_controller: Connection, our_controller: Connection
) -> None:
    key = "log.cleaner.threads"
    try:
        for connection in (kafkas_controller, our_controller):
            assert ask(connection, Change(wire.BROKER, "1", (Operation(key, "2"),))) == 0
        invalid = Change(wire.BROKER, "1", (Operation(key, "many"),))
        assert ask(kafkas_controller, invalid) == 0
        assert ask(our_controller, invalid) == ErrorCode.INVALID_REQUEST
        assert value_of(our_controller, wire.BROKER, "1", key) == "2"
    finally:
        ask(kafkas_controller, Change(wire.BROKER, "1", (Operation(key, None, wire.DELETE),)))
