"""A gateway in one process, and what every process of a gateway does with signals."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final

import click

from doorkeeper.errors import DoorkeeperError
from doorkeeper.gateway.process import GatewayProcess
from doorkeeper.gateway.settings import GatewaySettings
from doorkeeper.gateway.street import OpenDoor
from doorkeeper.gateway.telemetry import Sample
from doorkeeper.net.loop import run

if TYPE_CHECKING:
    from doorkeeper.cli.gateway_settings import SettingsSource
    from doorkeeper.net.http import HttpServer

LOGGER: Final = logging.getLogger("doorkeeper.gateway")
JSON_VERSION: Final = 1
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def run_single(settings: GatewaySettings, source: SettingsSource, format_: str) -> None:
    """Serve until a signal says stop."""
    run(_serve(GatewayProcess(settings), source, format_))


async def _serve(process: GatewayProcess, source: SettingsSource, format_: str) -> None:
    stop = asyncio.Event()
    on_signals(stop.set, lambda: reload(process, source))
    if not await start_unless(stop, process):
        return
    server = await start_pages(process.settings, lambda: process.is_ready, lambda: _samples(process))
    try:
        announce(process.doors, process.settings, format_)
        await stop.wait()
    finally:
        await process.stop()
        if server is not None:
            await server.stop()


async def start_unless(stop: asyncio.Event, process: GatewayProcess) -> bool:
    """Start; False when it was told to stop meanwhile, which may take as long as upstream takes to be reached."""
    loop = asyncio.get_running_loop()
    starting, stopping = loop.create_task(process.start()), loop.create_task(stop.wait())
    await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if starting.done():
        starting.result()
        return True
    starting.cancel()
    await asyncio.wait((starting,))
    await process.stop()
    return False


async def _samples(process: GatewayProcess) -> list[Sample]:
    return process.samples()


def on_signals(stop: Callable[[], None], reload: Callable[[], None]) -> None:
    """SIGTERM and SIGINT end, SIGHUP reads the settings again."""
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, reload)


def reload(process: GatewayProcess, source: SettingsSource) -> None:
    """Take what the file says now; a file that can't be used changes nothing."""
    try:
        kept = process.change(source.load())
    except (DoorkeeperError, OSError) as error:
        LOGGER.error("the settings stay as they are: %s", error)  # noqa: TRY400 - the sentence says it all
        return
    LOGGER.warning("read the settings again: mode %s", process.settings.modes.describe())
    if kept:
        LOGGER.warning("only a restart can change %s", ", ".join(kept))


async def start_pages(
    settings: GatewaySettings, is_ready: Callable[[], bool], samples: Callable[[], Awaitable[Iterable[Sample]]]
) -> HttpServer | None:
    """Serve health and metrics, if asked to."""
    if settings.http is None:
        return None
    from doorkeeper.gateway.pages import pages
    from doorkeeper.net.http import HttpServer

    server = HttpServer(*settings.http, pages(is_ready, samples))
    await server.start()
    click.echo(f"health and metrics at http://{_address(settings.http[0], server.port)}", err=True)
    return server


def announce(doors: list[OpenDoor], settings: GatewaySettings, format_: str) -> None:
    """Say where the doors are."""
    click.echo(card(doors, settings), err=True)
    if format_ == "json":
        listening = [{"door": one.kind, "node_id": one.node_id, "host": one.host, "port": one.port} for one in doors]
        click.echo(json.dumps({"version": JSON_VERSION, "listening": listening}))
        return
    for one in doors:
        node = "bootstrap" if one.node_id is None else one.node_id
        click.echo(f"listening {one.kind} {node} {_address(one.host, one.port)}")


def card(doors: list[OpenDoor], settings: GatewaySettings) -> str:
    """Where the doors are and what they do, in a frame."""
    rows = [
        (f"{one.kind}s" if one.node_id is None else f"{one.kind} {one.node_id}", _address(one.host, one.port))
        for one in doors
    ]
    rows.append(("upstream", ", ".join(_address(*one) for one in settings.brokers.upstream)))
    rows.append(("mode", settings.modes.describe()))
    rows += [("verdicts", str(settings.verdict_log))] if settings.verdict_log else []
    rows += [("identities", str(settings.identity_log))] if settings.identity_log else []
    width = max(len(name) for name, _ in rows)
    lines = [f" {name:<{width}}  {value} " for name, value in rows]
    inner = max(map(len, lines))
    title = " doorkeeper gateway "
    return "\n".join(
        [f"╭─{title}{'─' * (inner - len(title) - 1)}╮", *(f"│{line:<{inner}}│" for line in lines), f"╰{'─' * inner}╯"]
    )


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
