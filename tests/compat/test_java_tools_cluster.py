"""The cluster itself, and its files, through Kafka's own command line tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from tests.compat.java_tools import Tools, lines

from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka


def test_broker_tells_its_versions(tools: Tools) -> None:
    told = tools("kafka-broker-api-versions")
    assert told.count("Produce(0): 0 to 14 [usable: 13]") == 2
    assert "Fetch(1): 4 to 19 [usable: 18]" in told


def test_cluster_tells_its_id_and_its_endpoints_at_either_door(tools: Tools) -> None:
    assert re.fullmatch(
        r"Cluster ID: [\w-]{22}\n",
        tools.plain("kafka-cluster", "cluster-id", *tools.servers),
    )
    brokers = tools.plain("kafka-cluster", "list-endpoints", *tools.servers)
    assert re.findall(r"^(\d)\s.*unfenced\s+broker", brokers, re.MULTILINE) == ["1", "2"]
    controllers = tools.plain("kafka-cluster", "list-endpoints", *tools.controllers)
    assert re.findall(r"^(\d)\s.*controller", controllers, re.MULTILINE) == ["1"]


@pytest.mark.parametrize("door", list(Door))
def test_quorum_is_described_at_either_door(tools: Tools, door: Door) -> None:
    where = tools.servers if door is Door.BROKER else tools.controllers
    assert re.search(r"LeaderId:\s+1\n", tools.plain("kafka-metadata-quorum", *where, "describe", "--status"))
    told = tools.plain("kafka-metadata-quorum", *where, "describe", "--replication")
    assert re.search(r"^1\s.*Leader", told, re.MULTILINE)


def test_features_are_described(tools: Tools) -> None:
    told = tools("kafka-features", "describe")
    assert re.search(r"Feature: transaction.version\s.*FinalizedVersionLevel: 2", told)


def test_election_is_not_needed(tools: Tools) -> None:
    topic = tools.topic(partitions=2)
    assert tools("kafka-leader-election", "--election-type preferred --all-topic-partitions") == ""
    told = tools("kafka-leader-election", f"--election-type unclean --topic {topic} --partition 0")
    assert f"Valid replica already elected for partitions {topic}-0" in told


def test_partitions_are_not_moved(tools: Tools, tmp_path: Path) -> None:
    assert tools("kafka-reassign-partitions", "--list") == "No partition reassignments found.\n"
    topic = tools.topic()
    described = tools("kafka-topics", f"--describe --topic {topic}")
    leader = int(re.findall(r"Leader: (\d)", described)[0])
    for replica in (leader, 3 - leader):
        plan = tmp_path / f"plan-{replica}.json"
        wanted = [{"topic": topic, "partition": 0, "replicas": [replica]}]
        plan.write_text(json.dumps({"version": 1, "partitions": wanted}), encoding="utf-8")
        execute: Callable[..., object] = tools if replica == leader else tools.refused
        told = str(execute("kafka-reassign-partitions", f"--reassignment-json-file {plan} --execute"))
        assert ("Successfully started partition reassignment" if replica == leader else "gateway") in told


def test_log_directories_are_described(tools: Tools) -> None:
    topic = tools.topic(lines=3)
    told = json.loads(tools("kafka-log-dirs", f"--describe --topic-list {topic}").splitlines()[-1])
    found = [one for broker in told["brokers"] for place in broker["logDirs"] for one in place["partitions"]]
    assert [one["partition"] for one in found] == [f"{topic}-0"]
    assert found[0]["size"] > 0


def test_client_metrics_subscriptions_are_kept(tools: Tools) -> None:
    name = f"subscription-{uuid4()}"
    tools("kafka-client-metrics", f"--alter --name {name} --metrics org.apache.kafka.producer. --interval 5000")
    assert "interval.ms=5000" in tools("kafka-client-metrics", f"--describe --name {name}")
    assert name in tools("kafka-client-metrics", "--list").split()
    tools("kafka-client-metrics", f"--delete --name {name}")
    assert name not in tools("kafka-client-metrics", "--list").split()


def test_acls_are_kept(tools: Tools) -> None:
    asked = "--allow-principal User:alice --operation Read --topic ledger"
    tools("kafka-acls", f"--add {asked}")
    assert "principal=User:alice" in tools("kafka-acls", "--list --topic ledger")
    tools("kafka-acls", f"--remove --force {asked}")
    assert "User:alice" not in tools("kafka-acls", "--list --topic ledger")


def test_delegation_tokens_are_not_for_who_did_not_log_in(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("", encoding="utf-8")
    said = tools.refused("kafka-delegation-tokens", f"--describe --command-config {tmp_path}/client.properties")
    assert "DelegationTokenDisabledException" in said.err or "UnsupportedByAuthenticationException" in said.err


def test_dump_log_reads_the_files_of_a_topic_and_of_groups(tools: Tools) -> None:
    topic = tools.topic(lines=3)
    tools.consumed(topic, 3, f"--group {uuid4()}")
    folders = [one for data in tools.cluster.log_dirs for one in data.glob(f"{topic}-0")]
    (segment,) = folders[0].glob("*.log")
    told = tools.plain("kafka-dump-log", f"--files {segment} --print-data-log --deep-iteration")
    assert re.findall(r"payload: (.*)", told) == lines(3)
    offsets = [one for data in tools.cluster.log_dirs for one in data.glob("__consumer_offsets-*/*.log")]
    told = "".join(tools.plain("kafka-dump-log", f"--files {one} --offsets-decoder") for one in offsets)
    assert topic in told
