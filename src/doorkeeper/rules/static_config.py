"""Static configs of one node, the effective configs that dynamic ones make of them, and checks that read them.

A check declares the keys it reads and is handed a view that refuses every other key; so the set of static configs
that a broker has to report is computed from the declarations (`reported_config`), and the declarations can't lie.

Sources: `AbstractConfig`, `AbstractKafkaConfig.populateSynonyms`, `DynamicBrokerConfig.overrideProps`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

from doorkeeper.rules.config_levels import load_levels
from doorkeeper.rules.config_schema import BROKER, ConfigProblem, default_value, load_schema, parse_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from doorkeeper.rules.config_text import ParsedValue
    from doorkeeper.rules.verdict import RuleId

SCHEMA: Final = dict(load_schema(BROKER))
SYNONYMS: Final = load_levels().broker_synonyms
NO_KEYS: Final[frozenset[str]] = frozenset()
LISTENER_PREFIX: Final = "listener.name."
SENSITIVE: Final = frozenset(name for name, key in SCHEMA.items() if key.sensitive)
_PARSED: Final = 8192  # values remembered; the same few are sent again and again
_NODE_ID, _BROKER_ID = "node.id", "broker.id"
_VARIABLE: Final = re.compile(r"\$\{([^}]*?):(?:[^}]*?:)?[^}]*?\}")  # ConfigTransformer.DEFAULT_PATTERN


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


@lru_cache(maxsize=_PARSED)
def parse_plain(name: str, text: str) -> ParsedValue | ConfigProblem:
    """`parse_value` for a broker key that holds no secret, remembering what it said."""
    return parse_value(SCHEMA[name], text)


def parse_known(name: str, text: str) -> ParsedValue | ConfigProblem:
    """`parse_value` for any broker key; secrets are not remembered."""
    return parse_value(SCHEMA[name], text) if name in SENSITIVE else parse_plain(name, text)


def variable_providers(text: str) -> list[str]:
    """The config providers that a value asks, in order: `["env"]` for `${env:THREADS}`."""
    return _VARIABLE.findall(text) if "${" in text else []


class StaticConfig:
    """A server.properties, parsed key by key when first asked; None stands for configs that nobody reported.

    A value with a variable (`${env:THREADS}`) is unknown, for only the broker can resolve it; so is one that does not
    parse, for a broker that started has read it.
    """

    __slots__ = ("_raw", "_values", "known", "lawful", "memo")

    def __init__(self, raw: Mapping[str, str] | None) -> None:
        self.known = raw is not None
        self._raw = _with_node_id_synonyms(raw or {})
        self._values: dict[str, ParsedValue | ConfigProblem] = {}
        self.memo: dict[str, Any] = {}
        """What was worked out from static configs alone (see `remembered`)."""
        self.lawful: tuple[Mapping[str, str], Mapping[str, str], View] | None = None
        """The dynamic configs, cluster-wide and own, that were last found lawful on top, and the view of them all:
        they seldom change, and what the view has looked up need not be looked up again."""

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
            return ConfigProblem(key, "a variable") if variable_providers(text) else parse_value(SCHEMA[key], text)
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


@dataclass(frozen=True, slots=True)
class Layer:
    """Dynamic configs of one level, looked through once for all the brokers that they are laid over."""

    texts: Mapping[str, str] = field(repr=False)
    values: Mapping[str, ParsedValue] = field(repr=False)
    """The parsed values of the keys that Kafka knows."""
    hides: frozenset[str]
    """Keys of the layers below that say the same in another unit (`log.retention.hours`)."""
    prefixed: tuple[tuple[str, str], ...] = field(repr=False)
    """The entries with a listener's prefix."""


def hidden_by(texts: Mapping[str, str]) -> frozenset[str]:
    """The keys of the layers below that these hide."""
    synonymous = SYNONYMS.keys() & texts.keys()
    return NO_KEYS.union(*(SYNONYMS[key] for key in synonymous)) - texts.keys() if synonymous else NO_KEYS


def make_layer(texts: Mapping[str, str]) -> Layer:
    """Look a layer through; values that do not parse are left out, for somebody has refused them before."""
    values = {}
    for key, text in texts.items():
        value = parse_known(key, text) if key in SCHEMA else _NO_VALUE
        if not isinstance(value, ConfigProblem):
            values[key] = value
    prefixed = tuple(entry for entry in texts.items() if entry[0].startswith(LISTENER_PREFIX))
    return Layer(texts, values, hidden_by(texts), prefixed)


