"""Topics, records and groups through Kafka's own command line tools, which share one JVM."""

from __future__ import annotations

import json
import re
from pathlib import Path
from uuid import uuid4

import pytest
from tests.compat.java_tools import Tools, lines

pytestmark = pytest.mark.kafka

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


# --- topics ---


def test_topics_are_made_described_grown_and_deleted(tools: Tools) -> None:
    name = f"orders-{uuid4()}"
    made = tools("kafka-topics", f"--create --topic {name} --partitions 2 --config retention.ms=60000")
    assert made == f"Created topic {name}.\n"
    described = tools("kafka-topics", f"--describe --topic {name}")
    assert "PartitionCount: 2\tReplicationFactor: 1\tConfigs: min.insync.replicas=1,retention.ms=60000" in described
    assert {
        re.sub(r".*Leader: (\d+)\tReplicas: \1\tIsr: \1\t.*", r"\1", one) for one in described.split("\n")[1:3]
    } == {
        "1",
        "2",
    }
    tools("kafka-topics", f"--alter --topic {name} --partitions 4")
    assert "PartitionCount: 4" in tools("kafka-topics", f"--describe --topic {name}")
    assert name in tools("kafka-topics", "--list").split()
    tools("kafka-topics", f"--delete --topic {name}")
    assert name not in tools("kafka-topics", "--list").split()


def test_topic_that_is_there_is_not_made_again(tools: Tools) -> None:
    name = tools.topic()
    assert f"Topic '{name}' already exists." in tools.refused("kafka-topics", f"--create --topic {name}").out


def test_more_than_one_replica_is_refused_with_the_way_out(tools: Tools) -> None:
    said = tools.refused("kafka-topics", "--create --topic copies --replication-factor 2")
    assert "put Doorkeeper's gateway in front of it" in said.out


def test_lists_of_troubled_partitions_are_empty(tools: Tools) -> None:
    tools.topic()
    for trouble in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert tools("kafka-topics", f"--describe {trouble}") == ""


# --- records ---


@pytest.mark.parametrize("codec", CODECS)
def test_console_consumer_reads_what_console_producer_wrote(tools: Tools, codec: str) -> None:
    topic = tools.topic(partitions=2)
    text = "".join(f"line {number}\n" for number in range(50))
    tools("kafka-console-producer", f"--topic {topic} --compression-codec {codec}", stdin=text)
    assert tools.consumed(topic, 50) == lines(50)


def test_keys_headers_and_timestamps_travel(tools: Tools) -> None:
    topic = tools.topic()
    parsing = ("--reader-property parse.key=true", "--reader-property parse.headers=true")
    tools("kafka-console-producer", f"--topic {topic}", *parsing, stdin="a:1,b:2\tkey\tvalue\n")
    shown = [f"--formatter-property print.{one}=true" for one in ("key", "headers", "partition", "offset")]
    assert tools.consumed(topic, 1, *shown) == ["Partition:0\tOffset:0\ta:1,b:2\tkey\tvalue"]


def test_offsets_are_told_by_time_and_kind(tools: Tools) -> None:
    topic = tools.topic(lines=3)
    asked = f"--topic {topic} --time"
    answers = {"-1": 3, "-2": 0, "earliest-local": 0, "latest": 3, "0": 0}
    for time, offset in answers.items():
        assert tools("kafka-get-offsets", f"{asked} {time}") == f"{topic}:0:{offset}\n", time


def test_records_are_deleted(tools: Tools, tmp_path: Path) -> None:
    topic = tools.topic(lines=5)
    plan = tmp_path / "delete.json"
    partitions = [{"topic": topic, "partition": 0, "offset": 3}]
    plan.write_text(json.dumps({"partitions": partitions, "version": 1}), encoding="utf-8")
    assert "low_watermark: 3" in tools("kafka-delete-records", f"--offset-json-file {plan}")
    assert tools.consumed(topic, 2) == ["line 3", "line 4"]


def test_perf_tests_measure(tools: Tools) -> None:
    topic = tools.topic(partitions=3)
    servers = f"--command-property bootstrap.servers={tools.cluster.bootstrap_servers}"
    sent = tools.plain("kafka-producer-perf-test", f"--topic {topic} --num-records 2000 --record-size 100", servers,
                       "--throughput -1")  # fmt: skip
    assert sent.startswith("2000 records sent")
    told = tools("kafka-consumer-perf-test", f"--topic {topic} --num-records 2000 --timeout 20000")
    assert told.splitlines()[1].split(", ")[4] == "2000"


