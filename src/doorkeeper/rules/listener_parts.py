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


def _connection_limits(new: View, current: View, listener: str) -> str | None:
    """A listener whose limits change needs both of them above zero."""
    try:
        old, proposed = (
            [view.admit(READS, LISTENER_READS).listener_value(listener, key) for key in LIMITS]
            for view in (current, new)
        )
    except UnknownStaticError:
        return None
    if old == proposed:
        return None
    for key, value in zip(LIMITS, proposed, strict=True):
        if isinstance(value, int) and value <= 0:
            return f"Invalid {key} {value}"
    return None


def _network_threads(new: View, current: View, listener: str) -> str | None:
    try:
        old = current.admit(READS, LISTENER_READS).listener_value(listener, NETWORK_THREADS)
        proposed = new.admit(READS, LISTENER_READS).listener_value(listener, NETWORK_THREADS)
    except UnknownStaticError:
        return None
    assert isinstance(old, int)
    assert isinstance(proposed, int)
    return pool_refusal(NETWORK_THREADS, proposed, old)


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
