"""A node of ours and a real Kafka 4.3.1: start, memory, and the rate of config changes, each flushed to the same disk.

Both are started by this benchmark as processes of their own, empty, combined broker and controller. Requests go over
one connection, one at a time; rounds alternate.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kafka import requests as wire
from tests.kafka.cluster import KafkaCluster, Node
from tests.kafka.jars import require_jars
from tests.kafka.requests import Change, Connection, Operation

from benchmarks.measure import Row

ROUNDS = 5
CHANGES = 200
TOPICS = 1000
STARTS = 5
POLL_SECONDS = 0.005


class TimedKafka(KafkaCluster):
    """Knows how long its process took until it answered, without the format step (which is inside our figure)."""

    start_seconds = 0.0

    def _wait_until_ready(self, node: Node, deadline: float) -> None:
        begin = time.perf_counter()
        super()._wait_until_ready(node, deadline)
        self.start_seconds = time.perf_counter() - begin


def rows() -> list[Row]:
    """Start and memory first, then both running side by side."""
    jars = require_jars()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _our_start(root / "warm-up")
        our_start = statistics.median(_our_start(root / f"start-{number}") for number in range(STARTS))
        kafka = TimedKafka(jars, root / "kafka")
        with kafka, serving(root / "ours") as (process, port):
            node = next(iter(kafka.nodes.values()))
            assert node.process is not None
            memory = _resident(process.pid), _resident(node.process.pid)
            with Connection(("127.0.0.1", port)) as ours, kafka.connect_broker() as theirs:
                rates = _alternately(ours, theirs, _change_rate)
                for connection in (ours, theirs):
                    _make_topics(connection)
                described = _alternately(ours, theirs, _describe_rate)
    return [
        comparison("start to first ApiVersions", our_start, kafka.start_seconds, "s", at_most=0.1),
        comparison("memory of an idle node", memory[0] / 2**20, memory[1] / 2**20, "MiB", at_most=0.1),
        comparison("IncrementalAlterConfigs, one key, one in flight", *rates, "/s", at_least=1.0),
        comparison(f"describing {TOPICS} topics' configs", *described, "topics/s", at_least=1.0),
    ]


def comparison(
    what: str, ours: float, peer: float, unit: str, *, at_most: float | None = None, at_least: float | None = None
) -> Row:
    ratio = ours / peer
    target = f"<= {at_most:g}x" if at_most is not None else f">= {at_least:g}x"
    met = ratio <= at_most if at_most is not None else ratio >= (at_least or 0)
    return Row(what, f"{ours:.3g} {unit}", f"{peer:.3g} {unit}", ratio, target, met)


def _environment() -> dict[str, str]:
    """An installed package is compiled; a checkout whose environment forbids that would be compiled at every start."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def serving(data: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "doorkeeper", "serve", "--port", "0", "--data", str(data), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=_environment(),
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline().rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()


def _our_start(data: Path) -> float:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "doorkeeper", "serve", "--port", str(port), "--data", str(data)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    )
    try:
        while True:
            try:
                with Connection(("127.0.0.1", port)) as connection:
                    wire.api_versions(connection)
                    return time.perf_counter() - begin
            except OSError:
                if process.poll() is not None:
                    raise
                time.sleep(POLL_SECONDS)
    finally:
        process.kill()
        process.wait()


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _alternately(
    ours: Connection, theirs: Connection, measure: Callable[[Connection, int], float]
) -> tuple[float, float]:
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS):
        found[1].append(measure(theirs, number))
        found[0].append(measure(ours, number))
    return statistics.median(found[0]), statistics.median(found[1])


def _change_rate(connection: Connection, number: int) -> float:
    begin = time.perf_counter()
    for value in range(CHANGES):
        operation = Operation("consumer.session.timeout.ms", str(45_000 + number * CHANGES + value))
        (outcome,) = wire.incremental_alter_configs(connection, [Change(wire.GROUP, "readers", (operation,))])
        assert outcome.code == 0
    return CHANGES / (time.perf_counter() - begin)


def _make_topics(connection: Connection) -> None:
    for number in range(TOPICS):
        assert wire.create_topic(connection, f"t{number}")[0] == 0


def _describe_rate(connection: Connection, _number: int) -> float:
    resources = [
        {"resource_type": wire.TOPIC, "resource_name": f"t{number}", "configuration_keys": None}
        for number in range(TOPICS)
    ]
    request = wire.make_request(
        wire.DESCRIBE_CONFIGS, 4, resources=resources, include_synonyms=True, include_documentation=False
    )
    begin = time.perf_counter()
    # The answer's bytes are what counts: decoding them is the client's affair.
    connection.exchange(request)
    return TOPICS / (time.perf_counter() - begin)
