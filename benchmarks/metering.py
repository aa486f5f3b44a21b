"""What metering, quotas and the request log cost: the node's CPU time for Produce requests of 16 KB and of 1 KB.

1,000 clients send them in turn, over connections of their own, into a partition log on disk.

The peer is the same door without its meter (or without its log). The last row is memory: what 100,000 client ids leave
behind, against what the 10,000 leave that have series of their own.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, compare
from doorkeeper.cluster.layout import Wishes, lay_out
from doorkeeper.cluster.messages import make_request
from doorkeeper.cluster.metered_service import MeteredService
from doorkeeper.cluster.process import NodeProcess
from doorkeeper.cluster.request_log import RequestLogWish, open_request_log
from doorkeeper.metering.clients import ClientBook
from doorkeeper.net.limits import Limits
from doorkeeper.net.server_protocol import ServerProtocol
from doorkeeper.wire.codec import encode_request
from doorkeeper.wire.framing import frame
from doorkeeper.wire.records import Record, write_batch
from doorkeeper.wire.registry import Door

CLIENTS = 1000
TURNS = 5
PRODUCE, CREATE_TOPICS = 0, 19
SIZES = (16 * 1024, 1024)


class Sink(asyncio.Transport):
    """A transport that takes everything and keeps nothing."""

    def write(self, data: Any) -> None: ...
    def writelines(self, list_of_data: Any) -> None: ...
    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 9092)


def rows() -> list[Row]:
    """All rows."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_produce_rows(Path(folder)))
    return [*found, _memory_row()]


async def _produce_rows(folder: Path) -> list[Row]:
    wishes = Wishes(port=0, data=folder / "data", overrides={"log.retention.bytes": "100000000"})
    async with NodeProcess(lay_out(None, wishes)) as process:
        node = process.nodes[0]
        broker = node.broker
        assert broker is not None
        await _create_topic(broker)
        log = open_request_log(RequestLogWish(folder / "log"), 1, "PLAINTEXT", "PLAINTEXT")
        assert log is not None
        bare = _connections(broker.door)
        metered = _connections(MeteredService(broker.door, Door.BROKER, node.meter))
        logged = _connections(MeteredService(broker.door, Door.BROKER, node.meter, log))
        found = []
        for size in SIZES:
            requests = _requests(size)
            runs = [_run(connections, requests) for connections in (bare, metered, logged)]
            for run in runs:
                run()
            what = f"{size // 1024} KB from {CLIENTS} clients"
            found.append(_compared(f"metered and checked, {what}", runs[1], runs[0], at_most=1.03))
            found.append(_compared(f"logged, {what}", runs[2], runs[1], at_most=1.15))
        log.lines.close()
        return found


def _compared(what: str, ours: Callable[[], None], peer: Callable[[], None], *, at_most: float) -> Row:
    return compare(what, ours, peer, at_most=at_most, loops=1, rounds=9, unit="ms", clock=time.thread_time)


async def _create_topic(broker: Any) -> None:
    await broker.create_topic("topic")
    while "topic" not in broker.image.topics.by_name:
        await asyncio.sleep(0.01)


def _connections(service: Any) -> list[ServerProtocol]:
    made = []
    for _ in range(CLIENTS):
        protocol = ServerProtocol(service, "PLAINTEXT", Limits(), lambda _: None, lambda _: None)
        protocol.connection_made(Sink())
        made.append(protocol)
    return made


def _requests(size: int) -> list[bytes]:
    records = write_batch([Record(key=None, value=b"x" * (size - 100), timestamp=1)], base_offset=0)
    topic = {"name": "topic", "partition_data": [{"index": 0, "records": records}]}
    request = make_request(PRODUCE, 9, {"acks": -1, "timeout": timedelta(seconds=5), "topic_data": [topic]})
    return [frame(encode_request(request, 1, f"client-{number:04} / odd")) for number in range(CLIENTS)]


def _run(connections: list[ServerProtocol], requests: list[bytes]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(TURNS):
            for protocol, request in zip(connections, requests, strict=True):
                protocol.data_received(request)

    return run


def _memory_row() -> Row:
    capped, whole = _left_behind(10_000), _left_behind(100_000)
    ratio = whole / capped
    return Row("memory after 100,000 client ids", _mebibytes(whole), _mebibytes(capped), ratio, "<= 1.1x", ratio <= 1.1)


def _left_behind(count: int) -> int:
    gc.collect()
    tracemalloc.start()
    book = ClientBook()
    for number in range(count):
        meter = book.find("ANONYMOUS", f"client-{number}", number)
        book.produce(meter).record(1000, number)
        book.request(meter).record(0.1, number)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(book) <= book.limit
    return used


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
