"""`doorkeeper gateway`: a Kafka-protocol gateway in front of a real cluster, until it is told to stop.

Addresses go to stdout, one line for each door (`listening broker bootstrap 127.0.0.1:9092`, then one for each node) or
one JSON document; the card and the log go to stderr.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.errors import InputError

if TYPE_CHECKING:
    from doorkeeper.gateway.process import GatewayProcess
    from doorkeeper.gateway.settings import GatewaySettings, Side

JSON_VERSION: Final = 1
LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LEVELS: Final = ("debug", "info", "warning", "error")
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@click.group("gateway", invoke_without_command=True)
@click.option("--upstream", metavar="HOST:PORT[,…]", help="Brokers of the real cluster.")
@click.option("--listen", default="127.0.0.1:9092", show_default=True, metavar="HOST:PORT", help="0: a free port.")
@click.option("--node-ports", metavar="FIRST-LAST", help="A port for each broker; else free ones after --listen.")
@click.option("--upstream-controllers", metavar="HOST:PORT[,…]", help="Controllers of the real cluster.")
@click.option("--listen-controllers", metavar="HOST:PORT", help="Where controllers are reached.")
@click.option("--controller-ports", metavar="FIRST-LAST", help="Ports for the controllers, one each.")
@click.option("--advertise", metavar="HOST", help="The host that clients are told, instead of the listening one.")
@click.option(
    "--mode",
    "modes",
    multiple=True,
    metavar="[RULE=]off|evaluate|enforce",
    help="What becomes of a breach; for all rules, or for one (group_id=enforce).  [default: evaluate]",
)
@click.option("--state", type=click.Path(path_type=Path), help="Where the ports of nodes are remembered.")
@click.option("--verdict-log", type=click.Path(path_type=Path), help="Breaches, as JSON lines.")
@click.option("--identity-log", type=click.Path(path_type=Path), help="Who uses which identifiers, as JSON lines.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--log-level", type=click.Choice(LEVELS), default="warning", show_default=True)
@click.pass_context
def command(ctx: click.Context, /, format_: str, log_level: str, **asked: Any) -> None:
    """Stand before a real Kafka cluster: judge what clients send, count and log it, or refuse it."""
    if ctx.invoked_subcommand is not None:
        return
    from doorkeeper.gateway.process import GatewayProcess
    from doorkeeper.net.loop import run

    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT)
    settings = _settings(**asked)
    run(_serve(GatewayProcess(settings), format_))


def _settings(**asked: Any) -> GatewaySettings:
    from doorkeeper.gateway.modes import parse_modes
    from doorkeeper.gateway.settings import GatewaySettings

    if not asked["upstream"]:
        raise click.UsageError("Missing option '--upstream'.")
    controllers = None
    if asked["upstream_controllers"]:
        if not asked["listen_controllers"]:
            raise click.UsageError("'--upstream-controllers' needs '--listen-controllers'.")
        controllers = _side(asked["upstream_controllers"], asked["listen_controllers"], asked["controller_ports"])
    return GatewaySettings(
        brokers=_side(asked["upstream"], asked["listen"], asked["node_ports"]),
        controllers=controllers,
        advertised_host=asked["advertise"],
        modes=parse_modes(asked["modes"]),
        state=asked["state"],
        verdict_log=asked["verdict_log"],
        identity_log=asked["identity_log"],
    )


def _side(upstream: str, listen: str, ports: str | None) -> Side:
    from doorkeeper.gateway.node_ranks import PortRange
    from doorkeeper.gateway.settings import Side

    addresses = tuple(_address(one, least=1) for one in upstream.split(",") if one.strip())
    return Side(addresses, _address(listen), None if ports is None else PortRange.parse(ports))


def _address(text: str, least: int = 0) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not least <= int(port) <= 65535:
        raise InputError(f"{text!r} is not HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


async def _serve(process: GatewayProcess, format_: str) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    await process.start()
    try:
        _announce(process, format_)
        await stop.wait()
    finally:
        await process.stop()


def _announce(process: GatewayProcess, format_: str) -> None:
    if format_ == "json":
        listening = [
            {"door": one.kind, "node_id": one.node_id, "host": one.host, "port": one.port} for one in process.doors
        ]
        click.echo(json.dumps({"version": JSON_VERSION, "listening": listening}))
        return
    for one in process.doors:
        node = "bootstrap" if one.node_id is None else one.node_id
        host = f"[{one.host}]" if ":" in one.host else one.host
        click.echo(f"listening {one.kind} {node} {host}:{one.port}")
