"""The judgement of a server.properties by itself: names, types, ranges and cross-checks, all at once.

Kafka stops at the first fault; whoever writes a file wants all of them. Faults are what Kafka refuses to start with;
keys that nobody knows may be a plugin's, and are warnings.

Source: `KafkaConfig.scala`, `ConfigDef.parse`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.broker_checks import ALL_CHECKS
from doorkeeper.rules.broker_config import base_name
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_schema import ConfigProblem, parse_value
from doorkeeper.rules.javatext import escape_for_display, split_list
from doorkeeper.rules.static_config import SCHEMA, StaticConfig, View, variable_providers
from doorkeeper.rules.verdict import Kind, RuleId, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_IDS: Final = frozenset(("node.id", "broker.id"))
_PLUGIN_PREFIXES: Final = ("listener.name.", "config.providers.", "metrics.jmx.", "rsm.config.", "rlmm.config.")
"""Names that go on with what Kafka passes to others."""
_AUTHORIZER_KEYS: Final = frozenset(("super.users", "allow.everyone.if.no.acl.found"))
"""What Kafka's own StandardAuthorizer reads beside the schema."""
_AUTHORIZER: Final = "authorizer.class.name"
_PROVIDERS: Final = "config.providers"
_CLOSE: Final = 0.8  # similarity from which a name counts as a slip of the pen


@dataclass(frozen=True, slots=True)
class PropertyViolation(Violation):
    """A fault of a server.properties, or a warning; `parameters` names the key, where it is one key's."""

    warning: bool = False
    """Whether Kafka would start all the same."""


def check_properties(static: Mapping[str, str]) -> list[PropertyViolation]:
    """Every fault of a server.properties, and a warning for every key that is not Kafka's or not heeded here."""
    return [
        *_missing(static),
        *_bad_values(static),
        *_broken_checks(static),
        *_unknown_keys(static),
        *_not_enforced(static),
    ]


def _violation(rule: RuleId, message: str, key: str = "", *, warning: bool = False) -> PropertyViolation:
    code = ErrorCode.INVALID_CONFIG
    parameters = {"key": key} if key else {}
    return PropertyViolation(rule, message, code, code, Kind.CONFIG_CHANGE, parameters, warning=warning)


def _missing(static: Mapping[str, str]) -> Iterator[PropertyViolation]:
    for key in SCHEMA.values():
        if key.required and key.name not in static and not (key.name in _IDS and _IDS & static.keys()):
            message = f'Missing required configuration "{key.name}" which has no default value.'
            yield _violation(RuleId.CONFIG_SERVER_PROPERTIES, message, key.name)


def _bad_values(static: Mapping[str, str]) -> Iterator[PropertyViolation]:
    known = set(split_list(static.get(_PROVIDERS, "")))
    for name, text in static.items():
        if asked := [provider for provider in variable_providers(text) if provider in known]:
            message = f"The value of {name} comes from config provider {', '.join(asked)} and is not judged"
            yield _violation(RuleId.CONFIG_VALUE_INVALID, message, name, warning=True)
            continue
        key = SCHEMA.get(base_name(name))
        parsed = parse_value(key, text) if key else None
        if key and isinstance(parsed, ConfigProblem):
            message = parsed.message.replace(text, "[hidden]") if key.sensitive and text else parsed.message
            yield _violation(RuleId.CONFIG_VALUE_INVALID, message, name)


def _broken_checks(static: Mapping[str, str]) -> Iterator[PropertyViolation]:
    """Cross-checks; one that reads a value which does not parse says nothing, for that was said before."""
    view = View(StaticConfig(static))
    said = set()
    for check in ALL_CHECKS:
        message = check.refusal(view)
        if message is not None and message not in said:
            said.add(message)
            yield _violation(check.rule, message.removeprefix("requirement failed: "))


def _unknown_keys(static: Mapping[str, str]) -> Iterator[PropertyViolation]:
    for name in static:
        if name in SCHEMA or name in _AUTHORIZER_KEYS or name.startswith(_PLUGIN_PREFIXES):
            continue
        near = get_close_matches(name, SCHEMA, n=1, cutoff=_CLOSE)
        hint = f"; did you mean {near[0]}?" if near else ""
        message = f"Unknown key {escape_for_display(name)}{hint}"
        yield _violation(RuleId.CONFIG_KEY_UNKNOWN, message, name, warning=True)


def _not_enforced(static: Mapping[str, str]) -> Iterator[PropertyViolation]:
    """Whoever sets an authorizer relies on it."""
    if static.get(_AUTHORIZER, "").strip():
        message = (
            f"{_AUTHORIZER} is set, but `doorkeeper serve` stores ACLs without enforcing them: every client may do "
            "everything. Only a real Kafka enforces them"
        )
        yield _violation(RuleId.CONFIG_SERVER_PROPERTIES, message, _AUTHORIZER, warning=True)
