"""A Kafka inside a test: the context managers, and the pytest fixture."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from doorkeeper import Doorkeeper
from doorkeeper.client import NewTopic
from doorkeeper.errors import InputError

TEST_FILE = """\
from confluent_kafka import Consumer, Producer


def test_what_is_sent_is_received(kafka):
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("orders", b"one")
    producer.flush()
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe(["orders"])
    assert consumer.poll(20).value() == b"one"
    consumer.close()
"""


def address(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    return host, int(port)


def test_serves_inside_the_block_and_not_after_it() -> None:
    with Doorkeeper() as kafka:
        where = address(kafka.bootstrap_servers)
        socket.create_connection(where, timeout=5).close()
        socket.create_connection(address(kafka.bootstrap_controllers), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(where, timeout=5)
    assert "doorkeeper" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(RuntimeError, match="not running"):
        kafka.bootstrap_servers  # noqa: B018


def test_two_live_side_by_side() -> None:
    with Doorkeeper() as one, Doorkeeper() as other:
        assert one.bootstrap_servers != other.bootstrap_servers


def test_serves_an_asynchronous_block_and_its_admin() -> None:
    async def work() -> set[str]:
        async with Doorkeeper() as kafka, kafka.admin() as admin:
            await admin.create_topics([NewTopic("orders", 2)])
            return set(await admin.list_topics())

    assert asyncio.run(work()) == {"orders"}


def test_has_as_many_brokers_as_asked_for() -> None:
    with Doorkeeper(brokers=2) as kafka:
        assert len(kafka.bootstrap_servers.split(",")) == 2


def test_directory_that_is_given_is_kept(tmp_path: Path) -> None:
    with Doorkeeper(data=tmp_path):
        pass
    assert (tmp_path / "meta.properties").exists()


def test_configs_that_no_broker_starts_with_are_refused_before_anything_is_opened() -> None:
    with pytest.raises(InputError, match=r"num\.partitions"):
        Doorkeeper(configs={"num.partitions": "0"})


def test_is_not_started_twice() -> None:
    with Doorkeeper() as kafka, pytest.raises(RuntimeError, match="has been started"):
        kafka.start()


def test_stopping_twice_does_no_harm() -> None:
    kafka = Doorkeeper()
    kafka.start()
    kafka.stop()
    kafka.stop()


def test_pytest_gives_a_test_its_own_kafka(tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    (tmp_path / "test_orders.py").write_text(TEST_FILE, encoding="utf-8")
    source = Path(__file__).parents[1] / "src"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "doorkeeper.pytest_plugin", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_plugin_costs_nothing_until_it_is_asked_for() -> None:
    script = (
        "import sys, pytest; import doorkeeper.pytest_plugin; print('kio' in sys.modules, 'asyncio' in sys.modules)"
    )
    source = Path(__file__).parents[1] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split()[0] == "False"
