"""How Java prints a config value: in messages, and as the text that parses to the same value.

Source: `ConfigException.java`, `ConfigDef.convertToString`.
"""

from __future__ import annotations

from typing import TypeAlias

from doorkeeper.rules.javatext import format_double

ParsedValue: TypeAlias = bool | int | float | str | list[str] | None


def show(value: ParsedValue) -> str:
    """Print a value as Java's string concatenation does: `null`, `true`, `0.5`, `[a, b]`."""
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return "null" if value is None else to_text(value)


def to_text(value: bool | int | float | str | list[str]) -> str:
    """Print a value so that it parses to itself: `ConfigDef.convertToString`, lists joined with commas."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    return format_double(value) if isinstance(value, float) else str(value)


def invalid_value(name: str, value: ParsedValue, reason: str) -> str:
    """Build the message of `ConfigException(name, value, message)`."""
    return f"Invalid value {show(value)} for configuration {name}: {reason}"
