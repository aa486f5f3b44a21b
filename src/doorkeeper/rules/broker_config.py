"""The judgement of a BROKER change as a broker makes it: the resulting configs are judged, not the change.

Sources: `ConfigAdminManager.scala` (prepareIncrementalConfigs, validateBrokerConfigChange), `DynamicBrokerConfig.scala`
(validate, fromPersistentProps), `DynamicBrokerConfig.java` (validateConfigs).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from doorkeeper.rules import listener_parts
from doorkeeper.rules.broker_checks import CHANGE_CHECKS, DYNAMIC_KEYS, READ_ONLY_KEYS
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_levels import load_levels
from doorkeeper.rules.config_request import Operation, Refusal
from doorkeeper.rules.config_schema import ConfigProblem, ConfigType, Scope, parse_value
from doorkeeper.rules.config_text import show
from doorkeeper.rules.javatext import split_java
from doorkeeper.rules.reconfiguration import PARTS, wrapped
from doorkeeper.rules.static_config import (
    EMPTY_LAYER,
    LISTENER_PREFIX,
    SCHEMA,
    SENSITIVE,
    Check,
    Layer,
    StaticConfig,
    View,
    hidden_by,
    keys_read,
    make_layer,
    parse_known,
    parse_plain,
    touching,
)
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from doorkeeper.rules.config_request import ConfigEntry
    from doorkeeper.rules.config_text import ParsedValue

_LEVELS: Final = load_levels()
_LISTENER_KEY: Final = _LEVELS.listener_pattern
CHECKED_KEYS: Final = keys_read(CHANGE_CHECKS)
_CACHED: Final = 1024  # sets of changed keys that the touched checks are remembered for
_PER_BROKER: Final = frozenset(name for name, key in SCHEMA.items() if key.scope is Scope.PER_BROKER)
_CLASS_KEYS: Final = frozenset(name for name, key in SCHEMA.items() if key.type is ConfigType.CLASS)
_REMEMBERED: Final = DYNAMIC_KEYS - SENSITIVE - _CLASS_KEYS
"""The keys whose values mean the same to every broker and may be remembered."""
_PROVIDERS: Final = "config.providers"
_SPECIAL_PREFIXES: Final = (LISTENER_PREFIX, _PROVIDERS)
_SET, _DELETE = int(Operation.SET), int(Operation.DELETE)
QUOTA: Final = "quota"
"""The group of keys that are no part of a broker's static definition (QuotaConfig.brokerQuotaConfigs)."""


def base_name(name: str) -> str:
    """The key without its listener's prefix."""
    if not name.startswith(LISTENER_PREFIX):
        return name
    match = _LISTENER_KEY.fullmatch(name)
    return match[1] if match else name


def is_list_key(name: str) -> bool | None:
    """Whether a broker key is a list; None if Kafka's static definition has no such key."""
    key = SCHEMA.get(name)
    if key is None or QUOTA in key.reconfigurable_by:
        return None
    return key.is_list


def apply_entries(entries: Iterable[ConfigEntry], props: dict[str, str]) -> Refusal | None:
    """Carry out the operations on `props` in their order (`prepareIncrementalConfigs`)."""
    for entry in entries:
        value = entry.value
        if entry.operation == _SET and value is not None:
            props[entry.name] = value
        elif entry.operation == _DELETE or value is None:
            props.pop(entry.name, None)
        else:
            refusal = _list_refusal(entry)
            if refusal is not None:
                return refusal
            merge = appended if entry.operation == Operation.APPEND else subtracted
            props[entry.name] = merge(props.get(entry.name, SCHEMA[entry.name].default), value)
    return None


def _list_refusal(entry: ConfigEntry) -> Refusal | None:
    is_list = is_list_key(entry.name)
    if is_list:
        return None
    if is_list is None:
        return Refusal(RuleId.CONFIG_KEY_UNKNOWN, ErrorCode.INVALID_CONFIG, f"Unknown config name: {entry.name}")
    verb = Operation(entry.operation).name.lower()
    message = f"Config value {verb} is not allowed for config key: {entry.name}"
    return Refusal(RuleId.CONFIG_KEY_NOT_A_LIST, ErrorCode.INVALID_CONFIG, message)


