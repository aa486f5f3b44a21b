"""`doorkeeper configs`: Kafka's `kafka-configs.sh`, with a dry run, JSON, names from files, and `--verify`.

Scripts written for Kafka's tool keep working: the same flags, lines, streams, and exit code 1 for whatever goes wrong.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli.configs_options import (
    ConfigsOptions,
    Given,
    RefusedError,
    check_options,
    parse_add_config,
    read_flags,
)
from doorkeeper.errors import DoorkeeperError

if TYPE_CHECKING:
    from doorkeeper.cli.configs_describe import Description

EXIT_FAILED: Final = 1
KAFKA_VERSION: Final = "4.3.1"

USAGE: Final = """\
Usage: doorkeeper configs --bootstrap-server HOST:PORT (--describe | --alter | --verify) [OPTIONS]

  Describe and change the configs of topics, brokers, loggers, groups and client
  metrics, client quotas, and SCRAM credentials. The flags and the output are
  those of Kafka's kafka-configs.sh.

Where:
  --bootstrap-server HOST:PORT,...      Brokers to connect to.
  --bootstrap-controller HOST:PORT,...  Controllers, in place of brokers.
  --command-config FILE                 Client properties: security, time-outs.

What to do:
  --describe              List the dynamic configs of the entity.
  --all                   With --describe: static configs and defaults too.
  --alter                 Change the configs of the entity:
  --add-config K=V,...      keys to set; K=[v1,v2] groups values with commas
  --add-config-file FILE    a properties file of keys to set
  --delete-config K,...     keys to delete
  --dry-run                 have the change judged, and store nothing
  --verify                Find stored values that no broker would accept, and
                          print the commands that free the cluster of them.

To whom (an entity; users and clients may go together):
  --topic NAME, --client ID, --user NAME, --broker ID, --broker-logger ID,
  --ip ADDRESS, --group ID, --client-metrics NAME
  --client-defaults, --user-defaults, --broker-defaults, --ip-defaults
  --entity-type TYPE      topics, clients, users, brokers, ips, client-metrics,
                          groups or broker-loggers; then one of:
  --entity-name NAME, --entity-default
  --entity-name-file FILE names from a JSON file: a string, or a list of strings
                          and nulls (null is the default entity)

Also:
  --format text|json      How results are printed.
  --version               The Kafka version whose tool this one follows.
  --help                  This page.
"""


@click.command(
    "configs",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Describe and change configs, quotas and credentials, as kafka-configs.sh does."""
    ctx.exit(run(words))


def run(words: tuple[str, ...]) -> int:
    """The whole command; returns the exit code."""
    try:
        given = read_flags(words)
        if given.has("help", "version") or not words:
            return _help(given)
        options = check_options(given)
        for word in given.ignored:
            _say(f"'{word}' belongs to no option and is ignored.")
        return _perform(options)
    except RefusedError as error:
        _say(str(error))
        if error.usage:
            _say(USAGE)
    except DoorkeeperError as error:
        _say(f"Error while executing config command with args '{' '.join(_shown(words))}'")
        _say(_as_java(error))
    except KeyboardInterrupt:
        _say("Interrupted.")
    return EXIT_FAILED


def _help(given: Given) -> int:
    if given.has("version") and not given.has("help"):
        click.echo(KAFKA_VERSION)
        return 0
    click.echo(USAGE, nl=False, err=not given.has("help"))
    return 0 if given.has("help") else EXIT_FAILED


def _say(text: str) -> None:
    click.echo(text, err=True)


def _perform(options: ConfigsOptions) -> int:
    from doorkeeper.client.settings import ClientSettings, load_settings

    settings = ClientSettings()
    if options.command_config is not None:
        settings, _ = load_settings(options.command_config)
        for name in settings.unused:
            _say(f"{options.command_config}: '{name}' is not used.")
    if options.action == "verify":
        from doorkeeper.cli.configs_verify import verify

        return asyncio.run(verify(options, settings))
    found = asyncio.run(_ask(options, settings))
    if options.format == "json":
        click.echo(json.dumps(found.document, indent=2, ensure_ascii=not _is_utf8()))
    else:
        for line in found.lines:
            click.echo(line)
    return 0


async def _ask(options: ConfigsOptions, settings: Any) -> Description:
    from doorkeeper.cli.configs_alter import alter
    from doorkeeper.cli.configs_describe import describe
    from doorkeeper.client import Admin

    controllers = options.bootstrap_server is None
    addresses = options.bootstrap_server or options.bootstrap_controller
    assert addresses is not None
    async with Admin(addresses, controllers=controllers, settings=settings) as admin:
        return await (alter if options.action == "alter" else describe)(admin, options)


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _shown(words: tuple[str, ...]) -> list[str]:
    """The command line with the values of secrets hidden."""
    shown: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if shown and shown[-1].lstrip("-") == "add-config":
            shown.append(_hide(word))
        elif name.lstrip("-") == "add-config" and equals:
            shown.append(f"{name}={_hide(value)}")
        else:
            shown.append(word)
    return shown


def _hide(text: str) -> str:
    try:
        configs = parse_add_config(text)
    except RefusedError:
        return "[hidden]"
    return ",".join(f"{key}={'[hidden]' if is_secret(key) else _grouped(value)}" for key, value in configs.items())


def _grouped(value: str) -> str:
    return f"[{value}]" if "," in value else value


def is_secret(key: str) -> bool:
    """Whether a key's value must not be shown: passwords, credentials, and keys that nobody knows."""
    from doorkeeper.cli.configs_alter import IP_QUOTAS, QUOTAS
    from doorkeeper.rules.config_schema import RESOURCE_TYPES, load_schema

    if key in QUOTAS or key in IP_QUOTAS:
        return False
    base = key.split(".", 3)[-1] if key.startswith("listener.name.") else key
    found = [schema[base] for schema in map(load_schema, RESOURCE_TYPES) if base in schema]
    return not found or any(one.sensitive for one in found)


def _as_java(error: DoorkeeperError) -> str:
    """The first line of what Java would print, for those who look for the exception's name."""
    from doorkeeper.client.errors import KafkaError

    if not isinstance(error, KafkaError):
        return str(error)
    thrown = f"org.apache.kafka.common.errors.{error.java_name}: {error.message}"
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    return f"java.util.concurrent.ExecutionException: {thrown}\nCaused by: {thrown}{notes}"
