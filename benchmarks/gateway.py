"""The gateway, Kroxylicious 0.12.0 with a filter that judges the same, and a direct connection, before one Kafka 4.3.1.

All three in alternation. CPU is that of the gateway's process alone, for each megabyte or request: the figure to trust
on a busy machine; rates and latencies depend on everything else that runs. The gateway is one process and enforces.
Producer and consumer are Kafka's own performance tools; small requests are Heartbeats, 100 in flight, by a socket.
"""

from __future__ import annotations

import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.kafka import requests as wire
from tests.kafka.cluster import KafkaCluster
from tests.kafka.jars import require_jars
from tests.kafka.requests import Connection, api_versions, make_request
from tests.kafka.tools import KafkaTools

from benchmarks.data_plane import PRODUCE, Server, Spent
from benchmarks.kroxylicious import running as kroxylicious
from benchmarks.measure import Row
from doorkeeper.wire.records import Record, write_batch

HOST = "127.0.0.1"
ROUNDS = 3
RECORD_BYTES = 1000
MEGABYTE = 1_000_000
BATCHES = {"16 KB": 16_384, "256 KB": 262_144}
RECORDS = 60_000
SMALL_REQUESTS, IN_FLIGHT = 20_000, 100
UNANSWERED_REQUESTS = 100_000
"""So cheap that fewer are lost in the hundredths of a second in which CPU is counted."""
PACED_PER_SECOND, PACED_REQUESTS = 2000, 6000
START_SECONDS = 120.0
POLL_SECONDS = 0.005
HEARTBEAT = 12
_PRODUCED = re.compile(r"\(([\d.]+) MB/sec\)")


class Way(NamedTuple):
    """One way to the Kafka behind."""

    name: str
    server: Server
    started: float = 0.0
    """Seconds from its start to its first answer."""


def rows() -> list[Row]:
    jars = require_jars()
    with tempfile.TemporaryDirectory() as folder, KafkaCluster(jars, Path(folder) / "kafka") as kafka:
        node = kafka.nodes[1]
        assert node.process is not None
        assert node.broker_port is not None
        direct = Way("direct", Server(node.process.pid, node.broker_port))
        peers = _kroxylicious(Path(folder), kafka.bootstrap_servers)
        with peers as peer, _ours(kafka.bootstrap_servers) as ours, KafkaTools(jars) as tools:
            found = [*_produce_rows(tools, direct, peer, ours), *_consume_rows(tools, direct, peer, ours)]
            found += [*_small_rows(direct, peer, ours), *_paced_rows(peer, ours), *_size_rows(peer, ours)]
    return found


