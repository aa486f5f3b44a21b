"""Static configs of one node, the effective configs that dynamic ones make of them, and checks that read them.

A check declares the keys it reads and is handed a view that refuses every other key; so the set of static configs
that a broker has to report is computed from the declarations (`reported_config`), and the declarations can't lie.

Sources: `AbstractConfig`, `AbstractKafkaConfig.populateSynonyms`, `DynamicBrokerConfig.overrideProps`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.config_levels import load_levels
from doorkeeper.rules.config_schema import BROKER, ConfigProblem, default_value, load_schema, parse_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from doorkeeper.rules.config_text import ParsedValue
    from doorkeeper.rules.verdict import RuleId

SCHEMA: Final = load_schema(BROKER)
SYNONYMS: Final = load_levels().broker_synonyms
NO_KEYS: Final[frozenset[str]] = frozenset()
_NODE_ID, _BROKER_ID = "node.id", "broker.id"


class UndeclaredKeyError(LookupError):
    """A check read a key that it does not declare: a fault of ours."""


class UnknownStaticError(Exception):
    """A check needs a static config that nobody reported; it can't judge and is passed over."""


class UnlawfulError(Exception):
    """What a check says when Kafka would throw in the middle of reading a value; the message is Kafka's."""

    @property
    def message(self) -> str:
        """Kafka's message."""
        return str(self.args[0])


class StaticConfig:
    """A server.properties, parsed key by key when first asked; None stands for configs that nobody reported.

    A value that does not parse is as good as unknown: it may be a variable (`${env:THREADS}`) that only the broker
    can resolve, and a broker that started has resolved it.
    """

    __slots__ = ("_raw", "_values", "known")

    def __init__(self, raw: Mapping[str, str] | None) -> None:
        self.known = raw is not None
        self._raw = _with_node_id_synonyms(raw or {})
        self._values: dict[str, ParsedValue | ConfigProblem] = {}

    def text(self, key: str) -> str | None:
        """The value as written, if the key is set."""
        return self._raw.get(key)

    def texts(self) -> Mapping[str, str]:
        """All that is set."""
        return self._raw

    def value(self, key: str) -> ParsedValue:
        """The parsed value or default; raises UnknownStaticError if there is no telling."""
        try:
            value = self._values[key]
        except KeyError:
            value = self._values[key] = self._parse(key)
        if isinstance(value, ConfigProblem):
            raise UnknownStaticError(key)
        return value

    def _parse(self, key: str) -> ParsedValue | ConfigProblem:
        text = self._raw.get(key)
        if text is not None:
            return parse_value(SCHEMA[key], text)
        if not self.known or SCHEMA[key].required:
            return ConfigProblem(key, "not reported")
        return default_value(SCHEMA[key])


def _with_node_id_synonyms(raw: Mapping[str, str]) -> dict[str, str]:
    values = dict(raw)
    if _NODE_ID in values:
        values.setdefault(_BROKER_ID, values[_NODE_ID])
    elif _BROKER_ID in values:
        values[_NODE_ID] = values[_BROKER_ID]
    return values


