"""Which dynamic configs do something in a running node; the page that says so; and those that do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import ask, batch, create_topic, produce
from tests.cluster.running import RunningCluster
from tests.cluster.transactional import FIND_COORDINATOR, Cluster, HandProducer
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Operation

from doorkeeper.cluster.live_configs import Effect, dynamic_broker_keys, meaning_of, reference_page
from doorkeeper.wire.registry import Door

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configs.md"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page()


def test_every_dynamic_key_has_a_meaning() -> None:
    meanings = {key.name: meaning_of(key) for key in dynamic_broker_keys()}
    assert len(meanings) > 100
    assert {one.effect for one in meanings.values()} == set(Effect)


def test_connection_limit_counts_from_the_next_connection_on(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster:
        with cluster.connect() as connection:
            limit = Change(wire.BROKER, "", (Operation("max.connections.per.ip", "2"),))
            assert wire.incremental_alter_configs(connection, [limit])[0].code == 0
            with cluster.connect() as second:
                assert wire.api_versions(second)
                with cluster.connect() as third, pytest.raises(OSError):
                    wire.api_versions(third)
        with cluster.connect(Door.CONTROLLER) as controller:
            raised = Change(wire.BROKER, "", (Operation("max.connections.per.ip.overrides", "127.0.0.1:50"),))
            assert wire.incremental_alter_configs(controller, [raised])[0].code == 0
        with cluster.connect() as one, cluster.connect() as two, cluster.connect() as three:
            for connection in (one, two, three):
                assert wire.api_versions(connection)


def test_dynamic_default_shows_behind_a_topics_config(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        assert wire.create_topic(connection, "orders") == (0, None)
        change = Change(wire.BROKER, "", (Operation("log.retention.ms", "99999"),))
        assert wire.incremental_alter_configs(connection, [change])[0].code == 0
        described = wire.describe_configs(connection, wire.TOPIC, "orders", ["retention.ms"])
        assert [one.value for one in described.configs] == ["99999"]


def test_transactions_need_no_leave_once_verification_is_off(tmp_path: Path) -> None:
    with RunningCluster(tmp_path) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
        producer = HandProducer(Cluster({1: connection}), "hasty", 1).init()
        assert producer.produce("orders", b"refused").error_code is ErrorCode.transaction_abortable
        off = Change(wire.BROKER, "", (Operation("transaction.partition.verification.enable", "false"),))
        assert wire.incremental_alter_configs(connection, [off])[0].code == 0
        assert producer.produce("orders", b"taken").error_code is ErrorCode.none


def test_producers_are_forgotten_after_the_new_time(tmp_path: Path) -> None:
    often = {"producer.id.expiration.check.interval.ms": "20"}
    with RunningCluster(tmp_path, overrides=often) as cluster, cluster.connect() as connection:
        create_topic(connection, "orders")
        now = time.time_ns() // 1_000_000
        records = batch(b"x", time=now, producer_id=5, producer_epoch=0, base_sequence=0)
        assert produce(connection, "orders", records).error_code is ErrorCode.none
        broker = cluster.node().broker
        assert broker is not None
        log = broker.data.logs.get("orders", 0)
        assert log is not None
        assert set(log.producers.entries) == {5}
        soon = Change(wire.BROKER, "", (Operation("producer.id.expiration.ms", "1"),))
        assert wire.incremental_alter_configs(connection, [soon])[0].code == 0
        cluster.wait_until(lambda: not log.producers.entries)


def test_groups_heed_a_new_assignment_interval(tmp_path: Path) -> None:
    few = {"offsets.topic.num.partitions": "2"}
    with RunningCluster(tmp_path, overrides=few) as cluster, cluster.connect() as connection:
        ask(connection, FIND_COORDINATOR, 6, key_type=0, coordinator_keys=["g"])
        change = Change(wire.BROKER, "", (Operation("group.consumer.assignment.interval.ms", "777"),))
        assert wire.incremental_alter_configs(connection, [change])[0].code == 0
        broker = cluster.node().broker
        assert broker is not None
        intervals = {one.coordinator.state.configs.assignment_interval_ms("g") for one in broker.data.groups}
        assert intervals == {777}
