"""Records in and out of a node of ours, of a real Kafka 4.3.1 and of franz-go's kfake, started here, in alternation.

Wall-clock rates say much about the machine's other work; CPU time of the server's process for each request or megabyte
is the figure to trust. The client is one connection with one request in flight, the same for all, but for the rows
of Kafka's own `kafka-producer-perf-test`. All three keep records on the same disk, and wait for none to be flushed.
"""

from __future__ import annotations

import os
import re
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload
from tests.kafka import requests as wire
from tests.kafka.cluster import KafkaCluster, NodeSpec
from tests.kafka.jars import require_jars
from tests.kafka.requests import Connection, make_request

from benchmarks import kfake
from benchmarks.control_plane import serving
from benchmarks.measure import Row
from doorkeeper.wire.records import Record, write_batch

ROUNDS = 7
SMALL_BYTES = 100
SMALL_REQUESTS = 1000
FETCH_BYTES = 1024 * 1024
FETCHES = 60
STORED_BATCH_BYTES = 64 * 1024
PERF_RECORDS = 60_000
PERF_RECORD_BYTES = 1000
PERF_ROUNDS = 3
PRODUCE, FETCH = 0, 1
IDLE_PARTITIONS = 1000
IDLE_SECONDS = 5.0
AGAINST_KFAKE = ", against kfake"
TICKS = os.sysconf("SC_CLK_TCK")


class Server(NamedTuple):
    """One of them."""

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """Of the whole process, so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def connect(self) -> Connection:
        return Connection(("127.0.0.1", self.port))


class Spent(NamedTuple):
    """What a round took, for each unit."""

    wall: float
    cpu: float


class Servers(NamedTuple):
    """All that are measured."""

    ours: Server
    kafka: Server
    kfake: Server


@contextmanager
def running(root: Path, configs: Mapping[str, str]) -> Iterator[Servers]:
    """One node of each, empty; kfake has no such configs."""
    kafka = KafkaCluster(require_jars(), root / "kafka", [NodeSpec(1, ("broker", "controller"), dict(configs))])
    overrides = [part for key, value in configs.items() for part in ("--override", f"{key}={value}")]
    with kafka, serving(root / "ours", *overrides) as (ours, our_port), kfake.running(root / "kfake") as (fake, port):
        node = next(iter(kafka.nodes.values()))
        assert node.process is not None
        assert node.broker_port is not None
        kafkas = Server(node.process.pid, node.broker_port)
        yield Servers(Server(ours.pid, our_port), kafkas, Server(fake.pid, port))


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), {}) as servers:
        return [*_produce_rows(servers), *_fetch_rows(servers), *_perf_rows(servers), *_idle_rows(servers)]


def _alternately(measure: Callable[[Server], Spent], servers: Servers, rounds: int) -> list[Spent]:
    """The median of each."""
    found: dict[Server, list[Spent]] = {server: [] for server in servers}
    for server in reversed(servers):
        measure(server)  # to warm it up
    for _ in range(rounds):
        for server in reversed(servers):
            found[server].append(measure(server))
    return [
        Spent(statistics.median(one.wall for one in spent), statistics.median(one.cpu for one in spent))
        for spent in found.values()
    ]


def _timed(server: Server, units: float, work: Callable[[], None]) -> Spent:
    cpu, begin = server.cpu_seconds(), time.perf_counter()
    work()
    return Spent((time.perf_counter() - begin) / units, (server.cpu_seconds() - cpu) / units)


def _rows(what: str, unit: str, spent: list[Spent], *, at_least: float, cpu_at_most: float) -> list[Row]:
    """Rate and CPU against Kafka, which there are targets for, and against kfake, for which there are none."""
    ours, kafkas, kfakes = spent
    found = []
    for peer, name in ((kafkas, ""), (kfakes, AGAINST_KFAKE)):
        rate, cpu = peer.wall / ours.wall, ours.cpu / peer.cpu
        found += [
            Row(what + name, f"{1 / ours.wall:.4g} {unit}/s", f"{1 / peer.wall:.4g} {unit}/s", rate,
                f">= {at_least:g}x", rate >= at_least),
            Row(f"{what}: CPU{name}", f"{ours.cpu * 1e6:.4g} µs/{unit}", f"{peer.cpu * 1e6:.4g} µs/{unit}", cpu,
                f"<= {cpu_at_most:g}x", cpu <= cpu_at_most),
        ]  # fmt: skip
    return [row if place < 2 else without_target(row) for place, row in enumerate(found)]


def without_target(row: Row) -> Row:
    return replace(row, target="-", met=None)


def make_topic(server: Server, name: str, partitions: int = 1) -> None:
    with server.connect() as connection:
        wire.create_topic(connection, name, partitions=partitions)


def produce_request(topic: str, batch: bytes) -> RequestPayload:
    partition = {"index": 0, "records": batch}
    return make_request(
        PRODUCE, 9, transactional_id=None, acks=-1, timeout=timedelta(seconds=30),
        topic_data=[{"name": topic, "partition_data": [partition]}],
    )  # fmt: skip


def _produce_rows(servers: Servers) -> list[Row]:
    batch = write_batch([Record(os.urandom(SMALL_BYTES), timestamp=int(time.time() * 1000))], base_offset=0)
    request = produce_request("small", batch)
    for server in servers:
        make_topic(server, "small")

    def measure(server: Server) -> Spent:
        with server.connect() as connection:
            frame = connection.frame(request)

            def work() -> None:
                for _ in range(SMALL_REQUESTS):
                    connection.send_bytes(frame)
                    connection.receive_frame()

            return _timed(server, SMALL_REQUESTS, work)

    spent = _alternately(measure, servers, ROUNDS)
    return _rows("produce, one request of 100 bytes in flight", "request", spent, at_least=1.5, cpu_at_most=1.0)


def _fetch_rows(servers: Servers) -> list[Row]:
    batch = write_batch([Record(os.urandom(STORED_BATCH_BYTES), timestamp=int(time.time() * 1000))], base_offset=0)
    batches = FETCHES * FETCH_BYTES // STORED_BATCH_BYTES
    for server in servers:
        make_topic(server, "large")
        _store(server, produce_request("large", batch), batches + 16)

    def measure(server: Server) -> Spent:
        with server.connect() as connection:
            frames = [connection.frame(fetch_request("large", number * 16)) for number in range(FETCHES)]

            def work() -> None:
                for frame in frames:
                    connection.send_bytes(frame)
                    _drain(connection)

            return _timed(server, FETCHES, work)

    spent = _alternately(measure, servers, ROUNDS)
    return _rows("fetch 1 MB", "MB", spent, at_least=2.0, cpu_at_most=0.5)


def _store(server: Server, request: RequestPayload, times: int) -> None:
    """Have as many batches stored; a partition that is new may not take the first at once."""
    with server.connect() as connection:
        while times:
            (topic,) = connection.call(request).responses
            times -= topic.partition_responses[0].error_code is ErrorCode.none


BUFFER = bytearray(FETCH_BYTES)


def _drain(connection: Connection) -> None:
    """Read an answer without keeping it: a client's copying is not what is measured."""
    (size,) = struct.unpack(">i", connection._receive(4))
    assert size > FETCH_BYTES // 2
    while size:
        size -= connection._socket.recv_into(BUFFER, min(size, FETCH_BYTES))


