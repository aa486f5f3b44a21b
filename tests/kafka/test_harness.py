"""The oracle itself: it starts, answers, and takes requests that no proper client would send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kafka.cluster import KafkaCluster, KafkaDidNotStartError, NodeSpec, plan
from tests.kafka.requests import (
    APPEND,
    BROKER,
    GROUP,
    TOPIC,
    Change,
    Operation,
    alter_configs,
    create_topic,
    describe_configs,
    incremental_alter_configs,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kafka.plugin import KafkaFactory

pytestmark = pytest.mark.kafka

INVALID_REQUEST, INVALID_CONFIG = 42, 40


@pytest.fixture(scope="module")
def kafka(kafka_cluster: KafkaFactory) -> KafkaCluster:
    return kafka_cluster("harness", nodes=plan(2, combined=False), properties={"num.io.threads": "4"})


def test_one_resource_gets_one_outcome_each(kafka: KafkaCluster) -> None:
    changes = [
        Change(BROKER, "1", (Operation("num.io.threads", "x"),)),
        Change(GROUP, "g", (Operation("consumer.session.timeout.ms", "50000"),)),
        Change(TOPIC, "no-such-topic", (Operation("retention.ms", "1"),)),
    ]
    with kafka.connect_broker() as broker:
        outcomes = incremental_alter_configs(broker, changes, validate_only=True)
    assert {(each.resource_type, each.code) for each in outcomes} == {(BROKER, INVALID_REQUEST), (GROUP, 0), (TOPIC, 3)}


@pytest.mark.parametrize("version", [0, 1])
def test_sends_nulls_unknown_operations_and_unknown_types(kafka: KafkaCluster, version: int) -> None:
    changes = [
        Change(BROKER, "1", (Operation("num.io.threads", None),)),
        Change(BROKER, "", (Operation("num.io.threads", "3", 77),)),
        Change(99, "x", (Operation("a", "b"),)),
    ]
    with kafka.connect_broker() as broker:
        outcomes = incremental_alter_configs(broker, changes, version=version, validate_only=True)
    assert len(outcomes) == 3
    assert all(each.code != 0 for each in outcomes)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_static_properties_reach_the_broker(kafka: KafkaCluster, version: int) -> None:
    with kafka.connect_broker(2) as broker:
        result = describe_configs(broker, BROKER, "2", ["num.io.threads"], version=version)
    assert [config.value for config in result.configs] == ["4"]
    assert kafka.static_properties(2)["num.io.threads"] == "4"


def test_the_controller_takes_what_the_broker_refuses(kafka: KafkaCluster) -> None:
    change = Change(BROKER, "1", (Operation("num.io.threads", "1000"),))
    with kafka.connect_broker() as broker, kafka.connect_controller() as controller:
        (at_broker,) = incremental_alter_configs(broker, [change], validate_only=True)
        (at_controller,) = incremental_alter_configs(controller, [change], validate_only=True)
    assert (at_broker.code, at_controller.code) == (INVALID_REQUEST, 0)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_legacy_alter_configs_works_at_every_version(kafka: KafkaCluster, version: int) -> None:
    with kafka.connect_broker() as broker:
        create_topic(broker, f"legacy-{version}", {"retention.ms": "1000"})
        (good,) = alter_configs(broker, [Change(TOPIC, f"legacy-{version}", (Operation("retention.ms", "5"),))])
        (bad,) = alter_configs(broker, [Change(TOPIC, f"legacy-{version}", (Operation("retention.ms", "x"),))])
    assert (good.code, bad.code) == (0, INVALID_CONFIG)


def test_append_to_what_is_no_list_is_refused(kafka: KafkaCluster) -> None:
    change = Change(BROKER, "1", (Operation("num.io.threads", "3", APPEND),))
    with kafka.connect_broker() as broker:
        (outcome,) = incremental_alter_configs(broker, [change], validate_only=True)
    assert outcome.code == INVALID_CONFIG


def test_a_node_that_can_not_start_says_why(kafka_jars: Path, tmp_path: Path) -> None:
    specs = [NodeSpec(1, ("broker", "controller"), {"num.io.threads": "none"})]
    with pytest.raises(KafkaDidNotStartError, match=r"num\.io\.threads"), KafkaCluster(kafka_jars, tmp_path, specs):
        pass
