"""Transactions of Kafka's own Java producer (transaction version 2), and what `kafka-transactions.sh` shows of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
from tests.cluster.transactional import Cluster, HandProducer
from tests.compat.java_tools import Tools, lines

from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT = 0, 1, 2, 4
"""States of a transaction in the log."""


@pytest.fixture
def cluster(tools: Tools) -> Iterator[Cluster]:
    with ExitStack() as stack:
        connect = tools.cluster.connect
        yield Cluster({one: stack.enter_context(connect(Door.BROKER, one)) for one in tools.cluster.broker_ids})


@pytest.fixture
def hanging(tools: Tools, cluster: Cluster) -> tuple[str, HandProducer]:
    """A topic with a transaction that nobody ends, and its producer."""
    topic = tools.topic()
    producer = HandProducer(cluster, f"hanging-{uuid4()}").init()
    producer.write(topic, b"nobody ends it")
    return topic, producer


@pytest.mark.parametrize("random_aborts", [False, True])
def test_records_are_copied_once_with_their_offsets_in_the_same_transaction(tools: Tools, random_aborts: bool) -> None:
    source, target = tools.topic(lines=60), tools.topic()
    group = f"group-{uuid4()}"
    tools.plain(
        "kafka-transactional-message-copier",
        f"--broker-list {tools.cluster.bootstrap_servers} --transactional-id copier-{uuid4()} --consumer-group {group}",
        f"--input-topic {source} --input-partition 0 --output-topic {target} --transaction-size 7",
        *(("--enable-random-aborts",) if random_aborts else ()),
    )
    assert tools.consumed(target, 60, "--isolation-level read_committed") == lines(60)
    described = tools("kafka-consumer-groups", f"--describe --group {group}")
    assert [line.split()[3:6] for line in described.splitlines() if source in line] == [["60", "60", "0"]]


def test_the_perf_test_commits_transactions(tools: Tools) -> None:
    topic = tools.topic(partitions=2)
    told = tools.plain(
        "kafka-producer-perf-test",
        f"--topic {topic} --num-records 500 --record-size 10 --throughput -1 --transaction-duration-ms 20",
        f"--producer-props bootstrap.servers={tools.cluster.bootstrap_servers} transactional.id=perf-{uuid4()}",
    )
    assert "500 records sent" in told
    assert len(tools.consumed(topic, 500, "--isolation-level read_committed")) == 500


def test_an_open_transaction_is_listed_and_described(tools: Tools, hanging: tuple[str, HandProducer]) -> None:
    topic, producer = hanging
    listed = tools("kafka-transactions", "list")
    (line,) = (line.split() for line in listed.splitlines() if producer.transactional_id in line)
    assert line[2:] == [str(producer.producer_id), "Ongoing"]
    described = tools("kafka-transactions", f"describe --transactional-id {producer.transactional_id}")
    assert f"{topic}-0" in described
    assert "Ongoing" in described
    producers = tools("kafka-transactions", f"describe-producers --topic {topic} --partition 0")
    assert str(producer.producer_id) in producers
    producer.commit()


def test_a_hanging_transaction_is_found_and_aborted(tools: Tools, hanging: tuple[str, HandProducer]) -> None:
    topic, producer = hanging
    found = tools("kafka-transactions", f"find-hanging --topic {topic} --partition 0 --max-transaction-timeout 0")
    assert topic not in found  # its coordinator knows of it: it is open, not hanging
    tools("kafka-transactions", f"abort --topic {topic} --partition 0 --start-offset 0")
    described = tools("kafka-transactions", f"describe-producers --topic {topic} --partition 0")
    assert described.split()[-1] == "None"
    assert producer.cluster.committed(topic) == []


def test_directories_are_described(tools: Tools) -> None:
    topic = tools.topic(partitions=2, lines=5)
    told = tools("kafka-log-dirs", f"--describe --topic-list {topic}")
    assert told.count(f'"partition":"{topic}-') == 2
    assert '"error":null' in told


def test_the_files_of_the_coordinator_are_readable(tools: Tools, cluster: Cluster) -> None:
    topic = tools.topic()
    producer = HandProducer(cluster, f"kept-{uuid4()}").init()
    producer.write(topic, b"x")
    producer.commit()
    producer.wait_for("CompleteCommit")
    found = (one for folder in tools.cluster.log_dirs for one in folder.glob("__transaction_state-*/*.log"))
    files = ",".join(map(str, found))
    told = tools.plain("kafka-dump-log", f"--transaction-log-decoder --files {files}")
    ours = [line for line in told.splitlines() if producer.transactional_id in line]
    states = [int(found) for line in ours for found in re.findall(r'"transactionStatus":(\d)', line)]
    assert states == [EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT], ours
