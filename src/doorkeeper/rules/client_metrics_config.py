"""The judgement of a CLIENT_METRICS change: a subscription of KIP-714.

Source: `ClientMetricsConfigs.java` (validate, parseMatchingPatterns).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_levels import load_levels
from doorkeeper.rules.config_request import Refusal
from doorkeeper.rules.config_schema import CLIENT_METRICS, ConfigProblem, load_schema, parse_value
from doorkeeper.rules.java_pattern import is_java_pattern
from doorkeeper.rules.javatext import split_java, trim
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA: Final = load_schema(CLIENT_METRICS)
INTERVAL: Final = "interval.ms"
MATCH: Final = "match"
_LEVELS: Final = load_levels()


def refusal_of_client_metrics(name: str, proposed: Mapping[str, str]) -> Refusal | None:
    """Judge the resulting configs of a subscription."""
    if not name:
        return _request(RuleId.CONFIG_RESOURCE_NAME, "Subscription name can't be empty")
    for key in proposed:
        if key not in SCHEMA:
            return _request(RuleId.CONFIG_KEY_UNKNOWN, f"Unknown client metrics configuration: {key}")
    values = {}
    for key, text in sorted(proposed.items()):
        parsed = parse_value(SCHEMA[key], text)
        if isinstance(parsed, ConfigProblem):
            return Refusal(RuleId.CONFIG_VALUE_INVALID, ErrorCode.INVALID_CONFIG, parsed.message)
        values[key] = parsed
    interval = values.get(INTERVAL)
    least, most = _LEVELS.client_metrics_interval_ms
    if isinstance(interval, int) and not least <= interval <= most:
        text = f"Invalid value {interval} for {INTERVAL}, interval must be between {least} and {most} (1 hour)"
        return _request(RuleId.CONFIG_VALUE_INVALID, text)
    patterns = values.get(MATCH)
    return _refusal_of_patterns(patterns if isinstance(patterns, list) else [])


def _request(rule: RuleId, message: str) -> Refusal:
    return Refusal(rule, ErrorCode.INVALID_REQUEST, message)


def _refusal_of_patterns(patterns: list[str]) -> Refusal | None:
    for pattern in patterns:
        if not _is_lawful_pattern(pattern):
            message = f"Illegal client matching pattern: {pattern}"
            return Refusal(RuleId.CONFIG_CLIENT_MATCH, ErrorCode.INVALID_CONFIG, message)
    return None


def _is_lawful_pattern(pattern: str) -> bool:
    """`selector=regular expression`, with one equals sign."""
    parts = split_java(pattern, "=")
    if len(parts) != 2:
        return False
    return trim(parts[0]) in _LEVELS.client_metrics_match and is_java_pattern(trim(parts[1]))
