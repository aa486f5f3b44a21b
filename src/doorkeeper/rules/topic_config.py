"""The judgement of a TOPIC change, by the active controller's own configs.

Sources: `ControllerConfigurationValidator.scala`, `LogConfig.java` (validate and the validate* it calls),
`KafkaConfig.extractLogConfigMap`, `Topic.java`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_request import Refusal
from doorkeeper.rules.config_schema import TOPIC, ConfigProblem, default_value, load_schema, parse_value
from doorkeeper.rules.javatext import equals_ignore_case
from doorkeeper.rules.log_checks import (
    JITTER_KEYS,
    RETENTION_KEYS,
    ROLL_KEYS,
    retention_ms,
    roll_jitter_ms,
    roll_ms,
)
from doorkeeper.rules.names import MAX_NAME_LENGTH, check_topic_name
from doorkeeper.rules.reconfiguration import LIKE_RETENTION, UNLIMITED, local_retention_refusal
from doorkeeper.rules.static_config import UnknownStaticError
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.rules.config_schema import ConfigKey
    from doorkeeper.rules.config_text import ParsedValue
    from doorkeeper.rules.static_config import View

SCHEMA: Final = dict(load_schema(TOPIC))
REMOTE_SYSTEM: Final = "remote.log.storage.system.enable"
REMOTE: Final = "remote.storage.enable"
_COMBINED: Final = frozenset(
    (
        REMOTE,
        "min.compaction.lag.ms",
        "max.compaction.lag.ms",
        "remote.log.delete.on.disable",
        "remote.log.copy.disable",
    )
)
"""The keys without which no condition on several keys can fail in a topic that has no remote storage."""
_UNKNOWN: Final = "(unknown)"  # stands for a value that only the controller could tell
_FLUSH_KEYS: Final = frozenset(("log.flush.interval.ms", "log.flush.scheduler.interval.ms"))


def _flush_ms(controller: View) -> int:
    millis = controller.optional_integer("log.flush.interval.ms")
    return controller.integer("log.flush.scheduler.interval.ms") if millis is None else millis


_COMPUTED: Final[Mapping[str, tuple[frozenset[str], Callable[[View], int]]]] = {
    "segment.ms": (ROLL_KEYS, roll_ms),
    "segment.jitter.ms": (JITTER_KEYS, roll_jitter_ms),
    "retention.ms": (RETENTION_KEYS, retention_ms),
    "flush.ms": (_FLUSH_KEYS, _flush_ms),
}
"""Topic keys whose default the controller computes from several keys of its own."""


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """What a topic is without configs of its own, by the controller's configs; a key of unknown value is absent.

    A broker key may have a value that its topic key may not (`log.flush.interval.ms=-1`): then Kafka refuses every
    change of a topic that does not set that key itself.
    """

    values: Mapping[str, ParsedValue]
    problems: Mapping[str, str]
    has_remote_storage: bool | None
    """Whether tiered storage is on; None if unknown."""
    agree: bool
    """Whether the compaction lags agree: then no condition on several keys fails by the defaults alone."""


def topic_defaults(controller: View) -> TopicDefaults:
    """Work the defaults out, once for a controller (`extractLogConfigMap`)."""
    values, problems = {}, {}
    for key in SCHEMA.values():
        value = _default(key, controller)
        if value is _UNKNOWN:
            continue
        values[key.name] = value
        message = key.validator.refusal(key.name, value) if key.validator else None
        if message is not None:
            problems[key.name] = message
    try:
        remote = controller.admit(frozenset((REMOTE_SYSTEM,))).flag(REMOTE_SYSTEM)
    except UnknownStaticError:
        remote = None
    least, most = values.get("min.compaction.lag.ms"), values.get("max.compaction.lag.ms")
    agree = isinstance(least, int) and isinstance(most, int) and least <= most
    return TopicDefaults(values, problems, remote, agree)


def _default(key: ConfigKey, controller: View) -> ParsedValue:
    try:
        if key.name in _COMPUTED:
            reads, compute = _COMPUTED[key.name]
            return compute(controller.admit(reads))
        if not key.synonyms:
            return default_value(key)
        source = key.synonyms[0].name
        return controller.admit(frozenset((source,))).value(source)
    except UnknownStaticError:
        return _UNKNOWN


def refusal_of_topic_name(name: str) -> Refusal | None:
    """Judge the name, before all else; that of a topic which exists has been judged."""
    if not name:
        text = "Default topic resources are not allowed."
        return Refusal(RuleId.CONFIG_RESOURCE_NAME, ErrorCode.INVALID_REQUEST, text)
    violation = check_topic_name(name)
    return None if violation is None else Refusal(violation.rule, violation.code, _invalid_topic(name, violation.rule))


def is_lawful_alone(key: str, text: str, defaults: TopicDefaults) -> bool:
    """Whether this is surely lawful as the only config of a topic: by far the most common change, told fast."""
    known = SCHEMA.get(key)
    if known is None or key in _COMBINED or not defaults.agree or defaults.problems:
        return False
    return not isinstance(parse_value(known, text), ConfigProblem)


def refusal_of_topic(stored: Mapping[str, str], proposed: Mapping[str, str], defaults: TopicDefaults) -> Refusal | None:
    """Judge the resulting configs of a topic; whether the topic exists is asked last, by the caller."""
    for key in proposed:
        if key not in SCHEMA:
            return _invalid(RuleId.CONFIG_KEY_UNKNOWN, f"Unknown topic config name: {key}")
    for key, message in defaults.problems.items():
        if key not in proposed:
            return _invalid(RuleId.CONFIG_VALUE_INVALID, message)
    own: dict[str, ParsedValue] = {}
    for key, text in sorted(proposed.items()) if len(proposed) > 1 else proposed.items():
        parsed = parse_value(SCHEMA[key], text)
        if isinstance(parsed, ConfigProblem):
            return _invalid(RuleId.CONFIG_VALUE_INVALID, parsed.message)
        own[key] = parsed
    if defaults.agree and _COMBINED.isdisjoint(own) and REMOTE not in stored:
        return None
    return _refusal_of_values(TopicValues(own, defaults), stored)


def _invalid_topic(name: str, rule: RuleId) -> str:
    reasons = {
        RuleId.TOPIC_NAME_DOT: f"'{name}' is not allowed",
        RuleId.TOPIC_NAME_TOO_LONG: f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}",
        RuleId.TOPIC_NAME_ILLEGAL_CHARACTER: (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        ),
    }
    return f"Topic name is invalid: {reasons[rule]}"


def _invalid(rule: RuleId, message: str) -> Refusal:
    return Refusal(rule, ErrorCode.INVALID_CONFIG, message)


class TopicValues:
    """The effective values of a topic: its own, or else its defaults."""

    __slots__ = ("_defaults", "_own")

    def __init__(self, own: Mapping[str, ParsedValue], defaults: TopicDefaults) -> None:
        self._own = own
        self._defaults = defaults

    def value(self, key: str) -> ParsedValue:
        """The value of one key; raises UnknownStaticError if the controller's is not known."""
        if key in self._own:
            return self._own[key]
        if key not in self._defaults.values:
            raise UnknownStaticError(key)
        return self._defaults.values[key]

    def number(self, key: str) -> int:
        """A number."""
        value = self.value(key)
        assert isinstance(value, int)
        return value

    def flag(self, key: str) -> bool:
        """A boolean."""
        return self.value(key) is True

    @property
    def has_remote_storage(self) -> bool:
        """Whether tiered storage is on; if that is unknown it counts as on."""
        return self._defaults.has_remote_storage is not False


