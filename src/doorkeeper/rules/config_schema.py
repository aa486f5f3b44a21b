"""Every config key of a resource type, and the judgement of one value for one key.

The keys are facts read out of Kafka's jars (`facts/kafka-<version>/*.json`, written by `tools/extract_facts.py`) and
Doorkeeper's own (`facts/doorkeeper.json`). `parse_value` is `ConfigDef.parseType` followed by the key's validator: the
same values pass and the same messages come out; the vectors in `tests/vectors` come from Kafka's own classes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from doorkeeper.errors import FactsError
from doorkeeper.rules import config_validators as validators
from doorkeeper.rules.config_named_validators import NAMED_VALIDATORS
from doorkeeper.rules.config_text import ParsedValue, invalid_value, to_text
from doorkeeper.rules.javatext import (
    equals_ignore_case,
    parse_double,
    parse_int,
    parse_long,
    parse_short,
    split_list,
    trim,
)
from doorkeeper.rules.packaged import read_facts

KAFKA_VERSION: Final = "4.3.1"
BROKER, TOPIC, GROUP, CLIENT_METRICS = "broker", "topic", "group", "client_metrics"
RESOURCE_TYPES: Final = (BROKER, TOPIC, GROUP, CLIENT_METRICS)

ClassExists: TypeAlias = "Callable[[str], bool]"


class ConfigType(StrEnum):
    """`ConfigDef.Type`."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105  the name of a type


class Scope(StrEnum):
    """Where a broker key may be changed while the broker runs (`DynamicBrokerConfig.dynamicConfigUpdateModes`)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


@dataclass(frozen=True, slots=True)
class Synonym:
    """The broker key that gives a topic or group key its default, in the order Kafka asks."""

    name: str
    conversion: str | None
    """`hours_to_ms`, `minutes_to_ms`, or nothing."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key, as Kafka's `ConfigDef` defines it."""

    name: str
    type: ConfigType
    default: str | None
    """As text; nothing when the default is null or the key is required."""
    required: bool = False
    validator: validators.Validator | None = None
    sensitive: bool = False
    internal: bool = False
    scope: Scope | None = None
    """Broker keys only."""
    reconfigurable_by: frozenset[str] = frozenset()
    """The parts of a broker that listen to this key; broker keys only."""
    synonyms: tuple[Synonym, ...] = ()
    """Topic and group keys only."""

    @property
    def is_list(self) -> bool:
        """Tell whether APPEND and SUBTRACT apply."""
        return self.type is ConfigType.LIST


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """A value that Kafka refuses, with Kafka's message."""

    name: str
    message: str


