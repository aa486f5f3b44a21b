"""What `doorkeeper serve` lets be seen of itself: metrics over HTTP, and the request log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from doorkeeper.errors import InputError

if TYPE_CHECKING:
    from doorkeeper.cluster.process import NodeProcess
    from doorkeeper.cluster.request_log import RequestLogWish
    from doorkeeper.cluster.server_config import NodeConfig

Command = TypeVar("Command", bound=Callable[..., Any])

LOCALHOST: Final = "127.0.0.1"
REQUEST_LOG_OPTIONS: Final = ("request_log", "request_log_sample", "request_log_listeners")
PORT: Final = click.IntRange(0, 65535)


def metrics_options(command: Command) -> Command:
    """The options of `serve` for this."""
    folder = click.option(
        "--request-log",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Log every request as Kafka does, one file for each listener; rotated and gzipped.",
    )
    sample = click.option(
        "--request-log-sample",
        type=click.FloatRange(0, 1, min_open=True),
        default=1.0,
        show_default=True,
        help="The share of requests that is logged.",
    )
    listeners = click.option(
        "--request-log-listener", "request_log_listeners", multiple=True, metavar="NAME", help="Log this listener only."
    )
    host = click.option("--metrics-host", default=LOCALHOST, show_default=True, help="Where the metrics port is open.")
    port = click.option("--metrics-port", type=PORT, help="Serve /metrics and /kafka-metrics over HTTP. 0: free.")
    return port(host(folder(sample(listeners(command)))))


def request_log_wish(
    request_log: Path | None, request_log_sample: float, request_log_listeners: tuple[str, ...]
) -> RequestLogWish | None:
    """What the options ask for."""
    if request_log is None:
        return None
    from doorkeeper.cluster.request_log import RequestLogWish

    return RequestLogWish(request_log, request_log_sample, listeners=frozenset(request_log_listeners))


def require_listeners(wish: RequestLogWish | None, configs: Sequence[NodeConfig]) -> None:
    """Every listener that is to be logged is there.

    :raises InputError: otherwise, for nothing would be logged.
    """
    known = {one.listener for config in configs for one in (*config.listeners, *config.controller_listeners)}
    unknown = set() if wish is None else wish.listeners - known
    if unknown:
        names = f"{', '.join(sorted(unknown))}: the listeners are {', '.join(sorted(known))}"
        raise InputError(f"can't log requests of {names}")


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
