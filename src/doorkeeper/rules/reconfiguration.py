"""What the running parts of a broker refuse: each is asked when one of its keys changes, and compares new with current.

Kafka asks the parts after the whole configuration was found lawful, and wraps what they say in one more exception.

Sources: `DynamicBrokerConfig.scala` (processReconfiguration and the Dynamic* classes), `DynamicThreadPool`,
`SocketServer.scala` (DataPlaneAcceptor, ListenerConnectionQuota), `LogCleaner.validateReconfiguration`. Not judged: the
contents of key stores, which only the broker can read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.config_levels import load_levels
from doorkeeper.rules.config_text import invalid_value
from doorkeeper.rules.listener_config import (
    ADVERTISED_KEYS,
    advertised_broker_endpoints,
    endpoints,
    names_of,
    security_protocols,
)
from doorkeeper.rules.log_checks import CLEANER_THREADS, RETENTION_KEYS, retention_ms
from doorkeeper.rules.static_config import LISTENER_PREFIX, UnknownStaticError, View
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Callable

LEVELS: Final = load_levels()
GROUPS: Final = LEVELS.reconfigurable_groups
LOCAL_MS: Final = "log.local.retention.ms"
LOCAL_BYTES: Final = "log.local.retention.bytes"
RETENTION_BYTES: Final = "log.retention.bytes"
FOLLOWER_POOL: Final = "remote.log.manager.follower.thread.pool.size"
OLD_POOL: Final = "remote.log.manager.thread.pool.size"
REMOTE_POOLS: Final = (
    "remote.log.reader.threads",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    FOLLOWER_POOL,
)
CLEANER_ENABLE: Final = "log.cleaner.enable"
UNLIMITED: Final = -1  # retention: for ever
LIKE_RETENTION: Final = -2  # local retention: as the log's own
_INT_BITS: Final = 32
_THREAD_POOLS: Final = sorted(GROUPS["thread_pool"])


@dataclass(frozen=True, slots=True)
class Part:
    """One running part of a broker: its keys, what it reads, and what it says to a new configuration."""

    rule: RuleId
    triggers: frozenset[str]
    reads: frozenset[str]
    judge: Callable[[View, View], str | None]
    stateless: bool = False
    """Whether it looks at the new configuration only."""

    def refusal(self, new: View, current: View) -> str | None:
        """Kafka's message, or nothing."""
        try:
            return self.judge(new.admit(self.reads), current.admit(self.reads))
        except UnknownStaticError:
            return None


def pool_refusal(key: str, new: int, old: int) -> str | None:
    """No pool may shrink below half, rounded down, or grow beyond double, in Java's arithmetic."""
    if new == old:
        return None
    failed = f"Dynamic thread count update validation failed for {key}={new}"
    if new < old // 2:
        return f"{failed}, value should be at least half the current value {old}"
    if new > _int32(old * 2):
        return f"{failed}, value should not be greater than double the current value {old}"
    return None


def _int32(number: int) -> int:
    """Wrap as Java's int does."""
    half = 1 << (_INT_BITS - 1)
    return (number + half) % (1 << _INT_BITS) - half


def _thread_pools(new: View, current: View) -> str | None:
    for key in _THREAD_POOLS:
        try:
            message = pool_refusal(key, new.integer(key), current.integer(key))
        except UnknownStaticError:
            continue
        if message:
            return message
    return None


def _local_retention_ms(new: View, _current: View) -> str | None:
    local = new.integer(LOCAL_MS)
    if local == LIKE_RETENTION:
        return None
    total = retention_ms(new)
    if total == UNLIMITED:
        return None
    return local_retention_refusal(LOCAL_MS, local, "log.retention.ms", total)


def _local_retention_bytes(new: View, _current: View) -> str | None:
    local = new.integer(LOCAL_BYTES)
    if local == LIKE_RETENTION:
        return None
    total = new.integer(RETENTION_BYTES)
    if total <= UNLIMITED:
        return None
    return local_retention_refusal(LOCAL_BYTES, local, RETENTION_BYTES, total)


def local_retention_refusal(local_key: str, local: int, key: str, total: int) -> str | None:
    """What is kept locally is a part of what is kept."""
    if local == UNLIMITED:
        return invalid_value(local_key, local, f"Value must not be -1 as {key} value is set as {total}.")
    if local > total:
        return invalid_value(local_key, local, f"Value must not be more than {key} property value: {total}")
    return None


