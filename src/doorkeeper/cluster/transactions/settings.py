"""What a broker's configs say about transactions. From Kafka's TransactionStateManagerConfig."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

MINUTE_MS: Final = 60_000
DAY_MS: Final = 24 * 60 * MINUTE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    max_timeout_ms: int = 15 * MINUTE_MS
    id_expiration_ms: int = 7 * DAY_MS
    abort_interval_ms: int = 10_000
    """How often Kafka looks for transactions that have timed out."""
    expiration_interval_ms: int = 60 * MINUTE_MS
    """How often Kafka looks for transactional ids that have expired."""


KEYS: Final = {
    "transaction.max.timeout.ms": "max_timeout_ms",
    "transactional.id.expiration.ms": "id_expiration_ms",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "abort_interval_ms",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "expiration_interval_ms",
}


def settings_from_config(values: Mapping[str, Any]) -> TransactionSettings:
    """Settings from a broker's parsed configs; keys that are missing keep their defaults."""
    return TransactionSettings(**{name: values[key] for key, name in KEYS.items() if key in values})
