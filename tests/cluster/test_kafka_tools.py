"""Kafka's own tools against a running node of ours; kafka-configs.sh is in `tests/cli/test_configs_own_node.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Operation
from tests.kafka.tools import KafkaTools

from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data")) as running:
        with running.connect() as connection:
            assert wire.create_topic(connection, "orders") == (0, None)
        yield running


def through(cluster: RunningCluster, door: Door) -> tuple[str, str]:
    if door is Door.BROKER:
        return "--bootstrap-server", cluster.bootstrap_servers
    return "--bootstrap-controller", cluster.bootstrap_controllers


def test_kafkas_readers_read_a_directory_written_at_kafkas_metadata_version(
    kafka_tools: KafkaTools, tmp_path: Path
) -> None:
    overrides = {"metadata.version": "4.3-IV0", "num.io.threads": "9"}
    with RunningCluster(tmp_path, overrides=overrides) as cluster, cluster.connect() as connection:
        assert wire.create_topic(connection, "orders") == (0, None)
        change = Change(wire.TOPIC, "orders", (Operation("retention.ms", "7654321"),))
        assert wire.incremental_alter_configs(connection, [change])[0].code == 0
    segment = next((tmp_path / "__cluster_metadata-0").glob("*.log"))
    dump = kafka_tools.run("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(segment))
    assert "7654321" in dump
    assert '"type":"REGISTER_BROKER_RECORD","version":4' in dump
    assert "num.io.threads" not in dump
    words = ("--snapshot", str(segment), "cat", "/image/configs/TOPIC:orders/retention.ms")
    # On a busy machine the shell may answer before it has read all of the file.
    answers = (kafka_tools.call("kafka-metadata-shell", *words).out for _ in range(5))
    assert any(shown.strip().endswith("7654321") for shown in answers)


def test_kafkas_features_tool_describes_our_level(kafka_tools: KafkaTools, cluster: RunningCluster) -> None:
    printed = kafka_tools.run("kafka-features", "--bootstrap-server", cluster.bootstrap_servers, "describe")
    assert "metadata.version" in printed


def test_kafkas_quorum_tool_describes_the_one_voter(kafka_tools: KafkaTools, cluster: RunningCluster) -> None:
    for door in Door:
        printed = kafka_tools.run("kafka-metadata-quorum", *through(cluster, door), "describe", "--status")
        assert re.search(r"LeaderId:\s+1\n", printed)
