"""The file of config changes that `doorkeeper check changes` reads: YAML or JSON, the same shape."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import yaml

from doorkeeper.errors import InputError
from doorkeeper.rules.config_change import ConfigEntry, Operation, ResourceChange, ResourceType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_TYPES: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "broker-logger": ResourceType.BROKER_LOGGER,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "group": ResourceType.GROUP,
}
_OPERATIONS: Final = {operation.name.lower(): operation for operation in Operation}
TYPE_NAMES: Final = {int(number): name for name, number in _TYPES.items()}


class _TextLoader(yaml.SafeLoader):
    """YAML whose scalars stay text as written (`value: 0x10`, `on`, `1_000`), but for null; keys may not repeat."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = str(key_node.value)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key '{key}' stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag == "tag:yaml.org,2002:null"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_changes(path: Path) -> list[ResourceChange]:
    """The changes of a file, in order. Raises InputError naming the file and the place in it."""
    document = read_document(path)
    entries = document.get("changes") if isinstance(document, dict) else None
    if not isinstance(entries, list) or len(document) != 1:
        raise InputError(f"{path}: expected one key 'changes' with a list of changes")
    return [_to_change(entry, f"{path}: changes[{index}]") for index, entry in enumerate(entries)]


def load_current(path: Path) -> dict[tuple[ResourceType, str], dict[str, str]]:
    """The dynamic configs in force: the same shape, `set` only."""
    current: dict[tuple[ResourceType, str], dict[str, str]] = {}
    for index, change in enumerate(load_changes(path)):
        configs = current.setdefault((ResourceType(change.type), change.name), {})
        for entry in change.entries:
            if entry.operation != Operation.SET or entry.value is None:
                raise InputError(
                    f"{path}: changes[{index}]: '{entry.name}' must be set to a value: this is what is in force"
                )
            configs[entry.name] = entry.value
    return current


def read_document(path: Path) -> Any:
    """A YAML or JSON file whose scalars are text as written, or null. Raises InputError naming the file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start})") from error
    try:
        if not text.lstrip().startswith(("{", "[")):
            return _read_yaml(text)
        try:  # JSON first: YAML reads a JSON escape of a surrogate pair wrongly
            return _read_json(text)
        except ValueError as error:
            with suppress(yaml.YAMLError):  # YAML has braces and brackets, too
                return _read_yaml(text)
            raise InputError(f"{path}: broken JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: nested too deeply") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path}: broken YAML: {_one_line(error)}") from error


def _read_yaml(text: str) -> Any:
    return yaml.load(text, Loader=_TextLoader)  # noqa: S506 - a SafeLoader that builds text, lists and mappings only


def _read_json(text: str) -> Any:
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(f"a key stands twice in one object: {', '.join(name for name, _ in pairs)}")
    return made


def _one_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem} (line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1})"
    return " ".join(str(error).split())


def _to_change(entry: object, place: str) -> ResourceChange:
    fields = _fields(entry, place, required=("type", "configs"), optional=("name",))
    configs = fields["configs"]
    if not isinstance(configs, list):
        raise InputError(f"{place}.configs: expected a list")
    return ResourceChange(
        type=_TYPES[_choice(fields["type"], _TYPES, f"{place}.type")],
        name=_text(fields.get("name"), f"{place}.name") or "",
        entries=tuple(_to_entry(config, f"{place}.configs[{index}]") for index, config in enumerate(configs)),
    )


def _to_entry(entry: object, place: str) -> ConfigEntry:
    fields = _fields(entry, place, required=("name",), optional=("op", "value"))
    return ConfigEntry(
        name=_text(fields["name"], f"{place}.name") or "",
        operation=_OPERATIONS[_choice(fields.get("op", "set"), _OPERATIONS, f"{place}.op")],
        value=_text(fields.get("value"), f"{place}.value"),
    )


def _fields(entry: object, place: str, *, required: Sequence[str], optional: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise InputError(f"{place}: expected a mapping with {', '.join(required)}")
    for name in required:
        if name not in entry:
            raise InputError(f"{place}: '{name}' is missing")
    for name in entry:
        if name not in required and name not in optional:
            raise InputError(f"{place}: unknown key '{name}' (known: {', '.join((*required, *optional))})")
    return entry


def _choice(value: object, choices: Mapping[str, object], place: str) -> str:
    if not isinstance(value, str) or value.lower() not in choices:
        raise InputError(f"{place}: '{value}' is none of {', '.join(choices)}")
    return value.lower()


def _text(value: object, place: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):  # from JSON; YAML's stay as written
        return str(value).lower()
    raise InputError(f"{place}: expected text, not a {type(value).__name__}")
