"""`doorkeeper check changes FILE`: config changes judged exactly as the doors would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli import EXIT_LAWFUL, EXIT_VIOLATIONS
from doorkeeper.cli.changes_file import TYPE_NAMES, load_changes, load_current
from doorkeeper.cli.properties_file import load_properties
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_change import (
    BrokerContext,
    BrokerDoor,
    Context,
    ControllerDoor,
    ResourceType,
    judge_changes,
)
from doorkeeper.rules.javatext import escape_for_display, parse_int
from doorkeeper.rules.reported_config import select_reported
from doorkeeper.rules.static_config import variable_providers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from doorkeeper.rules.config_change import ResourceChange, ResourceVerdict

JSON_VERSION: Final = 1


@click.command("changes")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--broker",
    "brokers",
    multiple=True,
    metavar="ID=FILE",
    help="A registered broker and its server.properties; once for each broker.",
)
@click.option(
    "--controller",
    type=click.Path(path_type=Path),
    help="The active controller's server.properties, which judges topics and groups; Kafka's defaults without it.",
)
@click.option(
    "--current", type=click.Path(path_type=Path), help="The dynamic configs in force: the same shape, set only."
)
@click.option(
    "--door", default="controller", show_default=True, metavar="controller|broker:ID", help="Where it is judged."
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    brokers: tuple[str, ...],
    controller: Path | None,
    current: Path | None,
    door: str,
    format_: str,
) -> None:
    """Judge a YAML or JSON file of config changes as the doors would.

    \b
    changes:
      - type: broker            # topic, broker, group, client-metrics or broker-logger
        name: '1'               # '' is the cluster-wide default
        configs:
          - {name: num.io.threads, op: set, value: 16}    # set, delete, append, subtract
    """
    changes = load_changes(file)
    static = _broker_options(brokers)
    judge_at = _door_option(door)
    if static and isinstance(judge_at, BrokerDoor) and judge_at.id not in static:
        raise click.BadParameter(f"broker {judge_at.id} has no --broker", param_hint="--door")
    context = Context(
        brokers=_registered(static, changes),
        controller_static=load_properties(controller) if controller else {},
        dynamic=load_current(current) if current else {},
        door=judge_at,
    )
    verdicts = judge_changes(changes, context)
    if format_ == "json":
        click.echo(
            json.dumps({"version": JSON_VERSION, "door": door, "results": list(map(_to_json, verdicts))}, indent=2)
        )
    else:
        for verdict in verdicts:
            click.echo(_to_text(verdict))
    ctx.exit(EXIT_VIOLATIONS if any(verdict.code for verdict in verdicts) else EXIT_LAWFUL)


def _broker_options(options: Sequence[str]) -> dict[int, BrokerContext]:
    brokers: dict[int, BrokerContext] = {}
    for option in options:
        number, equals, path = option.partition("=")
        broker = _id(number)
        if not equals or broker is None:
            raise click.BadParameter(f"'{escape_for_display(option)}' is not ID=FILE", param_hint="--broker")
        if broker in brokers:
            raise click.BadParameter(f"broker {broker} is given twice", param_hint="--broker")
        static = load_properties(Path(path))
        if unknown := sorted(key for key, text in select_reported(static).items() if variable_providers(text)):
            note = f"{path}: only the broker knows what these are, and what depends on them is not judged: "
            click.echo(note + ", ".join(unknown), err=True)
        brokers[broker] = BrokerContext(static=static)
    return brokers


def _id(text: str) -> int | None:
    """A node id in plain digits, as Kafka's ints go."""
    return parse_int(text) if text.isascii() and text.isdigit() else None


def _registered(static: Mapping[int, BrokerContext], changes: Sequence[ResourceChange]) -> Mapping[int, BrokerContext]:
    """Without any --broker, the brokers that are named count as registered and are judged by the change alone."""
    if static:
        return static
    named = {change.name for change in changes if change.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER)}
    ids = {broker for name in named if (broker := _id(name)) is not None}
    if named:
        click.echo("No --broker given: broker configs are judged without any broker's static configs.", err=True)
    return {broker: BrokerContext(static=None) for broker in sorted(ids)}


def _door_option(door: str) -> BrokerDoor | ControllerDoor:
    if door == "controller":
        return ControllerDoor()
    role, _, number = door.partition(":")
    broker = _id(number)
    if role != "broker" or broker is None:
        shown = escape_for_display(door)
        raise click.BadParameter(f"'{shown}' is neither 'controller' nor 'broker:ID'", param_hint="--door")
    return BrokerDoor(broker)


def _resource(verdict: ResourceVerdict) -> str:
    return f"{TYPE_NAMES[verdict.type]} '{escape_for_display(verdict.name)}'"


def _to_text(verdict: ResourceVerdict) -> str:
    if verdict.code is ErrorCode.NONE:
        return f"accepted: {_resource(verdict)}"
    message = escape_for_display(verdict.message or "", limit=1000)
    return f"refused: {_resource(verdict)}: {verdict.code.name} ({verdict.code.value}): {message}"


def _to_json(verdict: ResourceVerdict) -> dict[str, Any]:
    return {
        "type": TYPE_NAMES[verdict.type],
        "name": verdict.name,
        "verdict": "refused" if verdict.code else "accepted",
        "code": int(verdict.code),
        "code_name": verdict.code.name,
        "message": verdict.message,
        "rule": verdict.rule.value if verdict.rule else None,
        "refused_by": list(verdict.refused_by),
    }
