"""Produce and Fetch through a running cluster: with limits on, evaluated (the switch off), and with the door taken out.

CPU time of the whole process per request, client included (recorded bytes on a blocking socket, 100 requests at a
time); the door is taken out and put back in the same cluster, in alternation. The proposal's issue allows 3 %.
"""

from __future__ import annotations

import socket
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.cluster.running import RunningCluster

from benchmarks.measure import Row
from doorkeeper.cluster.watch import Watch
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.wire.answers import element_class
from doorkeeper.wire.codec import encode_request
from doorkeeper.wire.defaults import build
from doorkeeper.wire.framing import frame
from doorkeeper.wire.messages import FETCH, PRODUCE, message_classes
from doorkeeper.wire.records import Record, write_batch
from doorkeeper.wire.registry import Door

REQUESTS: Final = 100
ROUNDS: Final = 301
AT_MOST: Final = 1.03
TOPIC: Final = "measured"
CREATE_TOPICS: Final = 19
MODES: Final = {"limits on": Rulebook.of_release("5.0"), "evaluate": Rulebook.of_release("4.x")}


def rows() -> list[Row]:
    """Each API in each mode, against the same without a door."""
    with tempfile.TemporaryDirectory() as folder, RunningCluster(Path(folder)) as cluster:
        broker = cluster.node().broker
        assert broker is not None
        watch = broker.door.watch
        assert watch is not None
        with socket.create_connection(cluster.address(Door.BROKER)) as connection:
            _exchange(connection, _create_topic())
            made = []
            for what, body in (("Produce v12, one record", _produce()), ("Fetch v12, one partition", _fetch())):
                ask = _burst(connection, body)
                for mode, rulebook in MODES.items():
                    watch.rulebook = rulebook
                    ours, peer = (_with(broker.door, one, ask) for one in (watch, None))
                    made.append(_compare(f"{what}: {mode}", ours, peer))
            return made


def _with(door: Any, watch: Watch | None, ask: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        door.watch = watch
        ask()

    return call


def _compare(what: str, ours: Callable[[], None], peer: Callable[[], None]) -> Row:
    """The median of the ratios of neighbours: a difference this small drowns in the drift between medians."""
    times: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        if number % 2:
            times.append((_time(ours), _time(peer)))
        else:
            times.append((_time(peer), _time(ours))[::-1])
    ratio = statistics.median(mine / theirs for mine, theirs in times)
    mine, theirs = (statistics.median(column) for column in zip(*times, strict=True))
    return Row(what, f"{mine:.3g} µs", f"{theirs:.3g} µs", ratio, f"<= {AT_MOST:g}x", ratio <= AT_MOST)


def _time(ask: Callable[[], None]) -> float:
    """CPU time of one request, in microseconds."""
    begin = time.process_time()
    ask()
    return (time.process_time() - begin) * 1e6 / REQUESTS


def _burst(connection: socket.socket, body: Any) -> Callable[[], None]:
    requests = _framed(body) * REQUESTS

    def ask() -> None:
        connection.sendall(requests)
        for _ in range(REQUESTS):
            _receive(connection)

    return ask


def _framed(body: Any) -> bytes:
    return frame(encode_request(body, 1, "orders-service-7f9c4b5d8-x2x1q"))


def _exchange(connection: socket.socket, body: Any) -> None:
    connection.sendall(_framed(body))
    _receive(connection)


def _receive(connection: socket.socket) -> None:
    (left,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    while left:
        left -= len(connection.recv(left))


def _create_topic() -> Any:
    request = message_classes(CREATE_TOPICS, 7).request
    topic = element_class(request, "topics")
    return build(request, {"topics": (build(topic, {"name": TOPIC, "num_partitions": 1, "replication_factor": 1}),)})


def _produce() -> Any:
    request = message_classes(PRODUCE, 12).request
    topic = element_class(request, "topic_data")
    records = write_batch([Record(value=b"v" * 100, key=None, timestamp=1_700_000_000_000)], base_offset=0)
    partition = build(element_class(topic, "partition_data"), {"records": records})
    return build(request, {"acks": -1, "topic_data": (build(topic, {"name": TOPIC, "partition_data": (partition,)}),)})


def _fetch() -> Any:
    request = message_classes(FETCH, 12).request
    topic = element_class(request, "topics")
    partition = build(element_class(topic, "partitions"), {"partition_max_bytes": 1})
    return build(
        request,
        {
            "rack_id": "eu-west-1a",
            "max_bytes": 1,
            "session_epoch": -1,
            "topics": (build(topic, {"topic": TOPIC, "partitions": (partition,)}),),
        },
    )