def test_end_to_end_latency_is_measured(tools: Tools) -> None:
    asked = f"--topic {tools.topic()} --num-records 30 --producer-acks all --record-size 20"
    assert "Avg latency" in tools("kafka-e2e-latency", asked)


def test_verifiable_producer_and_consumer_agree(tools: Tools) -> None:
    topic = tools.topic(partitions=2)
    said = tools.alone.run_alone(
        "kafka-verifiable-producer", *tools.servers, *f"--topic {topic} --max-messages 20".split()
    )
    told = [json.loads(line) for line in said.splitlines()]
    assert [one["name"] for one in told].count("producer_send_success") == 20
    assert told[-1]["acked"] == 20
    for protocol in ("CLASSIC", "CONSUMER"):
        asked = f"--topic {topic} --group-id {uuid4()} --max-messages 20 --group-protocol {protocol}"
        said = tools("kafka-verifiable-consumer", asked, "--reset-policy earliest")
        events = [json.loads(line) for line in said.splitlines()]
        assert sum(one["count"] for one in events if one["name"] == "records_consumed") == 20
        assert all(one["success"] for one in events if one["name"] == "offsets_committed")


# --- groups ---


@pytest.fixture(params=["classic", "consumer"])
def group(request: pytest.FixtureRequest, tools: Tools) -> tuple[str, str, str]:
    """A group that has read four of five lines, the topic it read, and its protocol."""
    protocol: str = request.param
    topic = tools.topic(lines=4)
    name = f"readers-{uuid4()}"
    tools.consumed(topic, 4, f"--group {name} --command-property group.protocol={protocol}")
    tools("kafka-console-producer", f"--topic {topic}", stdin="late\n")
    return name, topic, protocol


def test_group_is_described(tools: Tools, group: tuple[str, str, str]) -> None:
    name, topic, _ = group
    told = tools("kafka-consumer-groups", f"--describe --group {name}")
    assert re.search(rf"{name}\s+{topic}\s+0\s+4\s+5\s+1\s+-", told)
    state = tools("kafka-consumer-groups", f"--describe --group {name} --state")
    assert re.search(rf"{name}\s+\S+\s+\(\d\)\s+\S+\s+Empty\s+0", state)
    assert name not in tools("kafka-consumer-groups", f"--describe --group {name} --members --verbose")


def test_group_is_listed_with_state_and_type(tools: Tools, group: tuple[str, str, str]) -> None:
    name, _, protocol = group
    assert re.search(rf"{name}\s+Empty", tools("kafka-consumer-groups", "--list --state"))
    listed = tools("kafka-consumer-groups", f"--list --type {protocol}")
    assert re.search(rf"^{name}\s+{protocol}\s*$", listed, re.MULTILINE | re.IGNORECASE)
    assert re.search(rf"{name}\s+{protocol}\s+consumer", tools("kafka-groups", "--list"), re.IGNORECASE)


@pytest.mark.parametrize(
    ("way", "offset"),
    [("--to-earliest", 0), ("--to-latest", 5), ("--shift-by -2", 2), ("--to-offset 3", 3), ("--by-duration PT0S", 5)],
)
def test_offsets_are_reset(tools: Tools, group: tuple[str, str, str], way: str, offset: int) -> None:
    name, topic, _ = group
    told = tools("kafka-consumer-groups", f"--group {name} --reset-offsets {way} --topic {topic} --execute")
    assert re.search(rf"{name}\s+{topic}\s+0\s+{offset}\b", told)
    assert re.search(rf"{topic}\s+0\s+{offset}\s", tools("kafka-consumer-groups", f"--describe --group {name}"))


def test_offsets_and_groups_are_deleted(tools: Tools, group: tuple[str, str, str]) -> None:
    name, topic, _ = group
    told = tools("kafka-consumer-groups", f"--group {name} --delete-offsets --topic {topic}")
    assert re.search(rf"{topic}\s+0\s+Successful", told)
    assert "was successful" in tools("kafka-consumer-groups", f"--group {name} --delete")
    assert name not in tools("kafka-consumer-groups", "--list").split()


def test_group_that_is_not_there_is_told_as_by_kafka(tools: Tools) -> None:
    said = tools("kafka-consumer-groups", "--describe --group nobodys")
    assert "GroupIdNotFoundException: Group nobodys not found." in said


@pytest.mark.parametrize("tool", ["kafka-share-groups", "kafka-streams-groups"])
def test_there_are_no_groups_of_the_other_kinds(tools: Tools, tool: str) -> None:
    assert tools(tool, "--list").strip() == ""
