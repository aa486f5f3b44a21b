"""Microseconds per request over loopback, one in flight and pipelined: `python benchmarks/wire_requests.py`.

The server runs in a process of its own; the client writes recorded bytes on a blocking socket, so that it costs little.
CPU time of the server per request is the figure to trust on a noisy machine.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from doorkeeper.net.listener import Listener
from doorkeeper.net.loop import run
from doorkeeper.net.service import DECODE, Decode, Peer
from doorkeeper.wire import api_versions
from doorkeeper.wire.api_versions import Features
from doorkeeper.wire.codec import Request, RequestHeader, encode_body, encode_request
from doorkeeper.wire.defaults import build
from doorkeeper.wire.framing import Frame, frame
from doorkeeper.wire.messages import (
    API_KEYS,
    API_VERSIONS,
    METADATA,
    message_classes,
    newest_stable_version,
    oldest_version,
)
from doorkeeper.wire.registry import Door, Registry, Served

REQUESTS = 20_000
PIPELINED = 64
VERSION = 12


class Sample:
    """Answers ApiVersions, computed or cached, and a Metadata of one broker and ten topics."""

    def __init__(self, *, cached: bool) -> None:
        others = API_KEYS - {API_VERSIONS}
        served = [Served(key, oldest_version(key), newest_stable_version(key), frozenset(Door)) for key in others]
        self.registry = Registry([*served, api_versions.SERVED], Door.BROKER)
        self._cached = cached
        self._versions = encode_body(api_versions.api_versions_response(4, self.registry, Features()))
        self._metadata = _metadata_response()

    def handle_opaque(self, header: RequestHeader, frame: Frame, peer: Peer) -> bytes | Decode:
        return self._versions if self._cached and header.api_key == API_VERSIONS else DECODE

    def handle(self, request: Request, peer: Peer) -> Any:
        if request.api_key == METADATA:
            return self._metadata
        return api_versions.answer(request.api_version, request.body, self.registry, Features())


def _metadata_response() -> Any:
    from kio.schema.metadata.v12.response import (
        MetadataResponse,
        MetadataResponseBroker,
        MetadataResponsePartition,
        MetadataResponseTopic,
    )

    broker = build(MetadataResponseBroker, {"node_id": 1, "host": "localhost", "port": 9092})
    partition = build(MetadataResponsePartition, {"replica_nodes": (1,), "isr_nodes": (1,)})
    topics = tuple(
        build(MetadataResponseTopic, {"name": f"topic-{number}", "partitions": (partition,)}) for number in range(10)
    )
    return build(MetadataResponse, {"brokers": (broker,), "topics": topics})


def _serve(pipe: Connection, cached: bool) -> None:
    async def main() -> None:
        import asyncio

        listener = Listener("127.0.0.1", 0, Sample(cached=cached))
        await listener.start()
        pipe.send(listener.port)
        loop = asyncio.get_running_loop()
        asked = asyncio.Event()
        loop.add_reader(pipe.fileno(), asked.set)
        while True:
            await asked.wait()
            asked.clear()
            if pipe.recv() == "stop":
                break
            pipe.send(time.process_time())
        await listener.stop()

    run(main())


@contextmanager
def _server(*, cached: bool) -> Iterator[tuple[int, Connection]]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(theirs, cached))
    process.start()
    theirs.close()
    yield ours.recv(), ours
    ours.send("stop")
    process.join(10)


def _exchange(sock: socket.socket, request: bytes, batch: int) -> None:
    sock.sendall(request * batch)
    for _ in range(batch):
        size = int.from_bytes(_read(sock, 4), "big")
        _read(sock, size)


def _read(sock: socket.socket, size: int) -> bytes:
    return sock.recv(size, socket.MSG_WAITALL)


def _measure(name: str, request: bytes, batch: int, *, cached: bool) -> None:
    with _server(cached=cached) as (port, pipe), socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _exchange(sock, request, batch)
        pipe.send("cpu")
        cpu, wall = pipe.recv(), time.perf_counter()
        rounds = REQUESTS // batch
        for _ in range(rounds):
            _exchange(sock, request, batch)
        wall = time.perf_counter() - wall
        pipe.send("cpu")
        cpu = pipe.recv() - cpu
        done = rounds * batch
        print(f"{name:34} batch {batch:3}: {wall / done * 1e6:7.1f} us wall {cpu / done * 1e6:7.1f} us server CPU")


def main() -> None:
    """Measure and print."""
    print(f"pid {os.getpid()}, {REQUESTS} requests each")
    versions = message_classes(API_VERSIONS, 4).request(client_software_name="bench", client_software_version="1")
    metadata = build(message_classes(METADATA, VERSION).request, {"topics": None})
    for batch in (1, PIPELINED):
        _measure("ApiVersions v4 (cached bytes)", frame(encode_request(versions, 1, "bench")), batch, cached=True)
        _measure("ApiVersions v4 (computed)", frame(encode_request(versions, 1, "bench")), batch, cached=False)
        _measure("Metadata v12 (10 topics, encoded)", frame(encode_request(metadata, 1, "bench")), batch, cached=False)


if __name__ == "__main__":
    main()
