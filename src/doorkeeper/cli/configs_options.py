"""The command line of `doorkeeper configs`: Kafka's flags, read and checked as `kafka-configs.sh` does, and ours.

Source: `kafka.admin.ConfigCommand.ConfigCommandOptions` (4.3.1) and joptsimple's manner: `--flag value` or
`--flag=value`, the next word is the value whatever it looks like, the order of `--entity-name` and `--entity-default`
counts. Refusals have Kafka's words. Nothing here asks a cluster.
"""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.errors import InputError
from doorkeeper.rules.javatext import parse_int, trim
from doorkeeper.rules.properties import PropertiesError, decode_properties

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPICS, CLIENTS, USERS, BROKERS, IPS = "topics", "clients", "users", "brokers", "ips"
CLIENT_METRICS, GROUPS, BROKER_LOGGERS = "client-metrics", "groups", "broker-loggers"
ENTITY_TYPES: Final = (TOPICS, CLIENTS, USERS, BROKERS, IPS, CLIENT_METRICS, GROUPS, BROKER_LOGGERS)
_WITH_DEFAULTS: Final = frozenset({USERS, CLIENTS, BROKERS, IPS})

ENTITY_FLAGS: Final = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "broker-logger": BROKER_LOGGERS,
    "ip": IPS,
    "client-metrics": CLIENT_METRICS,
    "group": GROUPS,
}
DEFAULTS_FLAGS: Final = {
    "client-defaults": CLIENTS,
    "user-defaults": USERS,
    "broker-defaults": BROKERS,
    "ip-defaults": IPS,
}
SWITCHES: Final = frozenset(
    {"alter", "describe", "all", "entity-default", "help", "version", "dry-run", "verify", *DEFAULTS_FLAGS}
)
VALUED: Final = frozenset(
    {"bootstrap-server", "bootstrap-controller", "command-config", "entity-type", "entity-name", "entity-name-file"}
    | {"add-config", "add-config-file", "delete-config", "format", *ENTITY_FLAGS}
)
FORMATS: Final = ("text", "json")
# A comma or an equals sign outside square brackets.
_OUTSIDE_BRACKETS: Final = r"(?=[^\]]*(?:\[|\Z))"
_PAIRS: Final = re.compile("," + _OUTSIDE_BRACKETS)
_KEY_AND_VALUE: Final = re.compile(r"\s*=\s*" + _OUTSIDE_BRACKETS, re.ASCII)
_BRACKETS: Final = str.maketrans("", "", "[]")
_KEY: Final = re.compile(r"[$a-zA-Z0-9._-]*")