def _listeners(new: View, current: View) -> str | None:
    if not new.prefixed and ADVERTISED_KEYS.isdisjoint(new.overrides) and ADVERTISED_KEYS.isdisjoint(current.overrides):
        return None  # nothing about the listeners themselves changes
    listeners = names_of(endpoints(new))
    advertised = names_of(advertised_broker_endpoints(current))
    if not advertised <= listeners:
        return f"Advertised listeners '{_show(advertised)}' must be a subset of listeners '{_show(listeners)}'"
    old_protocols, new_protocols = security_protocols(current), security_protocols(new)
    for listener in sorted(listeners & names_of(endpoints(current))):
        if _touches_fixed_keys(new, listener):
            return (
                f"Configs cannot be updated dynamically for existing listener ListenerName({listener}), "
                "restart broker or create a new listener for update"
            )
        if old_protocols.get(listener) != new_protocols.get(listener):
            return f"Security protocol cannot be updated for existing listener ListenerName({listener})"
    return None


def _show(listeners: frozenset[str]) -> str:
    return f"Set({', '.join(f'ListenerName({listener})' for listener in sorted(listeners))})"


def _touches_fixed_keys(new: View, listener: str) -> bool:
    """Whether a key of an existing listener that only a restart changes differs from server.properties.

    Kafka compares with the static configs, not with the dynamic ones in force: once such a key was stored, no later
    change of a listener key passes.
    """
    prefix = f"{LISTENER_PREFIX}{listener.lower()}."
    free = LEVELS.dynamic_security | LEVELS.listener_reconfigurable | LEVELS.acceptor_reconfigurable
    return any(
        key.startswith(prefix) and key.removeprefix(prefix) not in free and new.static.text(key) != text
        for key, text in new.prefixed.items()
    )


def _remote_log(new: View, current: View) -> str | None:
    for key in REMOTE_POOLS:
        try:
            message = pool_refusal(key, new.integer(key), _remote_pool_size(current, key))
        except UnknownStaticError:
            continue
        if message:
            return message
    return None


def _remote_pool_size(current: View, key: str) -> int:
    """The size in force; the follower pool still answers to its old key."""
    return current.integer(OLD_POOL if key == FOLLOWER_POOL and not current.is_set(key) else key)


def _cleaner(new: View, current: View) -> str | None:
    if not current.flag(CLEANER_ENABLE):
        return None
    threads, running = new.integer(CLEANER_THREADS), current.integer(CLEANER_THREADS)
    failed = "Log cleaner threads cannot be"
    if threads < running // 2:
        return f"{failed} reduced to less than half the current value {running}"
    if threads > _int32(running * 2):
        return f"{failed} increased to more than double the current value {running}"
    return None


PARTS: Final = (
    Part(RuleId.CONFIG_THREAD_POOL, GROUPS["thread_pool"], GROUPS["thread_pool"], _thread_pools),
    Part(
        RuleId.CONFIG_LOCAL_RETENTION, GROUPS["log"], RETENTION_KEYS | {LOCAL_MS}, _local_retention_ms, stateless=True
    ),
    Part(
        RuleId.CONFIG_LOCAL_RETENTION,
        GROUPS["log"],
        frozenset((LOCAL_BYTES, RETENTION_BYTES)),
        _local_retention_bytes,
        stateless=True,
    ),
    Part(RuleId.CONFIG_LISTENERS, GROUPS["listener"], ADVERTISED_KEYS, _listeners),
    Part(RuleId.CONFIG_THREAD_POOL, GROUPS["remote_log"], frozenset((*REMOTE_POOLS, OLD_POOL)), _remote_log),
    Part(RuleId.CONFIG_CLEANER_THREADS, GROUPS["cleaner"], frozenset((CLEANER_ENABLE, CLEANER_THREADS)), _cleaner),
)
"""In Kafka's order. The producer-state manager's own check can't fail: the range of its key comes first."""


def wrapped(message: str) -> str:
    """As `processReconfiguration` passes on what a part said: an exception inside another's message."""
    inner = f"org.apache.kafka.common.config.ConfigException: {message}"
    return f"Invalid value {inner} for configuration Invalid dynamic configuration"