def _refusal_of_values(values: TopicValues, stored: Mapping[str, str]) -> Refusal | None:
    conditions = (_compaction_lags, *_REMOTE) if values.flag(REMOTE) else (_compaction_lags,)
    for condition in conditions:
        try:
            refusal = condition(values)
        except UnknownStaticError:
            continue
        if refusal is not None:
            return refusal
    return None if values.flag(REMOTE) else _turning_remote_storage_off(values, stored)


def _compaction_lags(values: TopicValues) -> Refusal | None:
    least, most = values.number("min.compaction.lag.ms"), values.number("max.compaction.lag.ms")
    if least <= most:
        return None
    message = f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
    return _invalid(RuleId.CONFIG_COMPACTION_LAG, message)


def _remote_system_is_on(values: TopicValues) -> Refusal | None:
    if values.has_remote_storage:
        return None
    message = (
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
    )
    return _invalid(RuleId.CONFIG_REMOTE_STORAGE, message)


def _remote_deletes(values: TopicValues) -> Refusal | None:
    if values.value("cleanup.policy") in ([], ["delete"]):
        return None
    message = (
        "Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list."
    )
    return _invalid(RuleId.CONFIG_REMOTE_STORAGE, message)


def _local_bytes(values: TopicValues) -> Refusal | None:
    total, local = values.number("retention.bytes"), values.number("local.retention.bytes")
    if total <= UNLIMITED or local == LIKE_RETENTION:
        return None
    message = local_retention_refusal("local.retention.bytes", local, "retention.bytes", total)
    return _invalid(RuleId.CONFIG_LOCAL_RETENTION, message) if message else None


def _local_ms(values: TopicValues) -> Refusal | None:
    total, local = values.number("retention.ms"), values.number("local.retention.ms")
    if total == UNLIMITED or local == LIKE_RETENTION:
        return None
    message = local_retention_refusal("local.retention.ms", local, "retention.ms", total)
    return _invalid(RuleId.CONFIG_LOCAL_RETENTION, message) if message else None


def _copy_disabled(values: TopicValues) -> Refusal | None:
    if not values.flag("remote.log.copy.disable"):
        return None
    for unit in ("bytes", "ms"):
        local = values.number(f"local.retention.{unit}")
        if local not in (LIKE_RETENTION, values.number(f"retention.{unit}")):
            message = (
                f"When `remote.log.copy.disable` is set to true, the `local.retention.{unit}` and `retention.{unit}` "
                "must be set to the identical value because there will be no more logs copied to the remote storage."
            )
            return _invalid(RuleId.CONFIG_REMOTE_STORAGE, message)
    return None


_REMOTE: Final = (_remote_system_is_on, _remote_deletes, _local_bytes, _local_ms, _copy_disabled)


def _turning_remote_storage_off(values: TopicValues, stored: Mapping[str, str]) -> Refusal | None:
    was_on = equals_ignore_case(stored.get(REMOTE, "false"), "true")
    if not was_on or values.flag("remote.log.delete.on.disable"):
        return None
    message = (
        "It is invalid to disable remote storage without deleting remote data. If you want to keep the remote data and "
        "turn to read only, please set `remote.storage.enable=true,remote.log.copy.disable=true`. If you want to "
        "disable remote storage and delete all remote data, please set "
        "`remote.storage.enable=false,remote.log.delete.on.disable=true`."
    )
    return _invalid(RuleId.CONFIG_REMOTE_STORAGE, message)
