"""The sets of broker keys by which Kafka decides where a key may be changed, and the levels of its features.

Facts read out of Kafka's jars (`facts/kafka-<version>/levels.json`; `DynamicBrokerConfig.java`, `SocketServer.java`,
`MetadataVersion.java`, `Feature.java`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.rules.config_schema import KAFKA_VERSION, load_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

JAVA_ANYTHING: Final = r"([^\n\r\u0085\u2028\u2029]*)"
"""What Java means by `(.*)`: its dot stops at more line ends than Python's."""


@dataclass(frozen=True, slots=True)
class Levels:
    """What a broker knows about its keys beyond types and ranges; picklable."""

    all_dynamic: frozenset[str]
    """Keys that may change while a broker runs, the replication quotas among them."""
    non_dynamic: frozenset[str]
    """Keys that only a restart changes."""
    dynamic_security: frozenset[str]
    """Keys that may change with a listener's prefix only."""
    per_broker: frozenset[str]
    """Keys that may not be changed for the whole cluster."""
    cluster_level_listener: frozenset[str]
    """Listener keys that may be changed for the whole cluster all the same."""
    listener_mechanism: frozenset[str]
    """Keys that may carry a listener's and a SASL mechanism's prefix."""
    listener_reconfigurable: frozenset[str]
    """Keys that may change on an existing listener (connection limits)."""
    acceptor_reconfigurable: frozenset[str]
    """Keys that may change on an existing listener (network threads)."""
    jmx_reporter: frozenset[str]
    """Keys that the JMX reporter listens to; they are no keys of the broker's own."""
    client_metrics_match: frozenset[str]
    """The words with which a client metrics subscription may match clients."""
    reconfigurable_groups: Mapping[str, frozenset[str]]
    """The parts of a broker that listen for changes, each with its keys."""
    listener_pattern: re.Pattern[str]
    """A key with a listener's prefix; the first group is the key without it (`base_name`)."""
    broker_synonyms: Mapping[str, tuple[str, ...]]
    """Keys that set one thing in several units, each with its whole family in order of precedence."""
    client_metrics_interval_ms: tuple[int, int]
    """The least and the greatest push interval of client metrics."""
    features: Mapping[str, Mapping[str, Any]]
    """Feature -> `min`, `max` and more."""

    def base_name(self, name: str) -> str | None:
        """Return what follows `listener.name.<listener>.`, or nothing for a key without such a prefix."""
        match = self.listener_pattern.fullmatch(name)
        return match[1] if match else None


@cache
def load_levels(kafka_version: str = KAFKA_VERSION) -> Levels:
    """Return the sets and levels of a Kafka version."""
    facts = load_facts("levels", kafka_version)
    sets = {name: frozenset(members) for name, members in facts["sets"].items()}
    interval = facts["client_metrics_interval_ms"]
    return Levels(
        all_dynamic=sets["all_dynamic"],
        non_dynamic=sets["non_dynamic"],
        dynamic_security=sets["dynamic_security"],
        per_broker=sets["per_broker"],
        cluster_level_listener=sets["cluster_level_listener"],
        listener_mechanism=sets["listener_mechanism"],
        listener_reconfigurable=sets["listener_reconfigurable"],
        acceptor_reconfigurable=sets["acceptor_reconfigurable"],
        jmx_reporter=sets["jmx_reporter"],
        client_metrics_match=sets["client_metrics_match"],
        reconfigurable_groups={name: frozenset(members) for name, members in facts["reconfigurable_groups"].items()},
        listener_pattern=re.compile(facts["listener_pattern"].replace("(.*)", JAVA_ANYTHING)),
        broker_synonyms={name: tuple(family) for name, family in facts["broker_synonyms"].items()},
        client_metrics_interval_ms=(interval["min"], interval["max"]),
        features=facts["features"],
    )
