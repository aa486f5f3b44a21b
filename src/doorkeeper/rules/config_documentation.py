"""What a config key takes, in a sentence of our own.

DescribeConfigs may ask for documentation, and tools show it. Kafka's sentences are Kafka's; the facts of a key (type,
bounds, default, where it may be changed) say what its user needs first.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.rules.config_schema import ConfigKey, ConfigType, Scope
from doorkeeper.rules.config_text import show
from doorkeeper.rules.config_validators import All, GzipLevel, In, InIgnoringCase, ListOf, Range, Validator

_KINDS: Final = {
    ConfigType.BOOLEAN: "true or false",
    ConfigType.STRING: "a text",
    ConfigType.INT: "an integer of 32 bits",
    ConfigType.SHORT: "an integer of 16 bits",
    ConfigType.LONG: "an integer of 64 bits",
    ConfigType.DOUBLE: "a number",
    ConfigType.LIST: "a list, separated by commas",
    ConfigType.CLASS: "a class",
    ConfigType.PASSWORD: "a secret, which is never shown",
}
_CHANGES: Final = {
    Scope.READ_ONLY: "Read when the broker starts.",
    Scope.PER_BROKER: "May be changed for a running broker.",
    Scope.CLUSTER_WIDE: "May be changed for a running broker, and for all of them at once.",
}


def document(key: ConfigKey) -> str:
    """Say what the key takes, what holds without it, and, of a broker's key, whether it may be changed."""
    kind = ", ".join(part for part in (_KINDS[key.type], _bounds(key.validator)) if part)
    sentences = [f"Takes {kind}.", _default(key), _CHANGES[key.scope] if key.scope is not None else ""]
    return " ".join(one for one in sentences if one)


def _default(key: ConfigKey) -> str:
    if key.required:
        return "Has to be set."
    if key.default is None:
        return "Has no default."
    return f"The default is {key.default}." if key.default else "The default is empty."


def _bounds(validator: Validator | None) -> str:
    """The bounds in words; nothing where they are code."""
    match validator:
        case Range():
            return _range(validator)
        case GzipLevel(min=least, max=most, other=other):
            return f"from {least} to {most}, or {other}"
        case In(values=values):
            return _one_of(values)
        case InIgnoringCase(values=values):
            return f"{_one_of(values)} in upper or lower case"
        case ListOf(values=values) if values is not None:
            return f"of {', '.join(values)}"
        case All(of=parts):
            return ", ".join(words for words in map(_bounds, parts) if words)
    return ""


def _range(bounds: Range) -> str:
    if bounds.max is None:
        return "" if bounds.min is None else f"at least {show(bounds.min)}"
    return f"at most {show(bounds.max)}" if bounds.min is None else f"from {show(bounds.min)} to {show(bounds.max)}"


def _one_of(values: tuple[str, ...]) -> str:
    return f"one of {', '.join(values)}"
