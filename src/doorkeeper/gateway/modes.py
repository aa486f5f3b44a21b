"""What becomes of a breach: nothing, a note, or a refusal; for all rules alike or rule by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from doorkeeper.errors import InputError
from doorkeeper.rules.names import GOVERNED
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind, RuleId

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
_NAMES: Final[Mapping[str, Kind | RuleId]] = {
    **{rule.lower(): rule for rule in RuleId if rule.startswith("CONFIG_")},
    **{str(kind): kind for kind in _KINDS},
}


@dataclass(frozen=True, slots=True)
class Modes:
    """The mode of everything that is judged; each kind of identifier has one rule, config changes have many."""

    default: Mode = Mode.EVALUATE
    by_kind: Mapping[Kind, Mode] = field(default_factory=dict)
    by_rule: Mapping[RuleId, Mode] = field(default_factory=dict)
    """Of rules for config changes that have a mode of their own."""

    def of(self, kind: Kind) -> Mode:
        """The mode that counts for this kind."""
        return self.by_kind.get(kind, self.default)

    def of_change(self, rule: RuleId) -> Mode:
        """The mode that counts for a rule for config changes."""
        return self.by_rule.get(rule, self.of(CONFIG_CHANGE))

    @property
    def enforces(self) -> bool:
        """Whether any rule is enforced."""
        return Mode.ENFORCE in (self.default, *self.by_kind.values(), *self.by_rule.values())

    @property
    def judges_identifiers(self) -> bool:
        """Whether any identifier is looked at."""
        return any(self.of(kind) is not Mode.OFF for kind in IDENTIFIER_KINDS)

    @property
    def judges_configs(self) -> bool:
        """Whether config changes are looked at."""
        return any(mode is not Mode.OFF for mode in (self.of(CONFIG_CHANGE), *self.by_rule.values()))

    def describe(self) -> str:
        """One line for people: `evaluate (group_id: enforce)`."""
        own = [(str(name), mode) for name, mode in (*self.by_kind.items(), *self.by_rule.items())]
        others = ", ".join(f"{name}: {mode}" for name, mode in sorted(own) if mode is not self.default)
        return f"{self.default} ({others})" if others else str(self.default)


def parse_mode(text: str) -> Mode:
    """:raises InputError: when it is none."""
    try:
        return Mode(text.strip().lower())
    except ValueError:
        raise InputError(f"mode {text!r} is none of {', '.join(Mode)}") from None


def parse_rule(text: str) -> Kind | RuleId:
    """A kind by its own name (`group_id`) or by its rule's (`GROUP_ID_TOO_LONG`), or a rule for config changes.

    :raises InputError: when the gateway judges nothing of that name.
    """
    name = text.strip().lower()
    found = _NAMES.get(name) or _NAMES.get(name.removesuffix("_too_long"))
    if found is None:
        names = ", ".join(sorted(_KINDS))
        raise InputError(f"rule {text!r} is none of {names}, and no rule for config changes")
    return found


def parse_modes(words: Iterable[str], given: Modes | None = None) -> Modes:
    """`enforce`, or `group_id=enforce`; later words win.

    :raises InputError: for a word that is neither.
    """
    modes = given or Modes()
    default, by_kind, by_rule = modes.default, dict(modes.by_kind), dict(modes.by_rule)
    for word in words:
        rule, equals, mode = word.rpartition("=")
        if not equals:
            default = parse_mode(mode)
        elif isinstance(found := parse_rule(rule), Kind):
            by_kind[found] = parse_mode(mode)
        else:
            by_rule[found] = parse_mode(mode)
    return Modes(default, by_kind, by_rule)


RULEBOOK: Final = Rulebook()
"""What is a breach; what becomes of it is for `Modes` to say."""