def fetch_request(topic: str, offset: int) -> RequestPayload:
    partition = {
        "partition": 0, "current_leader_epoch": -1, "fetch_offset": offset, "last_fetched_epoch": -1,
        "log_start_offset": -1, "partition_max_bytes": FETCH_BYTES,
    }  # fmt: skip
    return make_request(
        FETCH, 12, replica_id=-1, max_wait=timedelta(seconds=1), min_bytes=1, max_bytes=FETCH_BYTES,
        isolation_level=0, session_id=0, session_epoch=-1, topics=[{"topic": topic, "partitions": [partition]}],
        forgotten_topics_data=[], rack_id="",
    )  # fmt: skip


def _perf_rows(servers: Servers) -> list[Row]:
    """Kafka's own tool with batches of 256 KB; its own rate, and the server's CPU."""
    jars = require_jars()
    for server in servers:
        make_topic(server, "perf")
    megabytes = PERF_RECORDS * PERF_RECORD_BYTES / 1e6

    def measure(server: Server) -> Spent:
        cpu = server.cpu_seconds()
        done = subprocess.run(
            [
                "java", "-Xmx512m", "-cp", f"{jars}/*", "org.apache.kafka.tools.ProducerPerformance",
                "--topic", "perf", "--num-records", str(PERF_RECORDS), "--record-size", str(PERF_RECORD_BYTES),
                "--throughput", "-1", "--command-property", f"bootstrap.servers=127.0.0.1:{server.port}",
                "batch.size=262144", "linger.ms=5", "acks=1", "buffer.memory=67108864",
            ],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        rate = re.findall(r"records sent, .*?\(([0-9.]+) MB/sec\)", done.stdout)[-1]
        return Spent(1 / float(rate), (server.cpu_seconds() - cpu) / megabytes)

    spent = _alternately(measure, servers, PERF_ROUNDS)
    return _rows("Java producer, batches of 256 KB", "MB", spent, at_least=1.0, cpu_at_most=0.4)


def _idle_rows(servers: Servers) -> list[Row]:
    for server in servers:
        make_topic(server, "idle", IDLE_PARTITIONS)
    time.sleep(IDLE_SECONDS)  # until they have made the logs

    def idle(server: Server) -> float:
        cpu = server.cpu_seconds()
        time.sleep(IDLE_SECONDS)
        return (server.cpu_seconds() - cpu) / IDLE_SECONDS

    ours, *peers = (idle(server) for server in servers)
    kafkas, kfakes = (max(used, 1 / TICKS / IDLE_SECONDS) for used in peers)
    what = f"CPU of {IDLE_PARTITIONS} idle partitions"
    row = Row(what, f"{ours:.2%}", f"{kafkas:.2%}", ours / kafkas, "<= 0.2x", ours / kafkas <= 0.2)
    fake = replace(row, what=what + AGAINST_KFAKE, peer=f"{kfakes:.2%}", ratio=ours / kfakes)
    return [row, without_target(fake)]
