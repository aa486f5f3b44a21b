"""The configuration of groups, as a broker has it, and what single groups override."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

MILLISECONDS_A_MINUTE: Final = 60_000
MAX_INT: Final = 2**31 - 1
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * MILLISECONDS_A_MINUTE
"""How long a new classic member may wait in a join phase without a heartbeat (Kafka has no key for it)."""


class MigrationPolicy(Enum):
    """`group.consumer.migration.policy`: which online conversions between the protocols are allowed."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def allows_upgrade(self) -> bool:
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def allows_downgrade(self) -> bool:
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Broker configs that the coordinator reads; the defaults are those of Kafka 4.3.1."""

    classic_min_session_timeout_ms: int = 6_000
    classic_max_session_timeout_ms: int = 1_800_000
    classic_initial_rebalance_delay_ms: int = 3_000
    classic_max_size: int = MAX_INT
    consumer_session_timeout_ms: int = 45_000
    consumer_min_session_timeout_ms: int = 45_000
    consumer_max_session_timeout_ms: int = 60_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_min_heartbeat_interval_ms: int = 5_000
    consumer_max_heartbeat_interval_ms: int = 15_000
    consumer_assignment_interval_ms: int = 1_000
    consumer_min_assignment_interval_ms: int = 0
    consumer_max_assignment_interval_ms: int = 15_000
    consumer_max_size: int = MAX_INT
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    """The first is the default."""
    consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    consumer_regex_refresh_interval_ms: int = 600_000
    offset_metadata_max: int = 4_096
    """UTF-16 code units, whatever its key says."""
    offsets_retention_ms: int = 10_080 * MILLISECONDS_A_MINUTE
    offsets_retention_check_interval_ms: int = 600_000


KEYS: Final[Mapping[str, str]] = {
    "group.min.session.timeout.ms": "classic_min_session_timeout_ms",
    "group.max.session.timeout.ms": "classic_max_session_timeout_ms",
    "group.initial.rebalance.delay.ms": "classic_initial_rebalance_delay_ms",
    "group.max.size": "classic_max_size",
    "group.consumer.session.timeout.ms": "consumer_session_timeout_ms",
    "group.consumer.min.session.timeout.ms": "consumer_min_session_timeout_ms",
    "group.consumer.max.session.timeout.ms": "consumer_max_session_timeout_ms",
    "group.consumer.heartbeat.interval.ms": "consumer_heartbeat_interval_ms",
    "group.consumer.min.heartbeat.interval.ms": "consumer_min_heartbeat_interval_ms",
    "group.consumer.max.heartbeat.interval.ms": "consumer_max_heartbeat_interval_ms",
    "group.consumer.assignment.interval.ms": "consumer_assignment_interval_ms",
    "group.consumer.min.assignment.interval.ms": "consumer_min_assignment_interval_ms",
    "group.consumer.max.assignment.interval.ms": "consumer_max_assignment_interval_ms",
    "group.consumer.max.size": "consumer_max_size",
    "group.consumer.regex.refresh.interval.ms": "consumer_regex_refresh_interval_ms",
    "offset.metadata.max.bytes": "offset_metadata_max",
    "offsets.retention.check.interval.ms": "offsets_retention_check_interval_ms",
}
"""Broker keys whose parsed value is a field as it stands."""


def settings_from_config(values: Mapping[str, Any]) -> GroupSettings:
    """Settings from a broker's parsed configs; keys that are missing keep their defaults."""
    chosen: dict[str, Any] = {name: values[key] for key, name in KEYS.items() if key in values}
    if "offsets.retention.minutes" in values:
        chosen["offsets_retention_ms"] = values["offsets.retention.minutes"] * MILLISECONDS_A_MINUTE
    if "group.consumer.assignors" in values:
        chosen["consumer_assignors"] = tuple(values["group.consumer.assignors"])
    if "group.consumer.migration.policy" in values:
        chosen["consumer_migration_policy"] = MigrationPolicy(values["group.consumer.migration.policy"].lower())
    return GroupSettings(**chosen)


def _clamp(value: int, lowest: int, highest: int) -> int:
    return max(lowest, min(value, highest))


@dataclass(frozen=True, slots=True)
class GroupConfigs:
    """Settings in force for each group: the broker's, and over them the dynamic configs of the group (GroupConfig).

    A value out of the broker's bounds is moved to the nearer bound, as Kafka does since the bounds may have changed
    after the value was accepted.
    """

    settings: GroupSettings = field(default_factory=GroupSettings)
    overrides: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def session_timeout_ms(self, group_id: str) -> int:
        limits = (self.settings.consumer_min_session_timeout_ms, self.settings.consumer_max_session_timeout_ms)
        return self._get(group_id, "consumer.session.timeout.ms", self.settings.consumer_session_timeout_ms, limits)

    def heartbeat_interval_ms(self, group_id: str) -> int:
        limits = (self.settings.consumer_min_heartbeat_interval_ms, self.settings.consumer_max_heartbeat_interval_ms)
        default = self.settings.consumer_heartbeat_interval_ms
        return self._get(group_id, "consumer.heartbeat.interval.ms", default, limits)

    def assignment_interval_ms(self, group_id: str) -> int:
        limits = (self.settings.consumer_min_assignment_interval_ms, self.settings.consumer_max_assignment_interval_ms)
        default = self.settings.consumer_assignment_interval_ms
        return self._get(group_id, "consumer.assignment.interval.ms", default, limits)

    def _get(self, group_id: str, key: str, default: int, limits: tuple[int, int]) -> int:
        value = self.overrides.get(group_id, {}).get(key)
        return default if value is None else _clamp(value, *limits)
