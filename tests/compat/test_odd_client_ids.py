"""A client may be called anything (KIP-190): each library produces and consumes in a group under every odd name, and is
metered under the name that the rulebook gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from prometheus_client.openmetrics import parser as openmetrics
from tests.cluster.quotas import ODD
from tests.cluster.records import create_topic
from tests.cluster.running import HOST
from tests.cluster.test_metrics_over_http import Watched, watched
from tests.kafka.tools import KafkaTools
from tools.extract_facts import run_java

from doorkeeper.rules.client_id import QuotaType, quota_metric_name, sanitize
from doorkeeper.wire.registry import Door

kafka = pytest.importorskip("kafka")
aiokafka = pytest.importorskip("aiokafka")

NAMES = [ODD, *(f"a{chr(code)}b" for code in range(0x20, 0x7F))]
"""Between letters, for clients trim their configs."""
AT_ONCE = 8
PATIENCE_SECONDS = 60
QUICK = (
    "--override",
    "group.initial.rebalance.delay.ms=0",
    "--override",
    "offsets.topic.num.partitions=1",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(tmp_path_factory.mktemp("data"), *QUICK) as serve:
        running = Watched(serve)
        with running.connect("admin") as admin:
            for topic in ("confluent", "kafka-python", "aiokafka", "java", "console"):
                create_topic(admin, topic)
        yield running


def bootstrap(cluster: Watched) -> str:
    return f"{HOST}:{cluster.serve.ports[Door.BROKER, 1]}"


def check_metered(cluster: Watched, names: list[str] = NAMES) -> None:
    """Every name is found in both expositions, once."""
    objects = cluster.objects()
    for name in names:
        for kind in (QuotaType.PRODUCE, QuotaType.FETCH, QuotaType.REQUEST):
            assert quota_metric_name(kind, client_id=name) in objects, (kind, name)
    families = {one.name: one for one in openmetrics.text_string_to_metric_families(cluster.read("/metrics"))}  # type: ignore[no-untyped-call]
    labels = [one.labels["client_id"] for one in families["kafka_server_produce_byte_rate"].samples]
    assert len(labels) == len(set(labels))
    assert {sanitize(name) for name in names} <= set(labels)


def run_all(one: Callable[[int, str], None]) -> None:
    """Several at a time: one after the other would be mostly waiting."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(one, number, name) for number, name in enumerate(NAMES)]:
            done.result(PATIENCE_SECONDS * 3)


def test_confluent_kafka(cluster: Watched) -> None:
    def story(number: int, name: str) -> None:
        usual = {"bootstrap.servers": bootstrap(cluster), "client.id": name}
        producer = confluent_kafka.Producer(usual)
        producer.produce("confluent", name.encode())
        assert producer.flush(PATIENCE_SECONDS) == 0
        consumer = confluent_kafka.Consumer(usual | {"group.id": f"c-{number}", "auto.offset.reset": "earliest"})
        consumer.subscribe(["confluent"])
        try:
            found: Any = consumer.poll(PATIENCE_SECONDS)
            while found is not None and found.value() != name.encode():
                assert found.error() is None
                found = consumer.poll(PATIENCE_SECONDS)
            assert found is not None
            consumer.commit(message=found, asynchronous=False)
        finally:
            consumer.close()

    run_all(story)
    check_metered(cluster)


def test_kafka_python(cluster: Watched) -> None:
    def story(number: int, name: str) -> None:
        usual = {"bootstrap_servers": bootstrap(cluster), "client_id": name}
        producer = kafka.KafkaProducer(**usual)
        producer.send("kafka-python", name.encode()).get(PATIENCE_SECONDS)
        producer.close()
        consumer = kafka.KafkaConsumer(
            "kafka-python",
            group_id=f"p-{number}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=PATIENCE_SECONDS * 1000,
            **usual,
        )
        try:
            assert any(record.value == name.encode() for record in consumer)
            consumer.commit()
        finally:
            consumer.close()

    for number, name in enumerate(NAMES):
        story(number, name)
    check_metered(cluster)


def test_aiokafka(cluster: Watched) -> None:
    async def story(number: int, name: str, turn: asyncio.Semaphore) -> None:
        usual = {"bootstrap_servers": bootstrap(cluster), "client_id": name}
        async with turn:
            async with aiokafka.AIOKafkaProducer(**usual) as producer:
                await producer.send_and_wait("aiokafka", name.encode())
            group = {"group_id": f"a-{number}", "auto_offset_reset": "earliest"}
            async with aiokafka.AIOKafkaConsumer("aiokafka", **group, **usual) as consumer:
                while (await asyncio.wait_for(consumer.getone(), PATIENCE_SECONDS)).value != name.encode():
                    pass
                await consumer.commit()

    async def all_of_them() -> None:
        turn = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(story(number, name, turn) for number, name in enumerate(NAMES)))

    asyncio.run(all_of_them())
    check_metered(cluster)


@pytest.mark.kafka
def test_kafkas_own_java_client(cluster: Watched, kafka_jars: Path) -> None:
    said = run_java("OddClients.java", kafka_jars, bootstrap(cluster), "java", stdin=json.dumps(NAMES).encode())
    assert said.strip() == str(len(NAMES)).encode()
    check_metered(cluster)


@pytest.mark.kafka
def test_kafkas_console_tools(cluster: Watched, kafka_tools: KafkaTools) -> None:
    servers = ("--bootstrap-server", bootstrap(cluster))
    named = ("--command-property", f"client.id={ODD}")
    kafka_tools.run("kafka-console-producer", *servers, "--topic", "console", *named, stdin="hello\n")
    wanted = ("--topic", "console", "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000")
    said = kafka_tools.run("kafka-console-consumer", *servers, *wanted, "--group", "console-group", *named)
    assert said.splitlines() == ["hello"]
    entity = ("--entity-type", "clients", "--entity-name", ODD)
    kafka_tools.run("kafka-configs", *servers, *entity, "--alter", "--add-config", "producer_byte_rate=1048576")
    assert "producer_byte_rate=1048576" in kafka_tools.run("kafka-configs", *servers, *entity, "--describe")
    kafka_tools.run("kafka-console-producer", *servers, "--topic", "console", *named, stdin="again\n")
    client = cluster.objects()[f"doorkeeper:type=Client,user=ANONYMOUS,client-id={sanitize(ODD)}"]
    assert client["Produce-quota"] == 1048576.0
    kafka_tools.run("kafka-configs", *servers, *entity, "--alter", "--delete-config", "producer_byte_rate")
    check_metered(cluster, [ODD])