_NO_VALUE: Final = ConfigProblem("", "a plugin's key has no type")


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> frozenset[str]:
    """The keys that two layers do not have in common with the same text."""
    return frozenset([key for key, text in one.items() if other.get(key) != text]) | (other.keys() - one.keys())


EMPTY_LAYER: Final = make_layer({})


class View:
    """The effective configs of a node: its static ones under layers of dynamic ones, later layers first."""

    __slots__ = ("_hidden", "_values", "listener_reads", "memo", "overrides", "prefixed", "reads", "static")

    def __init__(self, static: StaticConfig, *layers: Layer) -> None:
        self.static = static
        self.overrides: dict[str, str] = {}
        self.prefixed: dict[str, str] = {}
        self._hidden: set[str] = set()
        self._values: dict[str, ParsedValue] = {}
        self.memo: dict[str, Any] = {}
        self.reads: frozenset[str] = NO_KEYS
        self.listener_reads: frozenset[str] = NO_KEYS
        for layer in layers:
            for key in layer.hides:
                self.overrides.pop(key, None)
                self._values.pop(key, None)
            self._hidden |= layer.hides
            self.overrides.update(layer.texts)
            self._values.update(layer.values)
            self.prefixed.update(layer.prefixed)

    def admit(self, reads: frozenset[str], listener_reads: frozenset[str] = NO_KEYS) -> View:
        """Open these keys, and no others, to the next reader."""
        self.reads = reads
        self.listener_reads = listener_reads
        return self

    def value(self, key: str) -> ParsedValue:
        """The parsed value in effect."""
        if key not in self.reads:
            raise UndeclaredKeyError(key)
        if key in self._values:
            return self._values[key]
        value = default_value(SCHEMA[key]) if key in self._hidden else self.static.value(key)
        self._values[key] = value
        return value

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
            raise UndeclaredKeyError(f"{LISTENER_PREFIX}*.{key}")
        name = f"{LISTENER_PREFIX}{listener.lower()}.{key}"
        text = self.prefixed.get(name)
        if text is None:
            text = self.static.text(name)
            if text is None:
                return self.value(key)
            if variable_providers(text):
                raise UnknownStaticError(name)
        parsed = parse_known(key, text)
        if isinstance(parsed, ConfigProblem):
            raise UnknownStaticError(name)  # a dynamic one would have been refused before
        return parsed

    def text_of(self, key: str) -> str | None:
        """The value as written, whatever layer it is from."""
        text = self.overrides.get(key)
        return self.static.text(key) if text is None and key not in self._hidden else text

    def changed_from(self, other: View, among: frozenset[str] | None = None) -> frozenset[str]:
        """The keys whose texts differ between two views of one node (`DynamicBrokerConfig.updatedConfigs`).

        Only keys `among` these differ in the dynamic layers, where somebody has compared the layers already.
        """
        changed = set(differing(self.overrides, other.overrides) if among is None else among)
        changed.update(self._hidden ^ other._hidden)
        doubtful = changed.intersection((*self.static.texts(), *self._hidden, *other._hidden))
        changed.difference_update([key for key in doubtful if self.text_of(key) == other.text_of(key)])
        return frozenset(changed)

    def integer(self, key: str) -> int:
        """A number that always has a value."""
        value = self._values.get(key) if key in self.reads else None
        if value is None:
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


Result = TypeVar("Result")


def remembered(reads: frozenset[str]) -> Callable[[Callable[[View], Result]], Callable[[View], Result]]:
    """Work something out once per view; and once per node, as long as no dynamic config has a part in it."""

    def decorate(function: Callable[[View], Result]) -> Callable[[View], Result]:
        name = function.__name__

        @wraps(function)
        def recall(view: View) -> Result:
            if not reads <= view.reads:
                raise UndeclaredKeyError(name)
            memo = view.static.memo if reads.isdisjoint(view.overrides) else view.memo
            if name not in memo:
                memo[name] = function(view)
            result: Result = memo[name]
            return result

        return recall

    return decorate


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
