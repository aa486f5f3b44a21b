"""The static configurations under which Kafka and the rulebook are compared, and the contexts that stand for them.

Ports and folders differ from run to run: in properties, changes and messages they are written `@BROKER@`,
`@CONTROLLER@` and `@DATA@`. The oracle puts the real ones in, the vectors and the rulebook fixed ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from doorkeeper.rules.config_change import BrokerContext, BrokerDoor, Context, Features, ResourceType

if TYPE_CHECKING:
    from collections.abc import Mapping

TOPIC, OTHER_TOPIC = "orders", "payments"
LOGGERS = frozenset(("root",))
"""The only logger that the oracle's log configuration names."""
PLACES: Mapping[str, str] = {"@BROKER@": "39092", "@CONTROLLER@": "39093", "@DATA@": "/data-of-one"}
"""What stands for the places where no Kafka runs."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to run a single broker and its controller."""

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)
    """The broker's, on top of the plain ones."""
    controller_properties: Mapping[str, str] | None = None
    """The controller's own, if it is a node of its own."""
    format_arguments: tuple[str, ...] = ()
    features: Features = field(default_factory=Features)

    @property
    def is_combined(self) -> bool:
        """Whether broker and controller are one node."""
        return self.controller_properties is None

    @property
    def dynamic(self) -> dict[tuple[ResourceType, str], Mapping[str, str]]:
        """What is stored from the start: with ELR on, Kafka writes the controller's min ISR down for the cluster."""
        if not self.features.elr_enabled:
            return {}
        min_isr = self.controller_static().get("min.insync.replicas", "1")
        return {(ResourceType.BROKER, ""): {"min.insync.replicas": min_isr}}

    def broker_static(self) -> dict[str, str]:
        """The broker's server.properties, as far as they matter, with places."""
        listeners = "PLAINTEXT://127.0.0.1:@BROKER@"
        roles = "broker"
        if self.is_combined:
            listeners += ",CONTROLLER://127.0.0.1:@CONTROLLER@"
            roles += ",controller"
        return _plain("1", roles, listeners) | dict(self.properties)

    def controller_static(self) -> dict[str, str]:
        """The controller's server.properties, with places."""
        if self.controller_properties is None:
            return self.broker_static()
        plain = _plain("100", "controller", "CONTROLLER://127.0.0.1:@CONTROLLER@")
        return plain | dict(self.controller_properties)


def _plain(node_id: str, roles: str, listeners: str) -> dict[str, str]:
    voter = "1" if "," in roles else "100"
    return {
        "node.id": node_id,
        "process.roles": roles,
        "listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"{voter}@127.0.0.1:@CONTROLLER@",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": "@DATA@",
    }


def fill(text: str, places: Mapping[str, str]) -> str:
    """Put real things in for places."""
    for place, thing in places.items():
        text = text.replace(place, thing)
    return text


def fill_all(texts: Mapping[str, str], places: Mapping[str, str]) -> dict[str, str]:
    """Put real things in for places in all values."""
    return {key: fill(text, places) for key, text in texts.items()}


def context_of(
    configuration: Configuration, dynamic: Mapping[tuple[ResourceType, str], Mapping[str, str]] | None = None
) -> Context:
    """What the rulebook is told about this Kafka, at its broker's door."""
    return Context(
        brokers={1: BrokerContext(fill_all(configuration.broker_static(), PLACES))},
        controller_static=fill_all(configuration.controller_static(), PLACES),
        dynamic=configuration.dynamic if dynamic is None else dynamic,
        topics=frozenset((TOPIC, OTHER_TOPIC)),
        door=BrokerDoor(1),
        features=configuration.features,
        loggers=LOGGERS,
    )


_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b" user_a="b";'

