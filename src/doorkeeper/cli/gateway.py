"""`doorkeeper gateway`: a Kafka-protocol gateway in front of a real cluster, until it is told to stop.

Addresses go to stdout, one line for each door (`listening broker bootstrap 127.0.0.1:9092`, then one for each node) or
one JSON document; the card and the log go to stderr. SIGHUP reads the YAML file again, SIGTERM drains and ends.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli.gateway_explain import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LEVELS: Final = ("debug", "info", "warning", "error")
_FILE_ENDINGS: Final = (".yaml", ".yml")


class GatewayGroup(click.Group):
    """A group whose file may be given as an argument: `doorkeeper gateway gateway.yaml`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] = []
        for word in args:
            after_option = bool(words) and words[-1].startswith("--") and "=" not in words[-1]
            words += ["--config", word] if word.endswith(_FILE_ENDINGS) and not after_option else [word]
        return super().parse_args(ctx, words)


def _options(function: Callable[..., None]) -> Callable[..., None]:
    """What may stand in the file as well, under the same names."""
    path = click.Path(path_type=Path)
    for option in reversed(
        (
            click.option("--upstream", metavar="HOST:PORT[,…]", help="Brokers of the real cluster."),
            click.option("--listen", metavar="HOST:PORT", help="0: a free port.  [default: 127.0.0.1:9092]"),
            click.option("--node-ports", metavar="FIRST-LAST", help="A port for each broker; else free ones."),
            click.option("--upstream-controllers", metavar="HOST:PORT[,…]", help="Controllers of the real cluster."),
            click.option("--listen-controllers", metavar="HOST:PORT", help="Where controllers are reached."),
            click.option("--controller-ports", metavar="FIRST-LAST", help="A port for each controller."),
            click.option("--advertise", metavar="HOST", help="The host that clients are told."),
            click.option("--sni-domain", metavar="DOMAIN", help="A TLS name for each node, at one port."),
            click.option(
                "--mode",
                multiple=True,
                metavar="[RULE=]off|evaluate|enforce",
                help="What becomes of a breach, for all rules or for one.  [default: evaluate]",
            ),
            click.option("--state", type=path, help="Where the ports of nodes are remembered."),
            click.option("--verdict-log", type=path, help="Breaches, as JSON lines."),
            click.option("--identity-log", type=path, help="Who uses which identifiers, as JSON lines."),
            click.option("--http", metavar="HOST:PORT", help="Health (/livez, /readyz) and /metrics."),
            click.option("--tls-certificate", type=path, help="Serve TLS with this certificate (PEM)."),
            click.option("--tls-key", type=path, help="Its key, if in another file."),
            click.option("--tls-client-ca", type=path, help="Authorities of clients' certificates."),
            click.option("--tls-client-auth", type=click.Choice(["none", "requested", "required"])),
            click.option("--proxy-protocol/--no-proxy-protocol", default=None, help="Expect PROXY protocol version 2."),
        )
    ):
        function = option(function)
    return function


@click.group("gateway", cls=GatewayGroup, invoke_without_command=True)
@_options
@click.option("--upstream-config", type=click.Path(path_type=Path), help="Client properties: TLS and SASL upstream.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="All of this in YAML.")
@click.option("--workers", type=click.IntRange(1), help="Processes that share the ports, under a supervisor.")
@click.option("--worker-channel", type=int, hidden=True)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--log-level", type=click.Choice(LEVELS), default="warning", show_default=True)
@click.pass_context
def command(ctx: click.Context, /, format_: str, log_level: str, **asked: Any) -> None:
    """Stand before a real Kafka cluster: judge what clients send, count and log it, or refuse it."""
    if ctx.invoked_subcommand is not None:
        return
    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT)
    from doorkeeper.cli.gateway_settings import SettingsSource

    channel: int | None = asked.pop("worker_channel")
    source = SettingsSource(asked.pop("config"), asked.pop("upstream_config"), asked.pop("workers"), asked)
    settings = source.load()
    if channel is not None:
        from doorkeeper.cli.gateway_worker import run_worker

        run_worker(channel, source)
    elif source.workers is not None:
        from doorkeeper.cli.gateway_supervisor import run_supervisor

        run_supervisor(settings, source.workers, format_, _words(source, log_level))
    else:
        from doorkeeper.cli.gateway_single import run_single

        run_single(settings, source, format_)


def _words(source: Any, log_level: str) -> Sequence[str]:
    """The command line of a worker."""
    return (*source.words(), "--log-level", log_level)


command.add_command(explain)
