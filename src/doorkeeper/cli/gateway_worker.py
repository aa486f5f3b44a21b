"""One worker of a gateway: serves, and tells its supervisor what it counts.

The two speak JSON lines: the worker says where its doors are when they are open, and answers `"samples"`.
"""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from doorkeeper.cli.gateway_single import on_signals, reload, start_unless
from doorkeeper.gateway.process import GatewayProcess
from doorkeeper.gateway.telemetry import to_json
from doorkeeper.net.loop import run

if TYPE_CHECKING:
    from doorkeeper.cli.gateway_settings import SettingsSource


def run_worker(channel: int, source: SettingsSource) -> None:
    """Serve until a signal says stop, or the supervisor has gone.

    :param channel: the file descriptor of a socket to the supervisor.
    """
    run(_serve(socket.socket(fileno=channel), source))


async def _serve(channel: socket.socket, source: SettingsSource) -> None:
    stop = asyncio.Event()
    process = GatewayProcess(source.load(), reuse_port=True)
    on_signals(stop.set, lambda: reload(process, source))
    reader, writer = await asyncio.open_connection(sock=channel)
    if not await start_unless(stop, process):
        writer.close()
        return
    talking = asyncio.get_running_loop().create_task(_talk(reader, writer, process, stop))
    try:
        await stop.wait()
    finally:
        await process.stop()
        talking.cancel()
        with suppress(asyncio.CancelledError):
            await talking
        writer.close()


async def _talk(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, process: GatewayProcess, stop: asyncio.Event
) -> None:
    with suppress(OSError):
        _say(writer, {"doors": [asdict(one) for one in process.doors]})
        while await reader.readline():
            _say(writer, {"samples": to_json(process.samples()), "ready": process.is_ready})
            await writer.drain()
    stop.set()


def _say(writer: asyncio.StreamWriter, document: object) -> None:
    writer.write(json.dumps(document).encode() + b"\n")