CONFIGURATIONS: Mapping[str, Configuration] = {
    configuration.name: configuration
    for configuration in (
        Configuration("plain"),
        Configuration(
            "pools",
            {
                "num.io.threads": "4",
                "num.network.threads": "5",
                "listener.name.plaintext.num.network.threads": "7",
                "num.replica.fetchers": "3",
                "background.threads": "7",
                "num.recovery.threads.per.data.dir": "1",
                "log.cleaner.threads": "3",
                "log.cleaner.dedupe.buffer.size": "12582912",
                "remote.log.manager.thread.pool.size": "8",
                "remote.log.reader.threads": "3",
                "remote.log.manager.copier.thread.pool.size": "1",
            },
        ),
        Configuration(
            "retention",
            {
                "log.retention.minutes": "10",
                "log.retention.bytes": "5000000",
                "log.local.retention.ms": "300000",
                "log.local.retention.bytes": "4000000",
                "log.roll.hours": "2",
                "log.roll.jitter.hours": "1",
                "log.cleaner.min.compaction.lag.ms": "1000",
                "log.cleaner.max.compaction.lag.ms": "2000",
                "log.cleanup.policy": "compact",
                "log.dirs": "@DATA@,@DATA@-second",
                "max.connections.per.ip": "0",
                "max.connections.per.ip.overrides": "127.0.0.1:200,::1:5",
                "min.insync.replicas": "2",
            },
            format_arguments=("--feature", "eligible.leader.replicas.version=0"),
            features=Features(eligible_leader_replicas_version=0),
        ),
        Configuration(
            "listeners",
            {
                "listeners": (
                    "PLAINTEXT://127.0.0.1:@BROKER@,CONTROLLER://127.0.0.1:@CONTROLLER@,"
                    "INTERNAL://127.0.0.1:0,EXTERNAL://127.0.0.1:0"
                ),
                "listener.security.protocol.map": (
                    "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,INTERNAL:SASL_PLAINTEXT,EXTERNAL:PLAINTEXT,SPARE:PLAINTEXT"
                ),
                "inter.broker.listener.name": "INTERNAL",
                "listener.name.internal.sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.internal.plain.sasl.jaas.config": _JAAS,
                "listener.name.external.max.connections": "100",
                "listener.name.external.num.network.threads": "2",
                "num.network.threads": "6",
                "max.connections": "1000",
                "early.start.listeners": "EXTERNAL,CONTROLLER",
            },
        ),
        Configuration(
            "advertised",
            {
                "listeners": "PLAINTEXT://127.0.0.1:@BROKER@,EXTERNAL://127.0.0.1:0",
                "advertised.listeners": "PLAINTEXT://127.0.0.1:@BROKER@",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
                "group.consumer.min.assignment.interval.ms": "500",
                "group.consumer.max.assignment.interval.ms": "2000",
                "log.cleaner.enable": "false",
                "num.io.threads": "1",
            },
            controller_properties={
                "remote.log.storage.system.enable": "true",
                "log.retention.ms": "600000",
                "log.local.retention.bytes": "1000",
                "log.cleaner.min.compaction.lag.ms": "5000",
                "log.cleaner.max.compaction.lag.ms": "6000",
                "group.consumer.session.timeout.ms": "50000",
                "group.consumer.heartbeat.interval.ms": "6000",
                "group.consumer.min.heartbeat.interval.ms": "5500",
                "group.consumer.max.session.timeout.ms": "55000",
                "group.share.max.delivery.count.limit": "6",
                "group.streams.max.standby.replicas": "1",
                "group.consumer.max.assignment.interval.ms": "1500",
                "num.io.threads": "8",
            },
        ),
        Configuration(
            "older",
            {"max.connections.per.ip": "10", "log.local.retention.ms": "700000000"},
            controller_properties={
                "log.flush.interval.ms": "-1",
                "group.consumer.session.timeout.ms": "46000",
                "group.share.min.record.lock.duration.ms": "20000",
                "group.share.max.partition.max.record.locks": "3000",
            },
            format_arguments=("--release-version", "4.2"),
            features=Features(metadata_version=29),
        ),
    )
}
