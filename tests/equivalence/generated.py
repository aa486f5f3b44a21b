"""Cases made from the facts: every key of every type, with lawful values, each kind of unlawful, and bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.equivalence.cases import BROKER, GROUP, METRICS, TOPIC, Case, change
from tests.equivalence.configurations import TOPIC as TOPIC_NAME

from doorkeeper.rules import config_validators as validators
from doorkeeper.rules.config_change import Operation, ResourceType
from doorkeeper.rules.config_schema import ConfigType, Scope, load_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.rules.config_request import ResourceChange
    from doorkeeper.rules.config_schema import ConfigKey

ODD_NUMBERS = ("abc", "", " 7 ", "+7", "-0", "007", "1e3", "1_000", "0x10", "7.0", "\u0663", "7\u00a0", "\U0001d7d7")
ODD_DOUBLES = (".5", "5e-1", "0x1p-1", "NaN", "-1", "abc", "0,5", "Infinity", "0.5f", "", " .5 ")
BOOLEANS = ("true", "FALSE", " True ", "yes", "", "1")
LISTS = ("", "a", "a,b", " a , b ", "a,,b", ",", "a,a", "*")
LIMITS = {ConfigType.INT: 1 << 31, ConfigType.SHORT: 1 << 15, ConfigType.LONG: 1 << 63}


def values_of(key: ConfigKey) -> list[str]:
    """Texts that are worth asking for one key."""
    values = [*_by_type(key), *_by_validator(key)]
    if key.default is not None:
        values.append(key.default)
    return list(dict.fromkeys(values))


def _by_type(key: ConfigKey) -> tuple[str, ...]:
    if key.type in LIMITS:
        limit = LIMITS[key.type]
        return (*ODD_NUMBERS, str(limit - 1), str(limit), str(-limit), str(-limit - 1), "0", "1", "-1")
    others = {
        ConfigType.DOUBLE: ODD_DOUBLES,
        ConfigType.BOOLEAN: BOOLEANS,
        ConfigType.LIST: LISTS,
        ConfigType.CLASS: ("no.such.Class", "", "a b"),
    }
    return others.get(key.type, ("", "x", " x "))


def _by_validator(key: ConfigKey) -> Iterator[str]:
    validator = key.validator
    if isinstance(validator, validators.Range | validators.GzipLevel):
        for bound in (validator.min, validator.max):
            if bound is not None:
                yield from (str(bound - 1), str(bound), str(bound + 1))
    if isinstance(validator, validators.In):
        yield from (*validator.values, validator.values[0].swapcase())
    if isinstance(validator, validators.ListOf) and validator.values:
        yield from (*validator.values, ",".join(validator.values), validator.values[0].upper())


def broker_cases(configuration: str = "plain") -> Iterator[Case]:
    """Every broker key."""
    for key in load_schema("broker").values():
        if key.name.startswith("resource.identifier"):
            continue  # Doorkeeper's own: Kafka takes it for a plugin's
        for each in _broker_changes(key):
            yield Case(configuration, ((each,),))


def _broker_changes(key: ConfigKey) -> Iterator[ResourceChange]:
    value = key.default or "1"
    if key.scope is Scope.READ_ONLY:
        yield change(BROKER, "1", (key.name, value))
        if key.is_list:
            yield change(BROKER, "", (key.name, "x", Operation.APPEND))
        return
    for text in values_of(key):
        yield change(BROKER, "1", (key.name, text))
    yield change(BROKER, "", (key.name, value))
    yield change(BROKER, "", (key.name, "~"))
    yield change(BROKER, "1", (key.name, None, Operation.DELETE))
    yield change(BROKER, "1", (key.name, "x", Operation.APPEND))
    yield change(BROKER, "1", (key.name, value, Operation.SUBTRACT))
    yield change(BROKER, "1", (f"listener.name.plaintext.{key.name}", value))
    yield change(BROKER, "1", (f"listener.name.plaintext.{key.name}", "~"))
    yield change(BROKER, "", (f"listener.name.absent.{key.name}", value))
    yield change(BROKER, "1", (key.name, value), legacy=True)


def stored_cases(configuration: str = "plain") -> Iterator[Case]:
    """Every topic, group and client-metrics key."""
    kinds: tuple[tuple[ResourceType, str, str], ...] = (
        (TOPIC, TOPIC_NAME, "topic"),
        (GROUP, "readers", "group"),
        (METRICS, "subscription", "client_metrics"),
    )
    for resource_type, name, schema in kinds:
        for key in load_schema(schema).values():
            for text in values_of(key):
                yield Case(configuration, ((change(resource_type, name, (key.name, text)),),))
            for operation in (Operation.APPEND, Operation.SUBTRACT, Operation.DELETE):
                yield Case(configuration, ((change(resource_type, name, (key.name, "x", operation)),),))
            yield Case(configuration, ((change(resource_type, name, (key.name, key.default or ""), legacy=True),),))


def bounds_cases(configuration: str) -> Iterator[Case]:
    """Numbers around each default, under static configs that move bounds and defaults."""
    for schema, resource_type, names in (
        ("broker", BROKER, ("1", "")),
        ("topic", TOPIC, (TOPIC_NAME,)),
        ("group", GROUP, ("readers",)),
    ):
        for key in load_schema(schema).values():
            if key.scope is Scope.READ_ONLY or key.type not in (ConfigType.INT, ConfigType.LONG) or not key.default:
                continue
            for name in names:
                for text in (
                    "1",
                    "3",
                    str(int(key.default) // 2),
                    key.default,
                    str(min(int(key.default) * 2, 1 << 62)),
                ):
                    yield Case(configuration, ((change(resource_type, name, (key.name, text)),),))
