"""What `doorkeeper serve` lets be seen of itself: metrics over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from doorkeeper.errors import InputError

if TYPE_CHECKING:
    from doorkeeper.cluster.process import NodeProcess

Command = TypeVar("Command", bound=Callable[..., Any])

LOCALHOST: Final = "127.0.0.1"
PORT: Final = click.IntRange(0, 65535)


def metrics_options(command: Command) -> Command:
    """The options of `serve` for this."""
    host = click.option("--metrics-host", default=LOCALHOST, show_default=True, help="Where the metrics port is open.")
    port = click.option("--metrics-port", type=PORT, help="Serve /metrics and /kafka-metrics over HTTP. 0: free.")
    return port(host(command))


@asynccontextmanager
async def metrics_served(process: NodeProcess, host: str, port: int | None) -> AsyncIterator[tuple[str, int] | None]:
    """Serve the metrics of a process that runs; gives the address, or None if nobody asked for it."""
    if port is None:
        yield None
        return
    from doorkeeper.cluster.metrics_server import metrics_server

    server = metrics_server(process.nodes, host, port)
    try:
        await server.start()
    except OSError as error:
        raise InputError(f"can't serve metrics on {host}:{port}: {error.strerror or error}") from error
    try:
        yield server.host, server.port
    finally:
        await server.stop()
