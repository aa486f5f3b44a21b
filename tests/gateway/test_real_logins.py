"""Clients that log in through an evaluating gateway: they work, and the verdicts name who they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.gateway.running import HOST, ThreadedGateway, wait_until
from tests.gateway.test_process import LONG, client_file, secure

aiokafka = pytest.importorskip("aiokafka")
confluent = pytest.importorskip("confluent_kafka")
kafka_python = pytest.importorskip("kafka")

__all__ = ["secure"]
USER, PASSWORD = "alice", "secret"
PATIENCE_SECONDS = 30


def produce_by_confluent(servers: str, topic: str) -> None:
    settings = {
        "bootstrap.servers": servers,
        "client.id": LONG,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": PASSWORD,
    }
    errors: list[object] = []
    producer = confluent.Producer(settings)
    producer.produce(topic, b"1", on_delivery=lambda error, _: errors.append(error))
    producer.flush(PATIENCE_SECONDS)
    assert errors == [None]


LOGIN = {
    "client_id": LONG,
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": USER,
    "sasl_plain_password": PASSWORD,
}


def produce_by_kafka_python(servers: str, topic: str) -> None:
    producer = kafka_python.KafkaProducer(bootstrap_servers=servers, **LOGIN)
    producer.send(topic, b"1").get(PATIENCE_SECONDS)
    producer.close()


def produce_by_aiokafka(servers: str, topic: str) -> None:
    async def produce() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers, **LOGIN) as producer:
                await producer.send_and_wait(topic, b"1")

    asyncio.run(produce())


@pytest.fixture
def evaluating(secure: str, tmp_path: Path) -> Iterator[ThreadedGateway]:
    words = ("--upstream", secure, "--verdict-log", str(tmp_path / "verdicts.jsonl"))
    with ThreadedGateway(*words, "--upstream-config", str(client_file(tmp_path, "gate", "keeper"))) as running:
        yield running


@pytest.mark.parametrize("produce", [produce_by_confluent, produce_by_kafka_python, produce_by_aiokafka])
def test_a_login_works_and_is_in_the_verdicts(
    evaluating: ThreadedGateway, produce: Callable[[str, str], None], tmp_path: Path
) -> None:
    produce(evaluating.bootstrap_servers, produce.__name__)
    log = tmp_path / "verdicts.jsonl"
    wait_until(lambda: log.exists() and '"api":"PRODUCE"' in log.read_text())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {(line["mode"], line["kind"], line["value"], line["address"]) for line in lines} == {
        ("evaluate", "client_id", LONG, HOST)
    }
    assert {line["principal"] for line in lines if line["api"] == "PRODUCE"} == {"User:alice"}