@contextmanager
def _ours(upstream: str) -> Iterator[Way]:
    port = _free_port()
    command = [sys.executable, "-m", "doorkeeper", "gateway", "--upstream", upstream, "--mode", "enforce"]
    begin = time.perf_counter()
    with subprocess.Popen(
        [*command, "--listen", f"{HOST}:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield Way("ours", Server(process.pid, port), _wait(port, begin))
        finally:
            process.kill()


@contextmanager
def _kroxylicious(scratch: Path, upstream: str) -> Iterator[Way]:
    port = _free_port()
    with kroxylicious(scratch, upstream, port) as process:
        yield Way("Kroxylicious", Server(process.pid, port), _wait(port, time.perf_counter()))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port


def _wait(port: int, begin: float) -> float:
    """Seconds until the first ApiVersions is answered."""
    while time.perf_counter() - begin < START_SECONDS:
        with suppress(OSError), Connection((HOST, port)) as connection:
            api_versions(connection)
            return time.perf_counter() - begin
        time.sleep(POLL_SECONDS)
    raise AssertionError("it did not start")


def _alternately(measure: Callable[[Way], Spent], *ways: Way) -> dict[str, Spent]:
    """Medians by name; each way is warmed up first."""
    found: dict[str, list[Spent]] = {way.name: [] for way in ways}
    for way in ways:
        measure(way)
    for _ in range(ROUNDS):
        for way in ways:
            found[way.name].append(measure(way))
    return {
        name: Spent(statistics.median(one.wall for one in spent), statistics.median(one.cpu for one in spent))
        for name, spent in found.items()
    }


# -- records


def _produce_rows(tools: KafkaTools, direct: Way, peer: Way, ours: Way) -> list[Row]:
    found = []
    for label, size in BATCHES.items():
        topic = f"produced-{size}"
        with direct.server.connect() as connection:
            wire.create_topic(connection, topic)

        def measure(way: Way, topic: str = topic, size: int = size) -> Spent:
            cpu = way.server.cpu_seconds()
            said = tools.run(
                "kafka-producer-perf-test",
                *("--topic", topic, "--num-records", str(RECORDS), "--record-size", str(RECORD_BYTES)),
                *("--throughput", "-1", "--producer-props", f"bootstrap.servers={HOST}:{way.server.port}"),
                *(f"batch.size={size}", "linger.ms=5", "acks=1", "compression.type=none"),
                seconds=300,
            )
            rate = float(_PRODUCED.findall(said)[-1])
            spent = way.server.cpu_seconds() - cpu
            return Spent(1 / rate, spent / (RECORDS * RECORD_BYTES / MEGABYTE))

        found += _record_rows(f"produce, batches of {label}", _alternately(measure, direct, peer, ours))
    return found


def _consume_rows(tools: KafkaTools, direct: Way, peer: Way, ours: Way) -> list[Row]:
    topic = f"produced-{BATCHES['256 KB']}"

    def measure(way: Way) -> Spent:
        cpu = way.server.cpu_seconds()
        said = tools.run(
            "kafka-consumer-perf-test",
            *("--topic", topic, "--bootstrap-server", f"{HOST}:{way.server.port}", "--num-records", str(RECORDS)),
            *("--group", f"bench-{time.monotonic_ns()}", "--timeout", "60000"),
            seconds=300,
        )
        columns = [one.strip() for one in said.splitlines()[-1].split(",")]
        megabytes = float(columns[2])
        fetch_seconds = float(columns[7]) / 1000
        return Spent(fetch_seconds / megabytes, (way.server.cpu_seconds() - cpu) / megabytes)

    return _record_rows("consume", _alternately(measure, direct, peer, ours))


def _record_rows(what: str, spent: dict[str, Spent]) -> list[Row]:
    ours, peer, direct = spent["ours"], spent["Kroxylicious"], spent["direct"]

    def rate(other: Spent) -> float:
        return other.wall / ours.wall

    def shown(one: Spent) -> str:
        return f"{1 / one.wall:.4g} MB/s"

    cpu = ours.cpu / peer.cpu
    return [
        Row(f"{what}: CPU to Kroxylicious", f"{ours.cpu * 1e3:.3g} ms/MB", f"{peer.cpu * 1e3:.3g} ms/MB", cpu,
            "<= 0.5x", cpu <= 0.5),
        Row(f"{what}: to direct", shown(ours), shown(direct), rate(direct), ">= 0.9x", rate(direct) >= 0.9),
        Row(f"{what}: to Kroxylicious", shown(ours), shown(peer), rate(peer), ">= 1.25x", rate(peer) >= 1.25),
    ]  # fmt: skip


# -- small requests


def _heartbeat(connection: Connection) -> bytes:
    body = make_request(HEARTBEAT, 4, group_id="nobody", generation_id=1, member_id="m", group_instance_id=None)
    frame = connection.frame(body)
    return struct.pack(">i", len(frame)) + frame


def _produce_without_acks(connection: Connection, topic: str) -> bytes:
    batch = write_batch([Record(b"small", timestamp=0)], base_offset=0)
    partition = {"index": 0, "records": batch}
    body = make_request(
        PRODUCE, 9, transactional_id=None, acks=0, timeout=timedelta(seconds=30),
        topic_data=[{"name": topic, "partition_data": [partition]}],
    )  # fmt: skip
    frame = connection.frame(body)
    return struct.pack(">i", len(frame)) + frame


def _small_rows(direct: Way, peer: Way, ours: Way) -> list[Row]:
    """With answers, which Kafka gives one after the other; and without, where nothing but the requests is measured."""
    with direct.server.connect() as connection:
        wire.create_topic(connection, "small")

    def measure(way: Way, *, answered: bool) -> Spent:
        count = SMALL_REQUESTS if answered else UNANSWERED_REQUESTS
        with way.server.connect() as connection:
            fence = _heartbeat(connection)
            framed = fence if answered else _produce_without_acks(connection, "small")
            cpu, begin = way.server.cpu_seconds(), time.perf_counter()
            for _ in range(count // IN_FLIGHT):
                connection._socket.sendall(framed * (IN_FLIGHT - 1) + fence)
                for _ in range(IN_FLIGHT if answered else 1):
                    connection.receive_frame()
            wall = time.perf_counter() - begin
            return Spent(wall / count, (way.server.cpu_seconds() - cpu) / count)

    found = []
    for label, answered in (("with answers", True), ("acks=0", False)):
        spent = _alternately(partial(measure, answered=answered), peer, ours)
        mine, theirs = spent["ours"].cpu, spent["Kroxylicious"].cpu
        ratio = mine / theirs
        found.append(
            Row(f"small pipelined requests, {label}: CPU to Kroxylicious", f"{mine * 1e6:.3g} µs",
                f"{theirs * 1e6:.3g} µs", ratio, "<= 0.25x", ratio <= 0.25)
        )  # fmt: skip
    return found


def _paced_rows(peer: Way, ours: Way) -> list[Row]:
    """One request after the other at a steady pace; late ones count from when they were due."""

    def latencies(way: Way) -> list[float]:
        found = []
        with way.server.connect() as connection:
            framed = _heartbeat(connection)
            due = time.perf_counter()
            for _ in range(PACED_REQUESTS):
                due += 1 / PACED_PER_SECOND
                while time.perf_counter() < due:
                    pass
                connection._socket.sendall(framed)
                connection.receive_frame()
                found.append(time.perf_counter() - due)
        return sorted(found)

    told: dict[str, list[list[float]]] = {way.name: [] for way in (peer, ours)}
    for _ in range(ROUNDS + 1):
        for way in (peer, ours):
            told[way.name].append(latencies(way))
    found = []
    for name, share, target in (("p50", 0.5, 0.9), ("p99", 0.99, 0.7)):
        mine, theirs = (
            statistics.median(one[int(share * len(one))] for one in told[way][1:]) for way in ("ours", "Kroxylicious")
        )
        ratio = mine / theirs
        found.append(
            Row(f"{name} at {PACED_PER_SECOND} requests/s", f"{mine * 1e6:.4g} µs", f"{theirs * 1e6:.4g} µs", ratio,
                f"<= {target:g}x", ratio <= target)
        )  # fmt: skip
    return found


def _size_rows(peer: Way, ours: Way) -> list[Row]:
    start = ours.started / peer.started
    mine, theirs = (_resident_mebibytes(way.server.pid) for way in (ours, peer))
    memory = mine / theirs
    return [
        Row("start to the first ApiVersions", f"{ours.started:.3g} s", f"{peer.started:.3g} s", start, "<= 0.1x",
            start <= 0.1),
        Row("memory after all this", f"{mine:.3g} MiB", f"{theirs:.3g} MiB", memory, "<= 0.15x", memory <= 0.15),
    ]  # fmt: skip


def _resident_mebibytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    (found,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(found) / 1024
