"""Config changes at both doors of a running node (KAFKA-19931): one judgement, stored, described as Kafka does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Operation, Outcome

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.registry import Door

INVALID_REQUEST = ErrorCode.INVALID_REQUEST
BOTH_DOORS = pytest.mark.parametrize("door", list(Door))
STATIC_DYNAMIC_DEFAULT = 3


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    overrides = {2: {"num.io.threads": "16"}, 1: {"log.retention.ms": "60000"}}
    with RunningCluster(tmp_path_factory.mktemp("data"), brokers=2, broker_overrides=overrides) as running:
        with running.connect() as connection:
            assert wire.create_topic(connection, "orders") == (0, None)
        yield running


def alter(cluster: RunningCluster, door: Door, *changes: Change, validate_only: bool = False) -> list[Outcome]:
    with cluster.connect(door) as connection:
        return wire.incremental_alter_configs(connection, changes, validate_only=validate_only)


def described(cluster: RunningCluster, door: Door, resource_type: int, name: str) -> dict[str, str | None]:
    with cluster.connect(door) as connection:
        result = wire.describe_configs(connection, resource_type, name)
    assert int(result.error_code) == 0, result.error_message
    return {one.name: one.value for one in result.configs}


@BOTH_DOORS
def test_refuses_null_unless_it_deletes(cluster: RunningCluster, door: Door) -> None:
    for operation in (wire.SET, wire.APPEND, wire.SUBTRACT):
        change = Change(wire.TOPIC, "orders", (Operation("cleanup.policy", None, operation),))
        (outcome,) = alter(cluster, door, change)
        assert (outcome.code, outcome.message) == (INVALID_REQUEST, "Null value not supported for : cleanup.policy")
    (outcome,) = alter(cluster, door, Change(wire.TOPIC, "orders", (Operation("cleanup.policy", None, wire.DELETE),)))
    assert outcome.code == ErrorCode.NONE


@BOTH_DOORS
def test_null_does_not_delete_what_was_stored(cluster: RunningCluster, door: Door) -> None:
    alter(cluster, door, Change(wire.TOPIC, "orders", (Operation("retention.ms", "7000"),)))
    (outcome,) = alter(cluster, door, Change(wire.TOPIC, "orders", (Operation("retention.ms", None),)))
    assert outcome.code == INVALID_REQUEST
    assert described(cluster, door, wire.TOPIC, "orders")["retention.ms"] == "7000"


@BOTH_DOORS
def test_refuses_a_key_that_stands_twice(cluster: RunningCluster, door: Door) -> None:
    twice = (Operation("retention.ms", "1"), Operation("retention.ms", "2"))
    (outcome,) = alter(cluster, door, Change(wire.TOPIC, "orders", twice))
    assert (outcome.code, outcome.message) == (INVALID_REQUEST, "Error due to duplicate config keys")


@BOTH_DOORS
def test_refuses_an_unknown_resource_type_with_invalid_request(cluster: RunningCluster, door: Door) -> None:
    (outcome,) = alter(cluster, door, Change(wire.UNKNOWN, "orders", (Operation("retention.ms", "1"),)))
    assert (outcome.code, outcome.message) == (INVALID_REQUEST, "Unknown resource type 0")


@BOTH_DOORS
def test_refuses_an_invalid_value_and_keeps_what_was_stored(cluster: RunningCluster, door: Door) -> None:
    alter(cluster, door, Change(wire.BROKER, "", (Operation("log.cleaner.threads", "2"),)))
    (outcome,) = alter(cluster, door, Change(wire.BROKER, "", (Operation("log.cleaner.threads", "many"),)))
    assert outcome.code == INVALID_REQUEST
    assert described(cluster, door, wire.BROKER, "")["log.cleaner.threads"] == "2"


@BOTH_DOORS
def test_one_bad_resource_does_not_fail_the_others(cluster: RunningCluster, door: Door) -> None:
    outcomes = alter(
        cluster,
        door,
        Change(wire.TOPIC, "orders", (Operation("segment.ms", "600000"),)),
        Change(wire.BROKER, "", (Operation("log.cleaner.threads", "x"),)),
        Change(wire.UNKNOWN, "u", ()),
        Change(wire.GROUP, "readers", (Operation("consumer.session.timeout.ms", "50000"),)),
    )
    assert [outcome.code for outcome in outcomes] == [0, INVALID_REQUEST, INVALID_REQUEST, 0]
    assert [outcome.resource_name for outcome in outcomes] == ["orders", "", "u", "readers"]
    assert described(cluster, door, wire.TOPIC, "orders")["segment.ms"] == "600000"
    assert described(cluster, door, wire.GROUP, "readers")["consumer.session.timeout.ms"] == "50000"


@BOTH_DOORS
def test_validate_only_stores_nothing(cluster: RunningCluster, door: Door) -> None:
    change = Change(wire.TOPIC, "orders", (Operation("flush.ms", "4321"),))
    assert alter(cluster, door, change, validate_only=True)[0].code == 0
    assert described(cluster, door, wire.TOPIC, "orders")["flush.ms"] != "4321"


def test_cluster_default_is_judged_by_every_broker_and_the_message_names_those_that_refuse(
    cluster: RunningCluster,
) -> None:
    """Broker 2 has 16 threads and won't go below 8; broker 1 has 8 and would go to 4."""
    change = Change(wire.BROKER, "", (Operation("num.io.threads", "6"),))
    for door in Door:
        (outcome,) = alter(cluster, door, change)
        assert outcome.code == INVALID_REQUEST
        assert outcome.message is not None
        assert outcome.message.endswith("(refused by broker 2)"), outcome.message
        assert "num.io.threads" not in described(cluster, door, wire.BROKER, "")


