"""The validators that stand beside a type in Kafka's `ConfigDef`, as data; each returns Kafka's message or nothing.

Source: `ConfigDef.java` (Range, ValidString, CaseInsensitiveValidString, ValidList, NonNullValidator, NonEmptyString,
CompositeValidator). The ones that are code in Kafka are in `config_named_validators`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from doorkeeper.rules.config_named_validators import NAMED_VALIDATORS
from doorkeeper.rules.config_text import ParsedValue, invalid_value, show

_NUMBERS: Final = (int, float)
"""Made once: `int | float` would be made anew for every value."""


class Validator(Protocol):
    """Something that may refuse a parsed value."""

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Return the message with which Kafka refuses the value, or nothing."""


@dataclass(frozen=True, slots=True)
class Range:
    """`Range`: bounds are compared as doubles, so NaN lies in every range."""

    min: int | float | None
    max: int | float | None

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Compare as Kafka does."""
        if not isinstance(value, _NUMBERS):
            return invalid_value(name, value, "Value must be non-null")
        if self.min is not None and float(value) < float(self.min):
            return invalid_value(name, value, f"Value must be at least {show(self.min)}")
        if self.max is not None and float(value) > float(self.max):
            return invalid_value(name, value, f"Value must be no more than {show(self.max)}")
        return None


@dataclass(frozen=True, slots=True)
class In:
    """`ValidString`: one of these, to the letter."""

    values: tuple[str, ...]

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Look the text up."""
        if value in self.values:
            return None
        return invalid_value(name, value, f"String must be one of: {', '.join(self.values)}")


@dataclass(frozen=True, slots=True)
class InIgnoringCase:
    """`CaseInsensitiveValidString`: one of these (upper case), after `toUpperCase`."""

    values: tuple[str, ...]

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Look the text up in upper case."""
        if isinstance(value, str) and value.upper() in self.values:
            return None
        return invalid_value(name, value, f"String must be one of (case insensitive): {', '.join(self.values)}")


@dataclass(frozen=True, slots=True)
class ListOf:
    """`ValidList`: entries that differ and are not empty, and are known ones where there are known ones.

    `ConfigDef.parseValue` drops repeated entries before it asks, so a repeated entry is never refused.
    """

    values: tuple[str, ...] | None
    empty_allowed: bool
    null_allowed: bool

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Judge the list as a whole, then its entries in order."""
        if not isinstance(value, list):
            return None if self.null_allowed else f"Configuration '{name}' values must not be null."
        if not value and not self.empty_allowed:
            valid = "any non-empty value" if self.values is None else show(list(self.values))
            return f"Configuration '{name}' must not be empty. Valid values include: {valid}"
        for entry in value:
            if not entry:
                return f"Configuration '{name}' values must not be empty."
            if self.values is not None and entry not in self.values:
                return invalid_value(name, entry, f"String must be one of: {', '.join(self.values)}")
        return None


@dataclass(frozen=True, slots=True)
class NonNull:
    """`NonNullValidator`."""

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Refuse null only."""
        return invalid_value(name, value, "entry must be non null") if value is None else None


@dataclass(frozen=True, slots=True)
class NonEmpty:
    """`NonEmptyString`: null passes."""

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Refuse the empty text only."""
        return invalid_value(name, value, "String must be non-empty") if value == "" else None


@dataclass(frozen=True, slots=True)
class All:
    """`CompositeValidator`: the first refusal counts."""

    of: tuple[Validator, ...]

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Ask one after the other."""
        for part in self.of:
            if (message := part.refusal(name, value)) is not None:
                return message
        return None


@dataclass(frozen=True, slots=True)
class GzipLevel:
    """`CompressionType.GZIP.levelValidator()`: a range and one value outside of it."""

    min: int
    max: int
    other: int

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Compare with both."""
        if not isinstance(value, int):
            return invalid_value(name, value, "Value must be non-null")
        if self.min <= value <= self.max or value == self.other:
            return None
        return invalid_value(name, value, f"Value must be between {self.min} and {self.max} or equal to {self.other}")


@dataclass(frozen=True, slots=True)
class Named:
    """A validator that is code in Kafka, ported by hand under its Java name."""

    name: str

    def refusal(self, name: str, value: ParsedValue) -> str | None:
        """Ask the port."""
        return NAMED_VALIDATORS[self.name](name, value)