class RefusedError(Exception):
    """What the tool says in one line before it leaves with exit code 1; `usage`: the list of flags follows."""

    def __init__(self, message: str, *, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Given:
    """The flags as they stand on the command line, in order."""

    flags: tuple[tuple[str, str | None], ...]
    ignored: tuple[str, ...] = ()
    """Words that belong to no flag; Kafka's tool ignores them without a word."""

    def has(self, *names: str) -> bool:
        """Whether any of the flags is there."""
        return any(name in names for name, _ in self.flags)

    def values_of(self, name: str) -> list[str]:
        """Every value of a flag."""
        return [value for given, value in self.flags if given == name and value is not None]

    def value_of(self, name: str) -> str | None:
        """The one value of a flag.

        :raises RefusedError: when there are several.
        """
        values = self.values_of(name)
        if len(values) > 1:
            raise RefusedError(f"Found multiple arguments for option {name}, but you asked for only one")
        return values[0] if values else None


@dataclass(frozen=True, slots=True)
class ConfigsOptions:
    """A command line that passed every check."""

    action: str
    """`describe`, `alter` or `verify`."""
    bootstrap_server: str | None
    bootstrap_controller: str | None
    command_config: Path | None
    entity_types: tuple[str, ...]
    entity_names: tuple[str, ...]
    """The empty name is the default entity."""
    all: bool
    add: dict[str, str] = field(repr=False)
    delete: tuple[str, ...]
    dry_run: bool
    format: str

    @property
    def default(self) -> bool:
        """Whether the first entity is the default one."""
        return self.entity_names[:1] == ("",)


def read_flags(words: Sequence[str]) -> Given:
    """Words into flags, as joptsimple does.

    :raises RefusedError: for an unknown flag or a missing value.
    """
    flags: list[tuple[str, str | None]] = []
    ignored: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            ignored += rest
            break
        if not word.startswith("-") or word == "-":
            ignored.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if name in SWITCHES and not equals:
            flags.append((name, None))
        elif name in VALUED:
            if not equals and not rest:
                raise RefusedError(f"Option {name} requires an argument")
            flags.append((name, value if equals else rest.pop(0)))
        else:
            raise RefusedError(f"{name} is not a recognized option")
    return Given(tuple(flags), tuple(ignored))


def check_options(given: Given) -> ConfigsOptions:
    """Everything that Kafka's `checkArgs` refuses, in its order and words, and what we add.

    :raises RefusedError: for the first thing that is wrong.
    """
    action = _check_action(given)
    types = _entity_types(given)
    if action == "verify":
        _check_verify(given)
        names: list[str] = []
    else:
        _check_types(given, types)
        names = _entity_names(given)
        _check_names(given, types, names)
        _check_for_action(given, action, types, names)
    format_ = given.value_of("format") or "text"
    if format_ not in FORMATS:
        raise RefusedError(f"--format must be one of {', '.join(FORMATS)}, not '{format_}'")
    if given.has("dry-run") and action != "alter":
        raise RefusedError("--dry-run goes with --alter only")
    command_config = given.value_of("command-config")
    return ConfigsOptions(
        action=action,
        bootstrap_server=given.value_of("bootstrap-server"),
        bootstrap_controller=given.value_of("bootstrap-controller"),
        command_config=Path(command_config) if command_config is not None else None,
        entity_types=tuple(types),
        entity_names=tuple(names),
        all=given.has("all"),
        add=_configs_to_add(given) if action == "alter" else {},
        delete=tuple(_configs_to_delete(given)),
        dry_run=given.has("dry-run"),
        format=format_,
    )


def _check_action(given: Given) -> str:
    actions = [name for name in ("alter", "describe", "verify") if given.has(name)]
    if len(actions) != 1:
        raise RefusedError("Command must include exactly one action: --describe, --alter", usage=True)
    if actions == ["describe"]:
        for name in ("add-config", "delete-config"):
            if given.has(name):
                raise RefusedError(f'Option "[describe]" can\'t be used with option "[{name}]"', usage=True)
    return actions[0]


def _check_verify(given: Given) -> None:
    wrong = [name for name, _ in given.flags if name.startswith(("entity", "add-", "delete-"))]
    wrong += [name for name, _ in given.flags if name in ENTITY_FLAGS or name in DEFAULTS_FLAGS]
    if wrong:
        raise RefusedError(f"--verify looks at all brokers; it can't be used with --{wrong[0]}")
    if not given.has("bootstrap-server"):
        raise RefusedError("--verify needs --bootstrap-server: only brokers tell their static configs.")


def _entity_types(given: Given) -> list[str]:
    flags = {**ENTITY_FLAGS, **DEFAULTS_FLAGS}
    return given.values_of("entity-type") + [kind for name, kind in flags.items() if given.has(name)]


def _entity_names(given: Given) -> list[str]:
    names: list[str] = []
    for name, value in given.flags:
        if name == "entity-name":
            names.append(value or "")
        elif name == "entity-default":
            names.append("")
        elif name == "entity-name-file":
            names += read_name_file(Path(value or ""))
    names += [given.value_of(name) or "" for name in ENTITY_FLAGS if given.has(name)]
    return names + ["" for name in DEFAULTS_FLAGS if given.has(name)]


def read_name_file(path: Path) -> list[str]:
    """Names that a shell makes hard: a JSON string, or a list of strings, null for the default entity.

    :raises RefusedError: naming the file.
    """
    try:
        document: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise RefusedError(f"--entity-name-file {path}: {error.strerror}") from error
    except ValueError as error:
        raise RefusedError(f"--entity-name-file {path}: no JSON: {error}") from error
    names = document if isinstance(document, list) else [document]
    if not names or not all(name is None or (isinstance(name, str) and name) for name in names):
        raise RefusedError(f"--entity-name-file {path}: expected a JSON string, or a list of strings and nulls")
    return [name or "" for name in names]


def _check_types(given: Given, types: list[str]) -> None:
    repeated = [kind for index, kind in enumerate(types) if kind in types[:index]]
    if repeated:
        raise RefusedError(f"Duplicate entity type(s) specified: {','.join(repeated)}")
    if not given.has("bootstrap-server", "bootstrap-controller"):
        raise RefusedError("Either --bootstrap-server or --bootstrap-controller must be specified.")
    for kind in types:
        if kind not in ENTITY_TYPES:
            raise RefusedError(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(ENTITY_TYPES)} "
                "with a --bootstrap-server or --bootstrap-controller argument"
            )
    if not types:
        raise RefusedError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {USERS, CLIENTS}:
        raise RefusedError("Only 'users' and 'clients' entity types may be specified together")
    generic = given.has("entity-name", "entity-type", "entity-default", "entity-name-file")
    if generic and given.has(*ENTITY_FLAGS, *DEFAULTS_FLAGS):
        raise RefusedError("--entity-{type,name,default} should not be used in conjunction with specific entity flags")


