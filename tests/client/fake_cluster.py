"""Nodes that speak Kafka's protocol and say what a test tells them to; everything asked of them is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from doorkeeper.client.messages import build
from doorkeeper.wire.codec import Request, decode_request, encode_response
from doorkeeper.wire.codes import wire_code
from doorkeeper.wire.framing import frame
from doorkeeper.wire.messages import API_VERSIONS, METADATA, message_classes, newest_version, oldest_version

if TYPE_CHECKING:
    from types import TracebackType

DESCRIBE_CLUSTER = 60
HOST = "127.0.0.1"
NO_WAIT = {"throttle_time": timedelta(0)}

Handler = Callable[[Request], "Mapping[str, Any] | None"]


class HangUpError(Exception):
    """Raised by a handler: the node closes the connection in place of an answer."""


@dataclass
class FakeNode:
    """One node: its handlers by API key, and what it was asked. A handler that returns None keeps clients waiting."""

    id: int
    cluster: FakeCluster
    handlers: dict[int, Handler] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    offered: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Versions that differ from Kafka 4.3.1's."""
    connections: int = 0
    port: int = 0
    server: asyncio.Server | None = None

    def asked_of(self, api_key: int) -> list[Request]:
        """The requests of one API."""
        return [one for one in self.asked if one.api_key == api_key]

    async def start(self) -> None:
        """Listen on a free port."""
        self.server = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.cluster.writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError, HangUpError):
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                request = decode_request(await reader.readexactly(size))
                self.asked.append(request)
                values = self._answer(request)
                if values is None:
                    continue
                body = build(message_classes(request.api_key, request.api_version).response, values)
                encoded = encode_response(request.api_key, request.api_version, request.correlation_id, body)
                writer.write(frame(encoded))
        writer.close()

    def _answer(self, request: Request) -> Mapping[str, Any] | None:
        if request.api_key in self.handlers:
            return self.handlers[request.api_key](request)
        if request.api_key == API_VERSIONS:
            return self._versions()
        if request.api_key == METADATA:
            return self.cluster.metadata()
        if request.api_key == DESCRIBE_CLUSTER:
            return self.cluster.description(request.body.endpoint_type)
        raise HangUpError

    def _versions(self) -> Mapping[str, Any]:
        served = {API_VERSIONS, METADATA, DESCRIBE_CLUSTER, *self.handlers}
        spans = {key: (oldest_version(key), newest_version(key)) for key in served} | self.offered
        return {
            "error_code": wire_code(0),
            "api_keys": [
                {"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in spans.items()
            ],
            **NO_WAIT,
        }


class FakeCluster:
    """Nodes 1, 2, ...; the first is the controller until a test says otherwise."""

    def __init__(self, nodes: int = 1) -> None:
        self.nodes = {number: FakeNode(number, self) for number in range(1, nodes + 1)}
        self.controller_id = 1
        self.writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> FakeCluster:
        for node in self.nodes.values():
            await node.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes.values():
            assert node.server is not None
            node.server.close()
        for writer in self.writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    @property
    def bootstrap(self) -> str:
        """The address of the first node."""
        return f"{HOST}:{self.nodes[1].port}"

    def on(self, api_key: int, handler: Handler) -> None:
        """Have every node answer an API so."""
        for node in self.nodes.values():
            node.handlers[api_key] = handler

    def metadata(self) -> Mapping[str, Any]:
        """What every node says of the cluster."""
        brokers = [{"node_id": node.id, "host": HOST, "port": node.port, "rack": None} for node in self.nodes.values()]
        return {
            "brokers": brokers,
            "cluster_id": "fake",
            "controller_id": self.controller_id,
            "topics": (),
            "error_code": wire_code(0),
            **NO_WAIT,
        }

    def description(self, endpoint_type: int) -> Mapping[str, Any]:
        """The same, as DescribeCluster has it."""
        return {
            "error_code": wire_code(0),
            "error_message": None,
            "endpoint_type": endpoint_type,
            "cluster_id": "fake",
            "controller_id": self.controller_id,
            "brokers": [
                {"broker_id": node.id, "host": HOST, "port": node.port, "rack": None} for node in self.nodes.values()
            ],
            **NO_WAIT,
        }
