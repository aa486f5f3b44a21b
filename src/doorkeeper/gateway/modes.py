"""What becomes of a breach: nothing, a note, or a refusal; for all rules alike or rule by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from doorkeeper.errors import InputError
from doorkeeper.rules.names import GOVERNED
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind

CONFIG_CHANGE: Final = Kind.CONFIG_CHANGE


class Mode(StrEnum):
    """How a rule is kept."""

    OFF = "off"
    """Not even looked at."""
    EVALUATE = "evaluate"
    """Looked at, counted and logged; the request passes."""
    ENFORCE = "enforce"
    """Refused."""


IDENTIFIER_KINDS: Final = frozenset(GOVERNED)
_KINDS: Final = IDENTIFIER_KINDS | {CONFIG_CHANGE}


@dataclass(frozen=True, slots=True)
class Modes:
    """The mode of every kind of thing that is judged; each kind of identifier has one rule."""

    default: Mode = Mode.EVALUATE
    by_kind: Mapping[Kind, Mode] = field(default_factory=dict)

    def of(self, kind: Kind) -> Mode:
        """The mode that counts for this kind."""
        return self.by_kind.get(kind, self.default)

    @property
    def judges_identifiers(self) -> bool:
        """Whether any identifier is looked at."""
        return any(self.of(kind) is not Mode.OFF for kind in IDENTIFIER_KINDS)

    @property
    def judges_configs(self) -> bool:
        """Whether config changes are looked at."""
        return self.of(CONFIG_CHANGE) is not Mode.OFF

    def describe(self) -> str:
        """One line for people: `evaluate (group_id: enforce)`."""
        others = ", ".join(f"{kind}: {mode}" for kind, mode in sorted(self.by_kind.items()) if mode is not self.default)
        return f"{self.default} ({others})" if others else str(self.default)


def parse_mode(text: str) -> Mode:
    """:raises InputError: when it is none."""
    try:
        return Mode(text.strip().lower())
    except ValueError:
        raise InputError(f"mode {text!r} is none of {', '.join(Mode)}") from None


def parse_kind(text: str) -> Kind:
    """A kind by its own name (`group_id`) or by its rule's (`GROUP_ID_TOO_LONG`).

    :raises InputError: when the gateway judges nothing of that name.
    """
    name = text.strip().lower().removesuffix("_too_long")
    try:
        kind = Kind(name)
    except ValueError:
        kind = None
    if kind not in _KINDS:
        raise InputError(f"rule {text!r} is none of {', '.join(sorted(_KINDS))}")
    return kind


def parse_modes(words: Iterable[str], given: Modes | None = None) -> Modes:
    """`enforce`, or `group_id=enforce`; later words win.

    :raises InputError: for a word that is neither.
    """
    modes = given or Modes()
    default, by_kind = modes.default, dict(modes.by_kind)
    for word in words:
        rule, equals, mode = word.rpartition("=")
        if equals:
            by_kind[parse_kind(rule)] = parse_mode(mode)
        else:
            default = parse_mode(mode)
    return Modes(default, by_kind)


RULEBOOK: Final = Rulebook()
"""What is a breach; what becomes of it is for `Modes` to say."""