class Schema(Mapping[str, ConfigKey]):
    """The keys of one resource type by name, in the order of their names; picklable."""

    __slots__ = ("_keys", "kafka_version", "resource_type")

    def __init__(self, resource_type: str, kafka_version: str, keys: Mapping[str, ConfigKey]) -> None:
        self.resource_type = resource_type
        self.kafka_version = kafka_version
        self._keys = dict(sorted(keys.items()))

    def __getitem__(self, name: str) -> ConfigKey:
        return self._keys[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"Schema({self.resource_type!r}, {self.kafka_version!r}, {len(self)} keys)"


def parse_value(
    key: ConfigKey, text: str | None, class_exists: ClassExists | None = None
) -> ParsedValue | ConfigProblem:
    """Parse a text for a key as `ConfigDef.parseValue` does: the value, or the problem in Kafka's words.

    A CLASS value is a name. Which classes a broker can load only that broker knows; without `class_exists` every
    name that Java could load passes.
    """
    value: ParsedValue = None
    if text is not None:
        value = _PARSERS[key.type](text)
        if value is None or (key.type is _CLASS and not (class_exists or could_be_a_class)(trim(text))):
            return ConfigProblem(key.name, invalid_value(key.name, text, _REASONS[key.type].format(text)))
    if key.validator is None:
        return value
    if isinstance(value, list) and isinstance(key.validator, validators.ListOf):
        value = list(dict.fromkeys(value))
    message = key.validator.refusal(key.name, value)
    return value if message is None else ConfigProblem(key.name, message)


def convert_to_string(value: ParsedValue) -> str | None:
    """Print a parsed value as `ConfigDef.convertToString`; parsing that text gives the value again."""
    return None if value is None else to_text(value)


def default_value(key: ConfigKey) -> ParsedValue:
    """Return the parsed default; it passes the key's own validator, as a test proves for all keys."""
    value = parse_value(key, key.default)
    if isinstance(value, ConfigProblem):
        raise FactsError(f"The default of {key.name} is unlawful: {value.message}")
    return value


def could_be_a_class(name: str) -> bool:
    """Tell whether Java could load a class of this name: dotted, without empty parts and forbidden characters."""
    return all(name.split(".")) and not any(character in name for character in "/;[\0")


def _parse_boolean(text: str) -> bool | None:
    trimmed = trim(text)
    if equals_ignore_case(trimmed, "true"):
        return True
    return False if equals_ignore_case(trimmed, "false") else None


def _parse_int(text: str) -> int | None:
    """Plain digits Python reads as Java does, and a few can't exceed an int: the usual case, made fast."""
    return int(text) if len(text) < 10 and text.isascii() and text.isdigit() else parse_int(trim(text))


def _parse_long(text: str) -> int | None:
    return int(text) if len(text) < 19 and text.isascii() and text.isdigit() else parse_long(trim(text))


_CLASS: Final = ConfigType.CLASS
_PARSERS: Final[Mapping[ConfigType, Callable[[str], ParsedValue]]] = {
    ConfigType.BOOLEAN: _parse_boolean,
    ConfigType.STRING: trim,
    ConfigType.INT: _parse_int,
    ConfigType.SHORT: lambda text: parse_short(trim(text)),
    ConfigType.LONG: _parse_long,
    ConfigType.DOUBLE: lambda text: parse_double(trim(text)),
    ConfigType.LIST: split_list,
    ConfigType.CLASS: trim,
    ConfigType.PASSWORD: trim,
}
_REASONS: Final[Mapping[ConfigType, str]] = {
    ConfigType.BOOLEAN: "Expected value to be either true or false",
    ConfigType.INT: "Not a number of type INT",
    ConfigType.SHORT: "Not a number of type SHORT",
    ConfigType.LONG: "Not a number of type LONG",
    ConfigType.DOUBLE: "Not a number of type DOUBLE",
    ConfigType.CLASS: "Class {} could not be found.",
}


@cache
def load_schema(resource_type: str, kafka_version: str = KAFKA_VERSION) -> Schema:
    """Return the keys of a resource type; Doorkeeper's own are among the broker's."""
    keys = read_keys(load_facts(resource_type, kafka_version)["keys"])
    if resource_type == BROKER:
        own = read_keys(_load_json("doorkeeper.json")["keys"])
        if twice := sorted(own.keys() & keys.keys()):
            raise FactsError(f"Doorkeeper's own keys are Kafka's already: {', '.join(twice)}")
        keys |= own
    return Schema(resource_type, kafka_version, keys)


@cache
def load_quota_schema(entity_type: str, kafka_version: str = KAFKA_VERSION) -> Schema:
    """Return the quota keys of an entity type: `user`, `client` or `ip`."""
    return Schema(f"quota:{entity_type}", kafka_version, read_keys(load_facts("quota", kafka_version)[entity_type]))


def load_facts(name: str, kafka_version: str = KAFKA_VERSION) -> Mapping[str, Any]:
    """Read one file of facts of a Kafka version; the version inside must be the one asked for.

    Not remembered: what is made of the facts is, and the text of them would only take room.
    """
    document = _load_json(f"kafka-{kafka_version}/{name}.json")
    if document.get("kafka_version") != kafka_version:
        raise FactsError(f"The facts {name!r} are not of Kafka {kafka_version}")
    return MappingProxyType(document)


def _load_json(path: str) -> dict[str, Any]:
    try:
        text = read_facts(path)
    except OSError as error:
        raise FactsError(f"There are no facts {path!r}") from error
    document: dict[str, Any] = json.loads(text)
    return document


def read_keys(rows: list[Mapping[str, Any]]) -> dict[str, ConfigKey]:
    """Build the keys from rows of a facts file."""
    return {row["name"]: _read_key(row) for row in rows}


def _read_key(row: Mapping[str, Any]) -> ConfigKey:
    return ConfigKey(
        name=row["name"],
        type=ConfigType(row["type"]),
        default=row["default"],
        required=row["required"],
        validator=read_validator(row["validator"]),
        sensitive=row["sensitive"],
        internal=row["internal"],
        scope=Scope(row["scope"]) if "scope" in row else None,
        reconfigurable_by=frozenset(row.get("reconfigurable_by", ())),
        synonyms=tuple(Synonym(synonym["name"], synonym["conversion"]) for synonym in row.get("synonyms", ())),
    )


def read_validator(row: Mapping[str, Any] | None) -> validators.Validator | None:
    """Build a validator from its description in a facts file; an unknown one is a fault in the facts."""
    if row is None:
        return None
    read = _VALIDATOR_READERS.get(row["kind"])
    if read is None:
        raise FactsError(f"Unknown kind of validator: {row['kind']!r}")
    return read(row)


def _read_in(row: Mapping[str, Any]) -> validators.Validator:
    kind = validators.InIgnoringCase if row["ignore_case"] else validators.In
    return kind(tuple(row["values"]))


def _read_list(row: Mapping[str, Any]) -> validators.Validator:
    values = None if row["values"] is None else tuple(row["values"])
    return validators.ListOf(values, row["empty_allowed"], row["null_allowed"])


def _read_all(row: Mapping[str, Any]) -> validators.Validator:
    parts = (read_validator(part) for part in row["of"])
    return validators.All(tuple(part for part in parts if part is not None))


def _read_named(row: Mapping[str, Any]) -> validators.Validator:
    if row["name"] == "CompressionType.GZIP":
        return validators.GzipLevel(row["min"], row["max"], row["or"])
    if row["name"] not in NAMED_VALIDATORS:
        raise FactsError(f"Nobody has ported the validator {row['name']!r}")
    return validators.Named(row["name"])


_VALIDATOR_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], validators.Validator]]] = {
    "range": lambda row: validators.Range(row["min"], row["max"]),
    "in": _read_in,
    "list": _read_list,
    "non_null": lambda row: validators.NonNull(),
    "non_empty": lambda row: validators.NonEmpty(),
    "all": _read_all,
    "named": _read_named,
}