def appended(old: str | None, value: str) -> str:
    """The old entries and those new ones that are not among them; nothing is trimmed."""
    entries = split_java(old) if old else []
    return ",".join((*entries, *(entry for entry in split_java(value) if entry not in entries)))


def subtracted(old: str | None, value: str) -> str:
    """The old entries without one of each of the named ones."""
    entries = split_java(old or "")
    for entry in split_java(value):
        if entry in entries:
            entries.remove(entry)
    return ",".join(entries)


def stored_in_force(stored: Mapping[str, str], *, per_broker: bool) -> Layer:
    """What a broker takes of the stored configs: bad values and keys in the wrong place are passed over.

    `DynamicBrokerConfig.fromPersistentProps`.
    """
    if not stored:
        return EMPTY_LAYER
    return make_layer(
        {name: text for name, text in stored.items() if _may_be_stored(name, text, per_broker=per_broker)}
    )


def _may_be_stored(name: str, text: str, *, per_broker: bool) -> bool:
    if name in READ_ONLY_KEYS or name in _LEVELS.dynamic_security or name.startswith(_PROVIDERS):
        return False
    if not per_broker and _is_per_broker(name):
        return False
    base = base_name(name)
    return base not in DYNAMIC_KEYS or not isinstance(parse_known(base, text), ConfigProblem)


def _is_per_broker(name: str) -> bool:
    if name in _PER_BROKER:
        return True
    base = base_name(name)
    return base is not name and base not in _LEVELS.cluster_level_listener


def judge_values(
    props: Mapping[str, str], *, per_broker: bool, class_exists: Callable[[str], bool]
) -> tuple[Layer, Refusal | None]:
    """The conditions on the resulting keys and values that need no context (`validateConfigs`); and their layer.

    Config providers are no part of it: Kafka resolves the other values with them, and drops them.
    """
    others = props.keys() - DYNAMIC_KEYS
    special = [name for name in others if name.startswith(_SPECIAL_PREFIXES)]
    if _PROVIDERS in props or any(map(_is_provider, special)):
        props = without_providers(props)
    if read_only := READ_ONLY_KEYS & others:
        return EMPTY_LAYER, _bad_keys(RuleId.CONFIG_KEY_READ_ONLY, "Cannot update these configs dynamically", read_only)
    if bare := _LEVELS.dynamic_security & props.keys():
        text = "These security configs can be dynamically updated only per-listener using the listener prefix"
        return EMPTY_LAYER, _bad_keys(RuleId.CONFIG_KEY_NEEDS_LISTENER, text, bare)
    values: dict[str, ParsedValue] = {}
    for name, text in props.items():
        if name in _REMEMBERED:
            parsed = parse_plain(name, text)
        elif name in others:
            continue
        else:
            parsed = parse_value(SCHEMA[name], text, class_exists)
        if isinstance(parsed, ConfigProblem):
            return EMPTY_LAYER, _invalid(parsed)
        values[name] = parsed
    prefixed = [(name, props[name]) for name in special if name.startswith(LISTENER_PREFIX)]
    refusal = _refusal_of_prefixed(prefixed, class_exists)
    if refusal is not None:
        return EMPTY_LAYER, refusal
    if not per_broker and (misplaced := (_PER_BROKER & props.keys()).union(filter(_is_per_broker, dict(prefixed)))):
        text = "Cannot update these configs at default cluster level, broker id must be specified"
        return EMPTY_LAYER, _bad_keys(RuleId.CONFIG_KEY_PER_BROKER, text, misplaced)
    return Layer(props, values, hidden_by(props), tuple(prefixed)), None


