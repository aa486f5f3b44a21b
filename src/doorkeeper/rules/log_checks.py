"""What must hold among the keys of logs and of the log cleaner.

Sources: `KafkaConfig.scala` (logRetentionTimeMillis, logRollTimeMillis, validateValues, validateCordonedLogDirs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.listener_checks import ROLES, roles
from doorkeeper.rules.static_config import Check, View
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Callable

MILLIS_PER_MINUTE: Final = 60_000
MILLIS_PER_HOUR: Final = 3_600_000
MEBIBYTE: Final = 1024 * 1024

ROLL_KEYS: Final = frozenset(("log.roll.ms", "log.roll.hours"))
JITTER_KEYS: Final = frozenset(("log.roll.jitter.ms", "log.roll.jitter.hours"))
RETENTION_KEYS: Final = frozenset(("log.retention.ms", "log.retention.minutes", "log.retention.hours"))
LOG_DIR_KEYS: Final = frozenset(("log.dirs", "log.dir"))
CORDONED: Final = "cordoned.log.dirs"
ALL_DIRS: Final = "*"
CLEANER_THREADS: Final = "log.cleaner.threads"
CLEANER_BUFFER: Final = "log.cleaner.dedupe.buffer.size"
_FAILED: Final = "requirement failed: "


def roll_ms(view: View) -> int:
    """The time after which a segment is rolled (`logRollTimeMillis`)."""
    millis = view.optional_integer("log.roll.ms")
    return view.integer("log.roll.hours") * MILLIS_PER_HOUR if millis is None else millis


def roll_jitter_ms(view: View) -> int:
    """The spread of that time (`logRollTimeJitterMillis`)."""
    millis = view.optional_integer("log.roll.jitter.ms")
    return view.integer("log.roll.jitter.hours") * MILLIS_PER_HOUR if millis is None else millis


def retention_ms(view: View) -> int:
    """How long logs are kept; -1 for ever (`logRetentionTimeMillis`)."""
    millis = view.optional_integer("log.retention.ms")
    if millis is None:
        minutes = view.optional_integer("log.retention.minutes")
        millis = (
            view.integer("log.retention.hours") * MILLIS_PER_HOUR if minutes is None else minutes * MILLIS_PER_MINUTE
        )
    return max(millis, -1)


def log_dirs(view: View) -> list[str]:
    """Where the logs are."""
    dirs = view.optional_items("log.dirs")
    return view.items("log.dir") if dirs is None else dirs


def _roll(view: View) -> str | None:
    return None if roll_ms(view) >= 1 else f"{_FAILED}log.roll.ms must be greater than or equal to 1"


def _roll_jitter(view: View) -> str | None:
    return None if roll_jitter_ms(view) >= 0 else f"{_FAILED}log.roll.jitter.ms must be greater than or equal to 0"


def _retention(view: View) -> str | None:
    if retention_ms(view) != 0:
        return None
    return f"{_FAILED}log.retention.ms must be unlimited (-1) or, greater than or equal to 1"


def _cleaner_buffer(view: View) -> str | None:
    threads = view.integer(CLEANER_THREADS)
    if threads == 0:
        return "/ by zero"
    if _divide(view.integer(CLEANER_BUFFER), threads) > MEBIBYTE:
        return None
    return f"{_FAILED}log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."


def _divide(dividend: int, divisor: int) -> int:
    """Java's division, which rounds towards zero; the divisor is positive."""
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


def _cordoned(view: View) -> str | None:
    if "broker" not in roles(view):
        return None
    cordoned = view.items(CORDONED)
    if ALL_DIRS in cordoned:
        if len(cordoned) == 1:
            return None
        return f"{_FAILED}When {CORDONED} is set to {ALL_DIRS}, it must not contain other values"
    known = log_dirs(view) if cordoned else []
    missing = [entry for entry in cordoned if entry not in known]
    if not missing:
        return None
    return (
        f"{_FAILED}All entries in {CORDONED} must be present in log.dirs or log.dir. "
        f"Missing entries : {', '.join(missing)}"
    )


def _check(rule: RuleId, reads: frozenset[str], judge: Callable[[View], str | None]) -> Check:
    return Check(rule, reads, judge)


LOG_CHECKS: Final = (
    _check(RuleId.CONFIG_LOG_ROLL, ROLL_KEYS, _roll),
    _check(RuleId.CONFIG_LOG_ROLL, JITTER_KEYS, _roll_jitter),
    _check(RuleId.CONFIG_RETENTION, RETENTION_KEYS, _retention),
    _check(RuleId.CONFIG_CLEANER_BUFFER, frozenset((CLEANER_THREADS, CLEANER_BUFFER)), _cleaner_buffer),
)
CORDONED_CHECKS: Final = (_check(RuleId.CONFIG_CORDONED_LOG_DIRS, LOG_DIR_KEYS | {CORDONED, ROLES}, _cordoned),)
