"""The command line. One file per command; a command is imported only when it is asked for.

Promised: results on stdout, all else on stderr; exit 0 lawful, 1 violations found, 2 usage, 3 could not judge.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Final

import click

from doorkeeper import __version__
from doorkeeper.errors import DoorkeeperError

EXIT_LAWFUL: Final = 0
EXIT_VIOLATIONS: Final = 1
EXIT_COULD_NOT_JUDGE: Final = 3

_COMMANDS: Final = {
    "check": ("doorkeeper.cli.check", "Judge names, config changes and server.properties without a cluster."),
    "configs": (
        "doorkeeper.cli.configs",
        "Describe and change configs, quotas and credentials, as kafka-configs.sh does.",
    ),
    "quotas": ("doorkeeper.cli.quotas", "Apply, export and compare client quotas in bulk."),
    "serve": ("doorkeeper.cli.serve", "Run a Kafka-compatible cluster: brokers and a controller."),
    "top": ("doorkeeper.cli.top", "Show the busiest clients of a running cluster, and the quotas that bind them."),
    "gateway": ("doorkeeper.cli.gateway", "Stand before a real Kafka cluster: judge, count, refuse."),
    "rules": ("doorkeeper.cli.rules", "Print the whole rulebook, or the field map of Kafka's requests."),
    "metadata": ("doorkeeper.cli.metadata", "Look into a metadata log or a snapshot."),
    "audit": ("doorkeeper.cli.audit", "Tell who would be refused, from logs and stored data, on Apache Spark."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' one-line help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name][0])
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DoorkeeperError as error:
            click.echo(f"doorkeeper: {error}", err=True)
            ctx.exit(EXIT_COULD_NOT_JUDGE)
        except BrokenPipeError:  # the reader has left, as `head` does: nobody is there to be told
            _drop_output()
            ctx.exit(EXIT_COULD_NOT_JUDGE)
        except OSError as error:  # a full disk, most likely; 1 would say that violations were found
            _drop_output()
            click.echo(f"doorkeeper: {error.filename or 'output'}: {error.strerror or error}", err=True)
            ctx.exit(EXIT_COULD_NOT_JUDGE)


def _drop_output() -> None:
    """Send what is still in the buffer of standard output nowhere, lest Python fail on it again at its end."""
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError):  # closed, or a test's
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="doorkeeper")
def root() -> None:
    """Doorkeeper judges what Apache Kafka should let in: names, client ids and config changes."""


def main() -> None:
    """The `doorkeeper` script."""
    # kio imports hypothesis wherever it is installed: half of a start's time and memory in a developer's environment.
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    root(prog_name="doorkeeper")