class View:
    """The effective configs of a node: its static ones under layers of dynamic ones, later layers first.

    A dynamic key drops its synonyms from the layers below (`log.retention.ms` hides a static `log.retention.hours`).
    """

    __slots__ = ("_hidden", "_values", "listener_reads", "overrides", "reads", "static")

    def __init__(self, static: StaticConfig, *layers: Mapping[str, str]) -> None:
        self.static = static
        self.overrides: dict[str, str] = {}
        self._hidden: set[str] = set()
        self._values: dict[str, ParsedValue] = {}
        self.reads: frozenset[str] = NO_KEYS
        self.listener_reads: frozenset[str] = NO_KEYS
        for layer in layers:
            for key, text in layer.items():
                for synonym in SYNONYMS.get(key, ()):
                    self.overrides.pop(synonym, None)
                    self._hidden.add(synonym)
                self.overrides[key] = text

    def admit(self, reads: frozenset[str], listener_reads: frozenset[str] = NO_KEYS) -> View:
        """Open these keys, and no others, to the next reader."""
        self.reads = reads
        self.listener_reads = listener_reads
        return self

    def value(self, key: str) -> ParsedValue:
        """The parsed value in effect."""
        if key not in self.reads:
            raise UndeclaredKeyError(key)
        try:
            return self._values[key]
        except KeyError:
            value = self._values[key] = self._find(key)
            return value

    def _find(self, key: str) -> ParsedValue:
        text = self.overrides.get(key)
        if text is not None:
            parsed = parse_value(SCHEMA[key], text)
            if isinstance(parsed, ConfigProblem):
                raise UnlawfulError(parsed.message)
            return parsed
        return default_value(SCHEMA[key]) if key in self._hidden else self.static.value(key)

    def is_set(self, key: str) -> bool:
        """Whether the key is configured at all (`originals().containsKey`)."""
        if key not in self.reads:
            raise UndeclaredKeyError(key)
        if key in self.overrides:
            return True
        if not self.static.known:
            raise UnknownStaticError(key)
        return key not in self._hidden and self.static.text(key) is not None

    def listener_value(self, listener: str, key: str) -> ParsedValue:
        """The value for one listener: its own (`listener.name.<listener>.<key>`) or else the node's."""
        if key not in self.listener_reads:
            raise UndeclaredKeyError(f"listener.name.*.{key}")
        name = f"listener.name.{listener.lower()}.{key}"
        text = self.overrides.get(name)
        if text is None:
            text = self.static.text(name)
        if text is None:
            return self.value(key)
        parsed = parse_value(SCHEMA[key], text)
        if isinstance(parsed, ConfigProblem):
            raise UnlawfulError(parsed.message)
        return parsed

    def text_of(self, key: str) -> str | None:
        """The value as written, whatever layer it is from; to tell what a change changes."""
        text = self.overrides.get(key)
        if text is None and key not in self._hidden:
            text = self.static.text(key)
        return text

    def changed_from(self, other: View) -> frozenset[str]:
        """The keys whose texts differ between two views of one node (`DynamicBrokerConfig.updatedConfigs`)."""
        keys = self.overrides.keys() | other.overrides.keys() | self._hidden | other._hidden
        return frozenset(key for key in keys if self.text_of(key) != other.text_of(key))

    def integer(self, key: str) -> int:
        """A number that always has a value."""
        value = self.value(key)
        assert isinstance(value, int)
        return value

    def optional_integer(self, key: str) -> int | None:
        """A number that may be unset."""
        value = self.value(key)
        assert value is None or isinstance(value, int)
        return value

    def flag(self, key: str) -> bool:
        """A boolean."""
        return self.value(key) is True

    def items(self, key: str) -> list[str]:
        """A list; empty if unset."""
        value = self.value(key)
        return value if isinstance(value, list) else []

    def optional_items(self, key: str) -> list[str] | None:
        """A list that may be unset."""
        value = self.value(key)
        assert value is None or isinstance(value, list)
        return value

    def optional_text(self, key: str) -> str | None:
        """A text that may be unset."""
        value = self.value(key)
        assert value is None or isinstance(value, str)
        return value

    def text(self, key: str) -> str:
        """A text that always has a value."""
        value = self.value(key)
        assert isinstance(value, str)
        return value


@dataclass(frozen=True, slots=True)
class Check:
    """One condition on the whole configuration of a node: the keys it reads, and Kafka's message if it fails."""

    rule: RuleId
    reads: frozenset[str]
    judge: Callable[[View], str | None]
    listener_reads: frozenset[str] = field(default=NO_KEYS)
    """Keys read with a listener's prefix too."""

    def refusal(self, view: View) -> str | None:
        """Kafka's message, or nothing; a check that needs an unknown static config says nothing."""
        try:
            return self.judge(view.admit(self.reads, self.listener_reads))
        except UnlawfulError as error:
            return error.message
        except UnknownStaticError:
            return None


def keys_read(checks: Iterable[Check]) -> frozenset[str]:
    """The union of the declarations."""
    return NO_KEYS.union(*(check.reads for check in checks))


def touching(checks: Sequence[Check], keys: frozenset[str]) -> tuple[Check, ...]:
    """The checks that read any of the keys: no other check can change its verdict when these keys change."""
    return tuple(check for check in checks if not keys.isdisjoint(check.reads | check.listener_reads))
