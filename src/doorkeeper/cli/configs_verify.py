"""`doorkeeper configs --verify`: stored broker configs that a broker would refuse today, and how to get rid of them.

Kafka's controllers store values that brokers refuse. Such a value shows as dynamic, is applied nowhere, and has every
later change on the broker path refused until it is deleted. All that is needed to find it is what DescribeConfigs tells
of each broker: its static configs, what is stored, the values in force. (A value that is not even of its key's type is
stored too, but no broker shows it, and it is in nobody's way.)
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.cli.configs_describe import JSON_VERSION
from doorkeeper.client import Admin, ConfigResource, ConfigSource, DescribedConfig
from doorkeeper.client.errors import KafkaError
from doorkeeper.rules.config_change import (
    BrokerContext,
    ConfigEntry,
    Context,
    Operation,
    ResourceChange,
    ResourceType,
    ResourceVerdict,
    judge_changes,
)
from doorkeeper.rules.javatext import escape_for_display

if TYPE_CHECKING:
    from doorkeeper.cli.configs_options import ConfigsOptions
    from doorkeeper.client import ClientSettings

DEFAULT_NAME: Final = ""
EXIT_CLEAN: Final = 0
EXIT_FOUND: Final = 1
SHOWN_MESSAGE: Final = 1000
"""Characters of a broker's message that are shown."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One broker, as DescribeConfigs tells it. Sensitive values are not told, and not judged."""

    static: Mapping[str, str]
    stored: Mapping[str, str]
    """Its own dynamic configs."""
    in_force: Mapping[str, str] = field(default_factory=dict)
    """What it runs with, of the keys that have a dynamic value."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One stored value that is refused."""

    name: str
    """The broker's id, or empty for the cluster-wide default."""
    key: str
    value: str
    message: str
    refused_by: tuple[int, ...]


def read_broker(configs: tuple[DescribedConfig, ...]) -> Reading:
    """The layers of a broker's configs, out of the synonyms."""
    static: dict[str, str] = {}
    stored: dict[str, str] = {}
    in_force: dict[str, str] = {}
    for config in configs:
        for one in config.synonyms:
            if one.value is None:
                continue
            if one.source is ConfigSource.STATIC_BROKER_CONFIG:
                static[one.name] = one.value
            elif one.source is ConfigSource.DYNAMIC_BROKER_CONFIG:
                stored[one.name] = one.value
        if config.source.name.startswith("DYNAMIC") and config.value is not None:
            in_force[config.name] = config.value
    return Reading(static, stored, in_force)


def find_refused(brokers: Mapping[int, Reading], default: Mapping[str, str]) -> list[Finding]:
    """Every stored value that has to go for the rest to be accepted: of the default first, then broker by broker."""
    contexts = {number: BrokerContext(static={**one.static, **one.in_force}) for number, one in brokers.items()}
    applied = {
        (ResourceType.BROKER, str(number)): {
            key: value for key, value in one.stored.items() if one.in_force.get(key) == value
        }
        for number, one in brokers.items()
    }
    agreed = {key: value for key, value in default.items() if _is_in_force(key, value, brokers)}
    kept, findings = _sift(DEFAULT_NAME, default, agreed, Context(brokers=contexts, dynamic=applied, plugins=None))
    for number, one in brokers.items():
        context = Context(
            brokers={number: contexts[number]}, dynamic={(ResourceType.BROKER, DEFAULT_NAME): kept}, plugins=None
        )
        _, found = _sift(str(number), one.stored, applied[ResourceType.BROKER, str(number)], context)
        findings += found
    return findings


def _is_in_force(key: str, value: str, brokers: Mapping[int, Reading]) -> bool:
    return all(one.in_force.get(key) == value for one in brokers.values())


def _sift(
    name: str, stored: Mapping[str, str], applied: Mapping[str, str], context: Context
) -> tuple[dict[str, str], list[Finding]]:
    """Let the values in one by one, those in force first, and keep out what the rulebook refuses beside the others."""
    kept: dict[str, str] = {}
    findings: list[Finding] = []
    for key in sorted(stored, key=lambda key: (key not in applied, key)):
        verdict = _judge(name, {**kept, key: stored[key]}, context)
        if verdict.accepted:
            kept[key] = stored[key]
        else:
            findings.append(Finding(name, key, stored[key], verdict.message or "", verdict.refused_by))
    return kept, findings