def _refusal_of_prefixed(prefixed: Iterable[tuple[str, str]], class_exists: Callable[[str], bool]) -> Refusal | None:
    for name, text in prefixed:
        base = base_name(name)
        parsed = parse_value(SCHEMA[base], text, class_exists) if base in DYNAMIC_KEYS else None
        if isinstance(parsed, ConfigProblem):
            return _invalid(parsed)
    return None


def _invalid(problem: ConfigProblem) -> Refusal:
    return Refusal(RuleId.CONFIG_VALUE_INVALID, ErrorCode.INVALID_REQUEST, problem.message)


def _bad_keys(rule: RuleId, text: str, names: Iterable[str]) -> Refusal:
    return Refusal(rule, ErrorCode.INVALID_REQUEST, f"{text}: {show(sorted(names))}")


def _is_provider(name: str) -> bool:
    return name.startswith(_PROVIDERS)


def without_providers(props: Mapping[str, str]) -> dict[str, str]:
    """The configs without the config providers, which Kafka uses to resolve the others and then drops."""
    return {name: text for name, text in props.items() if not _is_provider(name)}


def refusal_of_whole(view: View, checks: Iterable[Check] = CHANGE_CHECKS) -> Refusal | None:
    """The first condition on the whole configuration that does not hold."""
    for check in checks:
        message = check.refusal(view)
        if message is not None:
            return Refusal(check.rule, ErrorCode.INVALID_REQUEST, message)
    return None


@dataclass(frozen=True, slots=True)
class InForce:
    """The configuration that a broker runs with, and whether all that is stored is part of it."""

    view: View
    complete: bool


def in_force(static: StaticConfig, default: Layer, own: Layer) -> InForce:
    """What is stored, as far as it could be applied.

    A broker keeps the last configuration that it found lawful. Which one that was is history; it is taken to be the
    most complete one that is lawful by itself.
    """
    if static.lawful is not None and static.lawful[:2] == (default.texts, own.texts):
        return InForce(static.lawful[2], complete=True)
    bare = View(static)
    for layers in ((default, own), (default,), (own,)):
        view = View(static, *layers)
        if _could_be_applied(view, bare):
            complete = len(layers) == 2
            if complete:
                static.lawful = (default.texts, own.texts, view)
            return InForce(view, complete)
    return InForce(bare, complete=False)


def _could_be_applied(view: View, bare: View) -> bool:
    if not view.overrides:
        return True
    if refusal_of_whole(view) is not None:
        return False
    changed = view.changed_from(bare)
    return all(part.refusal(view, bare) is None for part in PARTS if part.stateless and part.triggers & changed)


@lru_cache(maxsize=_CACHED)
def _checks_of(changed: frozenset[str]) -> tuple[Check, ...]:
    return touching(CHANGE_CHECKS, changed)


def refusal_of_change(
    new: View, current: InForce, class_exists: Callable[[str], bool], among: frozenset[str] | None
) -> Refusal | None:
    """The judgement of a new configuration by a broker that runs with the current one.

    Where the current one is lawful and complete, only what the changed keys touch can be unlawful in the new one; keys
    with a listener's prefix may touch anything. `among` are the keys that
    differ from what is stored, where that is known.
    """
    changed = new.changed_from(current.view, among if current.complete else None)
    if not changed:
        return None if current.complete else refusal_of_whole(new)
    simple = current.complete and not new.prefixed and not current.view.prefixed
    refusal = refusal_of_whole(new, _checks_of(changed & CHECKED_KEYS) if simple else CHANGE_CHECKS)
    if refusal is not None:
        return refusal
    refusal = listener_parts.first_refusal(new, current.view, changed, class_exists)
    if refusal is not None:
        return refusal
    for part in PARTS:
        if part.triggers.isdisjoint(changed):
            continue
        message = part.refusal(new, current.view)
        if message is not None:
            return Refusal(part.rule, ErrorCode.INVALID_REQUEST, wrapped(message))
    return None
