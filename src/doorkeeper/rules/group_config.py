"""The judgement of a GROUP change, by the active controller's static bounds.

Sources: `ControllerConfigurationValidator.scala`, `GroupConfig.java` (validate),
`GroupCoordinatorConfig.extractGroupConfigMap`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_request import Refusal
from doorkeeper.rules.config_schema import GROUP, ConfigProblem, default_value, load_schema, parse_value
from doorkeeper.rules.static_config import UnknownStaticError
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from doorkeeper.rules.static_config import StaticConfig

SCHEMA: Final = load_schema(GROUP)
KINDS: Final = ("consumer", "share", "streams")
_NOT_DEFAULTED: Final = "assignment.interval.ms"
"""Keys whose bounds count only when the group itself sets them (KAFKA-20337)."""


def _bounds() -> Iterator[tuple[str, str | None, str]]:
    """Group key, the broker key that is its least value, the one that is its greatest; in Kafka's order."""
    for kind in KINDS:
        for what in ("heartbeat.interval.ms", "session.timeout.ms"):
            yield f"{kind}.{what}", f"group.{kind}.min.{what}", f"group.{kind}.max.{what}"
        if kind == "share":
            for what in ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"):
                yield f"share.{what}", f"group.share.min.{what}", f"group.share.max.{what}"
        if kind == "streams":
            yield "streams.num.standby.replicas", None, "group.streams.max.standby.replicas"
        what = _NOT_DEFAULTED
        yield f"{kind}.{what}", f"group.{kind}.min.{what}", f"group.{kind}.max.{what}"


BOUNDS: Final = tuple(_bounds())


def refusal_of_group(name: str, proposed: Mapping[str, str], controller: StaticConfig) -> Refusal | None:
    """Judge the resulting configs of a group."""
    if not name:
        text = "Default group resources are not allowed."
        return Refusal(RuleId.CONFIG_RESOURCE_NAME, ErrorCode.INVALID_REQUEST, text)
    for key in proposed:
        if key not in SCHEMA:
            return _invalid(RuleId.CONFIG_KEY_UNKNOWN, f"Unknown group config name: {key}")
    for key, text in sorted(proposed.items()):
        parsed = parse_value(SCHEMA[key], text)
        if isinstance(parsed, ConfigProblem):
            return _invalid(RuleId.CONFIG_VALUE_INVALID, parsed.message)
    return _refusal_of_bounds(proposed, controller)


def _invalid(rule: RuleId, message: str) -> Refusal:
    return Refusal(rule, ErrorCode.INVALID_CONFIG, message)


def _value(key: str, proposed: Mapping[str, str], controller: StaticConfig) -> int:
    """The group's own value, or else the controller's default for all groups."""
    text = proposed.get(key)
    synonyms = SCHEMA[key].synonyms
    if text is not None:
        value = parse_value(SCHEMA[key], text)
    else:
        value = controller.value(synonyms[0].name) if synonyms else default_value(SCHEMA[key])
    assert isinstance(value, int)
    return value


def _bound(key: str, controller: StaticConfig) -> int:
    value = controller.value(key)
    assert isinstance(value, int)
    return value


def _refusal_of_bounds(proposed: Mapping[str, str], controller: StaticConfig) -> Refusal | None:
    """Where the defaults agree among themselves, and that is known, only what the group sets can break a bound."""
    if _DEFAULTS_AGREE not in controller.memo:
        controller.memo[_DEFAULTS_AGREE] = _first_broken(BOUNDS, KINDS, {}, controller) is None
    if not controller.memo[_DEFAULTS_AGREE]:
        return _first_broken(BOUNDS, KINDS, proposed, controller)
    kinds = {key.partition(".")[0] for key in proposed}
    touched = [bound for bound in BOUNDS if bound[0] in proposed]
    return _first_broken(touched, [kind for kind in KINDS if kind in kinds], proposed, controller)


_DEFAULTS_AGREE: Final = "whether the default configs of groups are within their bounds"


def _first_broken(
    bounds: Iterable[tuple[str, str | None, str]],
    kinds: Iterable[str],
    proposed: Mapping[str, str],
    controller: StaticConfig,
) -> Refusal | None:
    for key, least, most in bounds:
        if key.endswith(_NOT_DEFAULTED) and key not in proposed:
            continue
        try:
            message = _out_of_bounds(key, least, most, proposed, controller)
        except UnknownStaticError:
            continue
        if message is not None:
            return _invalid(RuleId.CONFIG_GROUP_BOUNDS, message)
    for kind in kinds:
        message = _session_within_heartbeat(kind, proposed, controller)
        if message is not None:
            return _invalid(RuleId.CONFIG_GROUP_BOUNDS, message)
    return None


def _out_of_bounds(
    key: str, least: str | None, most: str, proposed: Mapping[str, str], controller: StaticConfig
) -> str | None:
    value = _value(key, proposed, controller)
    if least is not None and value < _bound(least, controller):
        return f"{key} must be greater than or equal to {least}"
    return f"{key} must be less than or equal to {most}" if value > _bound(most, controller) else None


def _session_within_heartbeat(kind: str, proposed: Mapping[str, str], controller: StaticConfig) -> str | None:
    session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
    try:
        lawful = _value(session, proposed, controller) > _value(heartbeat, proposed, controller)
    except UnknownStaticError:
        return None
    return None if lawful else f"{session} must be greater than {heartbeat}"