def test_controller_judges_a_change_for_one_broker_by_that_brokers_static_configs(cluster: RunningCluster) -> None:
    six = (Operation("num.io.threads", "6"),)
    accepted, refused = alter(cluster, Door.CONTROLLER, Change(wire.BROKER, "1", six), Change(wire.BROKER, "2", six))
    assert (accepted.code, refused.code) == (0, INVALID_REQUEST)
    assert refused.message is not None
    assert "value should be at least half the current value 16" in refused.message


def test_broker_refuses_a_change_for_another_broker(cluster: RunningCluster) -> None:
    with cluster.connect(Door.BROKER, node_id=1) as connection:
        change = Change(wire.BROKER, "2", (Operation("log.cleaner.threads", "2"),))
        (outcome,) = wire.incremental_alter_configs(connection, [change])
    assert (outcome.code, outcome.message) == (INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2")


def test_controller_refuses_a_change_for_a_broker_that_is_not_registered(cluster: RunningCluster) -> None:
    (outcome,) = alter(cluster, Door.CONTROLLER, Change(wire.BROKER, "77", (Operation("log.cleaner.threads", "2"),)))
    assert outcome.code == INVALID_REQUEST


@BOTH_DOORS
def test_legacy_alter_configs_replaces_everything(cluster: RunningCluster, door: Door) -> None:
    with cluster.connect(door) as connection:
        first = Change(wire.CLIENT_METRICS, "m", (Operation("interval.ms", "1000"), Operation("metrics", "a")))
        second = Change(wire.CLIENT_METRICS, "m", (Operation("interval.ms", "2000"),))
        for change in (first, second):
            (outcome,) = wire.alter_configs(connection, [change])
            assert outcome.code == 0, outcome.message
        result = wire.describe_configs(connection, wire.CLIENT_METRICS, "m")
    values = {one.name: one.value for one in result.configs}
    assert (values["interval.ms"], values["metrics"]) == ("2000", "")


@BOTH_DOORS
def test_legacy_alter_configs_refuses_null_too(cluster: RunningCluster, door: Door) -> None:
    with cluster.connect(door) as connection:
        (outcome,) = wire.alter_configs(connection, [Change(wire.TOPIC, "orders", (Operation("flush.ms", None),))])
    assert outcome.code == INVALID_REQUEST


@BOTH_DOORS
def test_logger_levels_change_and_come_back(cluster: RunningCluster, door: Door) -> None:
    name = "doorkeeper.net"
    logging.getLogger(name).setLevel(logging.NOTSET)  # whatever another test left behind in this process
    before = described(cluster, door, wire.BROKER_LOGGER, "1")[name]
    for operation, level in ((Operation(name, "TRACE"), "TRACE"), (Operation(name, None, wire.DELETE), before)):
        (outcome,) = alter(cluster, door, Change(wire.BROKER_LOGGER, "1", (operation,)))
        assert outcome.code == 0, outcome.message
        assert described(cluster, door, wire.BROKER_LOGGER, "1")[name] == level


@BOTH_DOORS
def test_validate_only_leaves_logger_levels_alone(cluster: RunningCluster, door: Door) -> None:
    before = described(cluster, door, wire.BROKER_LOGGER, "1")["root"]
    change = Change(wire.BROKER_LOGGER, "1", (Operation("root", "FATAL"),))
    (outcome,) = alter(cluster, door, change, validate_only=True)
    assert outcome.code == 0
    assert described(cluster, door, wire.BROKER_LOGGER, "1")["root"] == before


def test_ten_thousand_resources_are_answered_one_by_one(cluster: RunningCluster) -> None:
    changes = [Change(wire.GROUP, f"g{n}", (Operation("consumer.session.timeout.ms", "50000"),)) for n in range(10_000)]
    outcomes = alter(cluster, Door.CONTROLLER, *changes, validate_only=True)
    assert len(outcomes) == 10_000
    assert {outcome.code for outcome in outcomes} == {0}


def test_what_is_stored_outlives_a_restart(tmp_path: Path) -> None:
    changes = [
        Change(wire.BROKER, "", (Operation("log.cleaner.threads", "2"),)),
        Change(wire.BROKER, "1", (Operation("log.retention.ms", "123456"),)),
        Change(wire.GROUP, "readers", (Operation("consumer.session.timeout.ms", "50000"),)),
        Change(wire.CLIENT_METRICS, "m", (Operation("interval.ms", "1000"),)),
    ]
    with RunningCluster(tmp_path) as cluster:
        assert [outcome.code for outcome in alter(cluster, Door.BROKER, *changes)] == [0, 0, 0, 0]
        first_id = cluster.node().broker
        assert first_id is not None
        cluster_id = first_id.cluster_id
    with RunningCluster(tmp_path) as cluster:
        for change in changes:
            values = described(cluster, Door.BROKER, change.resource_type, change.resource_name)
            for operation in change.operations:
                assert values[operation.name] == operation.value
        broker = cluster.node().broker
        assert broker is not None
        assert broker.cluster_id == cluster_id
