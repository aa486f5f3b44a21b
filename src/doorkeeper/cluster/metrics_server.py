"""The metrics of a process over HTTP: `/metrics` for Prometheus, `/kafka-metrics` as JSON, `/health`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from doorkeeper.cluster.node import Node
from doorkeeper.cluster.node_metrics import node_metrics
from doorkeeper.metering.exposition import OPENMETRICS, PROMETHEUS, json_text, prometheus_text
from doorkeeper.metering.measured import Measured, by_object_name, families
from doorkeeper.net.http import HttpServer, Page

AT_ONCE: Final = 200
"""Objects that are gathered before the event loop may turn to somebody else: a few milliseconds' worth."""
JSON: Final = "application/json; charset=utf-8"


def metrics_server(nodes: Sequence[Node], host: str, port: int) -> HttpServer:
    """A server for the metrics of these nodes, not started yet."""
    return HttpServer(
        host,
        port,
        {
            "/metrics": lambda accept: _prometheus(nodes, accept),
            "/kafka-metrics": lambda _: _json(nodes),
            "/health": lambda _: _health(),
        },
    )


async def _prometheus(nodes: Sequence[Node], accept: str) -> Page:
    measured = [one async for one in _gathered(nodes)]
    kind = OPENMETRICS if "application/openmetrics-text" in accept else PROMETHEUS
    return Page(prometheus_text(families(measured)), kind)


async def _json(nodes: Sequence[Node]) -> Page:
    return Page(json_text(by_object_name([one async for one in _gathered(nodes)])), JSON)


async def _health() -> Page:
    return Page("ok\n")


async def _gathered(nodes: Sequence[Node]) -> AsyncIterator[Measured]:
    for index, one in enumerate(_everything(nodes)):
        if index % AT_ONCE == 0:
            await asyncio.sleep(0)
        yield one


def _everything(nodes: Sequence[Node]) -> Iterator[Measured]:
    for node in nodes:
        yield from node_metrics(node, with_node=len(nodes) > 1)