def _judge(name: str, configs: Mapping[str, str], context: Context) -> ResourceVerdict:
    entries = tuple(ConfigEntry(key, Operation.SET, value) for key, value in configs.items())
    (verdict,) = judge_changes([ResourceChange(ResourceType.BROKER, name, entries)], context)
    return verdict


def remedies(findings: list[Finding], servers: str, controllers: str | None, command_config: str | None) -> list[str]:
    """The commands that free the cluster, one per resource, in the order in which they work.

    All bad keys of a resource go at once, or the brokers would refuse to delete one because of the other. With several
    bad resources each stands in the other's way: then only the controllers let the deletions through.
    """
    keys: dict[str, list[str]] = {}
    for one in findings:
        keys.setdefault(one.name, []).append(one.key)
    through_controller = len(keys) > 1 and controllers is not None
    where = ["--bootstrap-controller", controllers or ""] if through_controller else ["--bootstrap-server", servers]
    extra = ["--command-config", command_config] if command_config is not None else []
    return [
        shlex.join(
            [
                *("doorkeeper", "configs", *where, *extra, "--alter"),
                *(["--broker", name] if name else ["--broker-defaults"]),
                *("--delete-config", ",".join(names)),
            ]
        )
        for name, names in keys.items()
    ]


async def verify(options: ConfigsOptions, settings: ClientSettings) -> int:
    """Read the cluster, print what is found; the exit code says whether anything is."""
    assert options.bootstrap_server is not None
    async with Admin(options.bootstrap_server, settings=settings) as admin:
        brokers, default, hidden = await _read_cluster(admin)
        findings = find_refused(brokers, default)
        controllers = options.bootstrap_controller
        if findings and controllers is None:
            controllers = await _controllers_of(admin)
    path = None if options.command_config is None else str(options.command_config)
    commands = remedies(findings, options.bootstrap_server, controllers, path)
    if hidden:
        click.echo(f"Sensitive values can't be read and were not judged: {', '.join(sorted(hidden))}.", err=True)
    if options.format == "json":
        click.echo(json.dumps(_to_json(brokers, findings, commands), indent=2))
    else:
        _show(brokers, findings, commands)
    return EXIT_FOUND if findings else EXIT_CLEAN


async def _read_cluster(admin: Admin) -> tuple[dict[int, Reading], dict[str, str], set[str]]:
    resources = {
        node.id: ConfigResource(ResourceType.BROKER, str(node.id)) for node in (await admin.describe_cluster()).nodes
    }
    whole = ConfigResource(ResourceType.BROKER, DEFAULT_NAME)
    described = (await admin.describe_configs([whole, *resources.values()], include_synonyms=True)).require()
    default = {one.name: one.value for one in described[whole] if one.value is not None}
    hidden = {
        one.name
        for configs in described.values()
        for one in configs
        if one.is_sensitive and one.source.name.startswith("DYNAMIC")
    }
    return {number: read_broker(described[resource]) for number, resource in resources.items()}, default, hidden


async def _controllers_of(admin: Admin) -> str | None:
    """The controllers' addresses, if the cluster tells them to us."""
    try:
        quorum = await admin.describe_quorum()
    except KafkaError:
        return None
    return ",".join(f"{node.host}:{node.port}" for node in quorum.controllers) or None


def _show(brokers: Mapping[int, Reading], findings: list[Finding], commands: list[str]) -> None:
    if not findings:
        click.echo(f"Every stored broker config is lawful; {len(brokers)} broker(s) judged.")
        return
    for one in findings:
        where = f"broker {one.name}" if one.name else "the default for brokers"
        who = f" Refused by broker {', '.join(map(str, one.refused_by))}." if one.refused_by else ""
        message = escape_for_display(one.message, limit=SHOWN_MESSAGE)
        click.echo(f"Stored for {where}: {one.key}={escape_for_display(one.value)}: {message}.{who}")
    click.echo("To free the cluster, run:", err=True)
    for command in commands:
        click.echo(command)


def _to_json(brokers: Mapping[int, Reading], findings: list[Finding], commands: list[str]) -> dict[str, Any]:
    return {
        "version": JSON_VERSION,
        "brokers": sorted(brokers),
        "findings": [
            {
                "type": "broker",
                "name": one.name,
                "key": one.key,
                "value": one.value,
                "message": one.message,
                "refused_by": list(one.refused_by),
            }
            for one in findings
        ],
        "commands": commands,
    }
