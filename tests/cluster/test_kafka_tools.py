"""Kafka's own tools against a running node of ours: kafka-configs.sh through both doors, and its readers of the log."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire
from tests.kafka.requests import Change, Operation

from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

ODD_CLIENT_ID = 'a b/c:d*é"\n😀'
TOOL_SECONDS = 90
CONFIG_COMMAND = "kafka.admin.ConfigCommand"
JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8", "-Dsun.jnu.encoding=UTF-8")


def run_tool(jars: Path, name: str, *arguments: str) -> str:
    """What a Java tool of Kafka's prints; it must end well."""
    done = subprocess.run(
        ["java", *JVM, "-cp", f"{jars}/*", name, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TOOL_SECONDS,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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


RESOURCES = [
    ("topics", "orders", "retention.ms", "1234567"),
    ("brokers", "1", "log.cleaner.threads", "2"),
    ("broker-loggers", "1", "doorkeeper.net", "DEBUG"),
    ("groups", "readers", "consumer.session.timeout.ms", "50000"),
    ("client-metrics", "subscription", "interval.ms", "2000"),
]


@pytest.mark.parametrize("door", list(Door))
@pytest.mark.parametrize(("entity", "name", "key", "value"), RESOURCES, ids=[row[0] for row in RESOURCES])
def test_config_command_sets_and_describes(
    kafka_jars: Path, cluster: RunningCluster, door: Door, entity: str, name: str, key: str, value: str
) -> None:
    resource = ("--entity-type", entity, "--entity-name", name)
    run_tool(
        kafka_jars, CONFIG_COMMAND, *through(cluster, door), *resource, "--alter", "--add-config", f"{key}={value}"
    )
    # Kafka's tool lists topics, groups and subscriptions before it describes one, and can't do that at a controller.
    asked = door if entity in ("brokers", "broker-loggers") else Door.BROKER
    assert f"{key}={value}" in run_tool(kafka_jars, CONFIG_COMMAND, *through(cluster, asked), *resource, "--describe")


def test_config_command_sets_and_describes_the_cluster_default(kafka_jars: Path, cluster: RunningCluster) -> None:
    where = (*through(cluster, Door.BROKER), "--entity-type", "brokers", "--entity-default")
    run_tool(kafka_jars, CONFIG_COMMAND, *where, "--alter", "--add-config", "log.retention.ms=777777")
    assert "log.retention.ms=777777" in run_tool(kafka_jars, CONFIG_COMMAND, *where, "--describe")


def test_config_command_sets_and_describes_quotas_of_an_odd_client_id(
    kafka_jars: Path, cluster: RunningCluster
) -> None:
    entity = ("--entity-type", "clients", "--entity-name", ODD_CLIENT_ID)
    quota = ("--alter", "--add-config", "producer_byte_rate=1024")
    run_tool(kafka_jars, CONFIG_COMMAND, *through(cluster, Door.BROKER), *entity, *quota)
    printed = run_tool(kafka_jars, CONFIG_COMMAND, *through(cluster, Door.BROKER), *entity, "--describe")
    assert f"Quota configs for client-id '{ODD_CLIENT_ID}' are producer_byte_rate=1024.0" in printed


def test_config_command_shows_our_refusal(kafka_jars: Path, cluster: RunningCluster) -> None:
    where = (*through(cluster, Door.CONTROLLER), "--entity-type", "brokers", "--entity-name", "1")
    done = subprocess.run(
        ["java", *JVM, "-cp", f"{kafka_jars}/*", CONFIG_COMMAND, *where, "--alter", "--add-config", "num.io.threads=1"],
        capture_output=True,
        text=True,
        timeout=TOOL_SECONDS,
        check=False,
    )
    assert done.returncode != 0
    assert "InvalidRequestException" in done.stdout + done.stderr
    assert "value should be at least half the current value 8" in done.stdout + done.stderr


def test_kafkas_readers_read_a_directory_written_at_kafkas_metadata_version(kafka_jars: Path, tmp_path: Path) -> None:
    overrides = {"metadata.version": "4.3-IV0", "num.io.threads": "9"}
    with RunningCluster(tmp_path, overrides=overrides) as cluster, cluster.connect() as connection:
        assert wire.create_topic(connection, "orders") == (0, None)
        change = Change(wire.TOPIC, "orders", (Operation("retention.ms", "7654321"),))
        assert wire.incremental_alter_configs(connection, [change])[0].code == 0
    segment = next((tmp_path / "__cluster_metadata-0").glob("*.log"))
    dump = run_tool(
        kafka_jars, "org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", str(segment)
    )
    assert "7654321" in dump
    assert '"type":"REGISTER_BROKER_RECORD","version":4' in dump
    assert "num.io.threads" not in dump
    shown = run_tool(
        kafka_jars, "org.apache.kafka.shell.MetadataShell", "--snapshot", str(segment), "cat",
        "/image/configs/TOPIC:orders/retention.ms",
    )  # fmt: skip
    assert shown.strip().endswith("7654321")


def test_kafkas_features_tool_describes_our_level(kafka_jars: Path, cluster: RunningCluster) -> None:
    printed = run_tool(
        kafka_jars, "org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", cluster.bootstrap_servers, "describe"
    )
    assert "metadata.version" in printed


def test_kafkas_quorum_tool_describes_the_one_voter(kafka_jars: Path, cluster: RunningCluster) -> None:
    for door in Door:
        printed = run_tool(
            kafka_jars, "org.apache.kafka.tools.MetadataQuorumCommand", *through(cluster, door), "describe", "--status"
        )
        assert re.search(r"LeaderId:\s+1\n", printed)