def _check_names(given: Given, types: list[str], names: list[str]) -> None:
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        raise RefusedError("Only one of --bootstrap-server or --bootstrap-controller can be specified")
    if {BROKERS, BROKER_LOGGERS}.intersection(types):
        for name in filter(None, names):
            if parse_int(name) is None:
                raise RefusedError(
                    f"The entity name for {types[0]} must be a valid integer broker id, but it is: {name}"
                )
    if IPS in types:
        for name in filter(None, names):
            if not _is_address(name):
                raise RefusedError(
                    f"The entity name for {types[0]} must be a valid IP or resolvable host, but it is: {name}"
                )


def _is_address(name: str) -> bool:
    """What InetAddress.getByName can make sense of."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def _check_for_action(given: Given, action: str, types: list[str], names: list[str]) -> None:
    may_default = bool(_WITH_DEFAULTS.intersection(types))
    listed = ",".join(types)
    if action == "describe":
        if not may_default and given.has("entity-default"):
            raise RefusedError(f"--entity-default must not be specified with --describe of {listed}")
        if BROKER_LOGGERS in types and not any(names):
            raise RefusedError(f"An entity name must be specified with --describe of {listed}")
        return
    if may_default and not names:
        raise RefusedError(
            "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
        )
    if not may_default and not any(names):
        raise RefusedError(f"An entity name must be specified with --alter of {listed}")
    if given.has("add-config") and given.has("add-config-file"):
        raise RefusedError("Only one of --add-config or --add-config-file must be specified")
    if not given.has("add-config", "add-config-file", "delete-config"):
        raise RefusedError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    if len(types) != len(names):
        raise RefusedError("An entity name must be specified for every entity type")


def _configs_to_add(given: Given) -> dict[str, str]:
    configs: dict[str, str] = {}
    path = given.value_of("add-config-file")
    if path is not None:
        configs.update(_read_config_file(Path(path)))
    text = given.value_of("add-config")
    if text is not None:
        configs.update(parse_add_config(text))
    for key in configs:
        if not _KEY.fullmatch(key):
            raise RefusedError(f"Invalid character found for config key: {key}")
    return configs


def _read_config_file(path: Path) -> dict[str, str]:
    try:
        return {entry.key: entry.value for entry in decode_properties(path.read_bytes())}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except PropertiesError as error:
        raise InputError(f"{path}: {error}") from error


def parse_add_config(text: str) -> dict[str, str]:
    """`k1=v1,k2=[v1,v2]` as keys and values; brackets group and are then dropped, wherever they stand.

    :raises RefusedError: unless every part is one key and one value.
    """
    parts = _PAIRS.split(text)
    while len(parts) > 1 and not parts[-1]:  # Java's split drops what is empty at the end
        parts.pop()
    pairs = [_KEY_AND_VALUE.split(part) for part in parts]
    if any(len(pair) != 2 for pair in pairs):
        raise RefusedError(
            "requirement failed: Invalid entity config: all configs to be added must be in the format "
            '"key=val" or  "key=[val1,val2]" to group values which contain commas.'
        )
    return {trim(key): trim(value.translate(_BRACKETS)) for key, value in pairs}


def _configs_to_delete(given: Given) -> list[str]:
    keys: list[str] = []
    for value in given.values_of("delete-config"):
        keys += [part for part in value.split(",") if part] or [value]
    return [trim(key) for key in keys]
