"""`doorkeeper serve [server.properties]`: a running cluster, until it is told to stop.

Addresses go to stdout, one line for each door (`listening broker 1 127.0.0.1:9092`) or one JSON document; the card and
the log go to stderr.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli.properties_file import load_properties
from doorkeeper.cli.serve_metrics import (
    REQUEST_LOG_OPTIONS,
    metrics_options,
    metrics_served,
    request_log_wish,
    require_listeners,
)
from doorkeeper.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doorkeeper.cluster.layout import Wishes
    from doorkeeper.cluster.node import OpenDoor
    from doorkeeper.cluster.process import NodeProcess
    from doorkeeper.cluster.server_config import NodeConfig
    from doorkeeper.cluster.verdicts import Verdicts

JSON_VERSION: Final = 1
LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LEVELS: Final = ("debug", "info", "warning", "error")
VERDICT_LOG_HELP: Final = "Where to write, as JSON lines, who breaks the limits of identifiers; rotated and gzipped."
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@click.command("serve")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--override", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a config of every node.")
@click.option("--port", type=click.IntRange(0, 65534), help="The broker's port; the controller's is the next. 0: free.")
@click.option("--data", type=click.Path(path_type=Path), help="Where data is kept.  [default: ./doorkeeper-data]")
@click.option("--release", type=click.Choice(["4.x", "5.0"]), default="4.x", show_default=True, help="Whose defaults.")
@click.option("--brokers", type=int, default=1, show_default=True, help="Brokers in this process.")
@click.option(
    "--broker-override", "broker_overrides", multiple=True, metavar="ID:KEY=VALUE", help="Set a config of one broker."
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--verdict-log", type=click.Path(path_type=Path, dir_okay=False), help=VERDICT_LOG_HELP)
@click.option("--log-level", type=click.Choice(LEVELS), default="warning", show_default=True)
@metrics_options
def command(
    file: Path | None,
    format_: str,
    verdict_log: Path | None,
    log_level: str,
    metrics_host: str,
    metrics_port: int | None,
    **asked: Any,
) -> None:
    """Start a Kafka-compatible cluster: a combined node on 127.0.0.1, or what FILE (Kafka's server.properties) says."""
    with _lasting():
        from doorkeeper.cluster.layout import lay_out
        from doorkeeper.cluster.process import NodeProcess
        from doorkeeper.cluster.server_config import BadConfigurationError
        from doorkeeper.net.loop import run

    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT)
    properties = None if file is None else load_properties(file)
    log = request_log_wish(**{name: asked.pop(name) for name in REQUEST_LOG_OPTIONS})
    try:
        configs = lay_out(properties, _wishes(**asked))
    except BadConfigurationError as error:
        name = "the configuration" if file is None else str(file)
        raise InputError("\n  ".join([f"{name} is refused:", *error.faults])) from None
    require_listeners(log, configs)
    verdicts = _verdicts(verdict_log)
    try:
        run(_serve(NodeProcess(configs, verdicts, request_log=log), configs, format_, (metrics_host, metrics_port)))
    finally:
        verdicts.close()


def _verdicts(path: Path | None) -> Verdicts:
    from doorkeeper.cluster.verdicts import Verdicts
    from doorkeeper.net.line_log import LineLog

    try:
        return Verdicts(None if path is None else LineLog(path))
    except OSError as error:
        raise InputError(f"can't write the verdict log {path}: {error.strerror or error}") from None


@contextmanager
def _lasting() -> Iterator[None]:
    """Make modules, which all stay: to look for garbage among them meanwhile is a twelfth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _wishes(
    overrides: Sequence[str],
    port: int | None,
    data: Path | None,
    release: str,
    brokers: int,
    broker_overrides: Sequence[str],
) -> Wishes:
    from doorkeeper.cluster.layout import Wishes
    from doorkeeper.cluster.server_config import Release

    by_broker: dict[int, dict[str, str]] = {}
    for text in broker_overrides:
        node_id, colon, pair = text.partition(":")
        if not colon or not node_id.isascii() or not node_id.isdigit():
            raise click.BadParameter(f"{text!r} is not ID:KEY=VALUE", param_hint="--broker-override")
        by_broker.setdefault(int(node_id), {}).update([_pair(pair, "--broker-override")])
    return Wishes(
        overrides=dict(_pair(text, "--override") for text in overrides),
        port=port,
        brokers=brokers,
        broker_overrides=by_broker,
        release=Release(release),
        data=data,
    )


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=option)
    return key.strip(), value


async def _serve(
    process: NodeProcess, configs: Sequence[NodeConfig], format_: str, metrics: tuple[str, int | None]
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    starting = loop.create_task(process.start())
    stopping = loop.create_task(stop.wait())
    await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait((starting,))
        return
    stopping.cancel()
    starting.result()
    try:
        async with metrics_served(process, *metrics) as seen_at:
            _announce(process, configs, format_, seen_at)
            await process.run_until(stop)
    finally:
        await process.stop()


def _announce(
    process: NodeProcess, configs: Sequence[NodeConfig], format_: str, metrics: tuple[str, int] | None
) -> None:
    doors = process.doors
    click.echo(_card(process, configs), err=True)
    if format_ == "json":
        listening = [
            {"door": one.door, "node_id": one.node_id, "listener": one.listener, "host": one.host, "port": one.port}
            for one in doors
        ]
        seen_at = {} if metrics is None else {"metrics": {"host": metrics[0], "port": metrics[1]}}
        click.echo(json.dumps({"version": JSON_VERSION, "listening": listening, **seen_at}))
        return
    for one in doors:
        click.echo(f"listening {one.door} {one.node_id} {_address(one)}")
    if metrics is not None:
        click.echo(f"listening metrics {metrics[0]}:{metrics[1]}")


def _address(door: OpenDoor) -> str:
    host = f"[{door.host}]" if ":" in door.host else door.host
    return f"{host}:{door.port}"


def _card(process: NodeProcess, configs: Sequence[NodeConfig]) -> str:
    """Where the doors are, in a frame."""
    rows = [(f"{one.door} {one.node_id}", f"{_address(one)}  ({one.listener})") for one in process.doors]
    rows += [("data", str(path)) for path in dict.fromkeys(config.metadata_log_dir for config in configs)]
    rows.append(("release", f"defaults of Kafka {configs[0].release}"))
    width = max(len(name) for name, _ in rows)
    lines = [f" {name:<{width}}  {value} " for name, value in rows]
    inner = max(map(len, lines))
    title = " doorkeeper "
    return "\n".join(
        [f"╭─{title}{'─' * (inner - len(title) - 1)}╮", *(f"│{line:<{inner}}│" for line in lines), f"╰{'─' * inner}╯"]
    )
