"""`doorkeeper top`: the clients of a running cluster, the busiest first, read from its metrics port."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli.top_clients import SORTS, Client, Key, Row, read_clients, rows, show_bytes, show_quotas, to_json
from doorkeeper.errors import InputError
from doorkeeper.rules.javatext import escape_for_display

if TYPE_CHECKING:
    from rich.table import Table

JSON_VERSION: Final = 1
READ_SECONDS: Final = 10.0
COLUMNS: Final = (
    "client id",
    "user",
    "in/s",
    "out/s",
    "requests/s",
    "in",
    "out",
    "requests",
    "throttled",
    "open",
    "quota",
)


@click.command("top")
@click.option("--metrics-port", type=click.IntRange(1, 65535), required=True, help="As `serve` printed it.")
@click.option("--metrics-host", default="127.0.0.1", show_default=True)
@click.option("--interval", type=click.FloatRange(0.1, 3600), default=2.0, show_default=True, help="Seconds.")
@click.option("--sort", type=click.Choice(SORTS), default="bytes", show_default=True)
@click.option("--limit", type=click.IntRange(1), default=30, show_default=True, help="Clients to show.")
@click.option("--once", is_flag=True, help="Look twice, an interval apart, print what was seen, and end.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    metrics_port: int, metrics_host: str, interval: float, sort: str, limit: int, once: bool, format_: str
) -> None:
    """Show the clients of a cluster by bytes, requests, throttle time and connections, and the quotas that bind them.

    Names are the sanitised ones that metrics have. `--format json` prints one document and ends, like `--once`.
    """
    watch = _Watch(f"http://{metrics_host}:{metrics_port}/kafka-metrics", sort, limit)
    watch.look()
    if once or format_ == "json":
        time.sleep(interval)
        found = watch.look()
        _print(found, format_)
        return
    _live(watch, interval)


class _Watch:
    """Looks again and again, and remembers the last time."""

    def __init__(self, url: str, sort: str, limit: int) -> None:
        self._url = url
        self._sort = sort
        self._limit = limit
        self._before: dict[Key, Client] = {}
        self._looked_at = 0.0

    def look(self) -> list[Row]:
        """The busiest clients since the last look.

        :raises InputError: when there is no such port, or it tells something else.
        """
        clients = read_clients(_read(self._url))
        now = time.monotonic()
        found = rows(clients, self._before, now - self._looked_at, self._sort)
        self._before = {one.key: one for one in clients}
        self._looked_at = now
        return found[: self._limit]


def _read(url: str) -> dict[str, Any]:
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=READ_SECONDS) as answer:  # noqa: S310 - always http
            document = json.loads(answer.read())
    except OSError as error:
        raise InputError(f"{url}: {getattr(error, 'reason', error)}") from error
    except ValueError as error:
        raise InputError(f"{url}: not the metrics of a Doorkeeper") from error
    if not isinstance(document, dict):
        raise InputError(f"{url}: not the metrics of a Doorkeeper")
    return document


def _print(found: list[Row], format_: str) -> None:
    if format_ == "json":
        click.echo(json.dumps({"version": JSON_VERSION, "clients": [to_json(row) for row in found]}, indent=2))
        return
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(_table(found))


def _live(watch: _Watch, interval: float) -> None:
    from rich.live import Live

    try:
        with Live(_table(watch.look()), auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(interval)
                live.update(_table(watch.look()), refresh=True)
    except KeyboardInterrupt:
        return


def _table(found: list[Row]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="doorkeeper top", title_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in ("client id", "user", "quota") else "right", overflow="fold")
    for row in found:
        cells = (
            row.client.client_id,
            row.client.user,
            show_bytes(row.in_per_second),
            show_bytes(row.out_per_second),
            f"{row.requests_per_second:.1f}",
            show_bytes(row.client.bytes_in),
            show_bytes(row.client.bytes_out),
            f"{row.client.requests:.0f}",
            f"{row.client.throttle_time_ms / 1000:.1f} s ({row.throttled_share:.0%})",
            f"{row.client.connections:.0f}",
            show_quotas(row.client.quotas),
        )
        # Text, so that a name in square brackets is no markup; escaped, for quoted names may hold anything.
        table.add_row(*(Text(escape_for_display(cell, limit=500)) for cell in cells))
    return table
