"""A Kafka inside a test: the context managers, and the pytest fixture."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from doorkeeper import Doorkeeper
from doorkeeper.client import NewTopic
from doorkeeper.errors import InputError

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "test-with-a-kafka.md"


def address(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    return host, int(port)


def test_serves_inside_the_block_and_not_after_it() -> None:
    others = set(threading.enumerate())  # tests that share a cluster keep it until the end
    with Doorkeeper() as kafka:
        where = address(kafka.bootstrap_servers)
        socket.create_connection(where, timeout=5).close()
        socket.create_connection(address(kafka.bootstrap_controllers), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(where, timeout=5)
    assert "doorkeeper" not in {thread.name for thread in set(threading.enumerate()) - others}
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


def test_the_page_about_tests_tells_the_truth(tmp_path: Path) -> None:
    """Its first example passes with the plugin, its second offers a fixture."""
    pytest.importorskip("confluent_kafka")
    example, fixture = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shared = "\n\ndef test_brokers(three_brokers):\n    assert three_brokers.bootstrap_servers.count(',') == 2\n"
    (tmp_path / "test_orders.py").write_text(example, encoding="utf-8")
    (tmp_path / "test_shared.py").write_text(fixture + shared, encoding="utf-8")
    # An installation brings the plugin by its entry point; a bare source tree has to name it.
    installed = importlib.metadata.entry_points(group="pytest11", name="doorkeeper")
    plugin = [] if installed else ["-p", "doorkeeper.pytest_plugin"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 passed" in run.stdout


def test_plugin_costs_nothing_until_it_is_asked_for() -> None:
    script = (
        "import sys, pytest; import doorkeeper.pytest_plugin; print('kio' in sys.modules, 'asyncio' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split()[0] == "False"
