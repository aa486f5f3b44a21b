"""What the running listeners and the metrics reporters of a broker refuse; Kafka asks them before its other parts.

Sources: `DynamicBrokerConfig.scala` (processListenerReconfigurable, DynamicMetricsReporters), `SocketServer.scala`
(DataPlaneAcceptor, ListenerConnectionQuota), `AbstractConfig.valuesWithPrefixOverride`, `JmxReporter`,
`KafkaYammerMetrics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_levels import load_levels
from doorkeeper.rules.config_request import Refusal
from doorkeeper.rules.config_schema import parse_value
from doorkeeper.rules.java_pattern import is_java_pattern
from doorkeeper.rules.listener_config import LISTENER_KEYS, bad_listener_value, broker_endpoints
from doorkeeper.rules.reconfiguration import pool_refusal, wrapped
from doorkeeper.rules.static_config import SCHEMA, UnknownStaticError, UnlawfulError, View
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NETWORK_THREADS: Final = "num.network.threads"
LIMITS: Final = ("max.connections", "max.connection.creation.rate")
LISTENER_READS: Final = frozenset((NETWORK_THREADS, *LIMITS))
READS: Final = LISTENER_KEYS | LISTENER_READS
REPORTERS: Final = "metric.reporters"
JMX_KEYS: Final = load_levels().jmx_reporter


def first_refusal(
    new: View, current: View, changed: frozenset[str], class_exists: Callable[[str], bool]
) -> Refusal | None:
    """The first objection of a running listener or reporter to the new configuration."""
    for rule, message in _objections(new, current, changed, class_exists):
        if message is not None:
            return Refusal(rule, ErrorCode.INVALID_REQUEST, wrapped(message))
    return None


def _objections(
    new: View, current: View, changed: frozenset[str], class_exists: Callable[[str], bool]
) -> Iterator[tuple[RuleId, str | None]]:
    if new.prefixed or current.prefixed or not LISTENER_READS.isdisjoint(changed):
        for listener in _running_listeners(current):
            yield RuleId.CONFIG_VALUE_INVALID, bad_listener_value(new, listener, class_exists)
            yield RuleId.CONFIG_CONNECTION_LIMITS, _connection_limits(new, current, listener)
            yield RuleId.CONFIG_THREAD_POOL, _network_threads(new, current, listener)
    if not changed.isdisjoint(JMX_KEYS):
        yield RuleId.CONFIG_VALUE_INVALID, _jmx_filters(new)
    if REPORTERS in changed:
        yield RuleId.CONFIG_CLASS, _reporters(new, changed, class_exists)


def _running_listeners(current: View) -> list[str]:
    try:
        return [endpoint.listener for endpoint in broker_endpoints(current.admit(READS, LISTENER_READS))]
    except (UnknownStaticError, UnlawfulError):
        return []


def _number(view: View, listener: str, key: str) -> int | None:
    """A listener's number; None if only the broker could tell."""
    try:
        value = view.admit(READS, LISTENER_READS).listener_value(listener, key)
    except UnknownStaticError:
        return None
    assert isinstance(value, int)
    return value


def _connection_limits(new: View, current: View, listener: str) -> str | None:
    """A listener whose limits change needs both of them above zero."""
    proposed = [_number(new, listener, key) for key in LIMITS]
    if min(limit for limit in (*proposed, 1) if limit is not None) > 0:
        return None
    if proposed == [_number(current, listener, key) for key in LIMITS]:
        return None
    return next(f"Invalid {key} {limit}" for key, limit in zip(LIMITS, proposed, strict=True) if limit == 0)


def _network_threads(new: View, current: View, listener: str) -> str | None:
    proposed, running = (_number(view, listener, NETWORK_THREADS) for view in (new, current))
    return None if proposed is None or running is None else pool_refusal(NETWORK_THREADS, proposed, running)


def _jmx_filters(new: View) -> str | None:
    if all(is_java_pattern(text) for key in JMX_KEYS if (text := new.overrides.get(key)) is not None):
        return None
    return "JMX filter for configurationmetrics.jmx..(include/exclude) is not a valid regular expression"


def _reporters(new: View, changed: frozenset[str], class_exists: Callable[[str], bool]) -> str | None:
    reporters = parse_value(SCHEMA[REPORTERS], new.overrides.get(REPORTERS, ""))
    if not isinstance(reporters, list) or all(map(class_exists, reporters)):
        return None
    names = ", ".join(sorted(changed))
    part = "class kafka.server.DynamicMetricsReporters"
    return f"Validation of dynamic config update of Set({names}) failed with class {part}"
