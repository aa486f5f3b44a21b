"""Sequences of changes that are carried out: each verdict depends on what was stored before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.equivalence.cases import BROKER, GROUP, METRICS, TOPIC, Case, change
from tests.equivalence.configurations import TOPIC as ORDERS
from tests.equivalence.written import APPEND, BOTH, DELETE, SUBTRACT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.rules.config_change import ResourceChange


def _pool(key: str, name: str, *sizes: str | None) -> tuple[ResourceChange, ...]:
    return tuple(change(BROKER, name, (key, size, DELETE if size is None else 0)) for size in sizes)


def _sequences() -> Iterator[tuple[ResourceChange, ...]]:
    yield _pool("num.io.threads", "1", "16", "4", "33", "32", None, "16", None)
    yield _pool("num.io.threads", "", "16", "32", None, "16", None)
    yield _pool("num.network.threads", "1", "6", "13", "12", None, "6", None)
    yield _pool("log.cleaner.threads", "", "2", "4", None, "2", None)
    yield (
        change(BROKER, "", ("num.io.threads", "16")),
        change(BROKER, "1", ("num.io.threads", "9")),
        change(BROKER, "", ("num.io.threads", "18")),
        change(BROKER, "1", ("num.io.threads", "4")),
        change(BROKER, "1", ("num.io.threads", None, DELETE)),
        change(BROKER, "", ("num.io.threads", "8")),
    )
    yield (
        change(BROKER, "", ("log.retention.ms", "1000")),
        change(BROKER, "1", ("log.local.retention.ms", "1001")),
        change(BROKER, "1", ("log.local.retention.ms", "1000")),
        change(BROKER, "", ("log.retention.ms", "999")),
        change(BROKER, "", ("log.retention.ms", None, DELETE)),
    )
    yield (
        change(BROKER, "", ("max.connections.per.ip.overrides", "127.0.0.1:100")),
        change(BROKER, "", ("max.connections.per.ip", "0")),
        change(BROKER, "", ("max.connections.per.ip.overrides", None, DELETE)),
        change(BROKER, "", ("max.connections.per.ip.overrides", "")),
        change(BROKER, "", ("max.connections.per.ip", "10")),
    )
    yield (
        change(BROKER, "", ("log.cleanup.policy", "compact", APPEND)),
        change(BROKER, "", ("log.cleanup.policy", "compact", APPEND)),
        change(BROKER, "", ("log.cleanup.policy", "delete", SUBTRACT)),
        change(BROKER, "", ("log.cleanup.policy", "bogus", APPEND)),
        change(BROKER, "", ("log.cleanup.policy", "compact", SUBTRACT)),
        change(BROKER, "", ("log.cleanup.policy", "delete", APPEND)),
    )
    yield (
        change(BROKER, "1", ("listener.name.plaintext.unheard.of", "x")),
        change(BROKER, "1", ("num.network.threads", "4")),
        change(BROKER, "1", ("max.connections", "5000")),
        change(BROKER, "1", ("num.io.threads", "9")),
        change(BROKER, "1", ("listener.name.plaintext.unheard.of", None, DELETE)),
        change(BROKER, "1", ("num.network.threads", "4")),
    )
    yield (
        change(BROKER, "1", ("listeners", BOTH)),
        change(BROKER, "1", ("num.network.threads", "4")),
        change(BROKER, "1", ("listeners", None, DELETE)),
    )
    yield (
        change(BROKER, "1", ("num.io.threads", "9"), ("background.threads", "11")),
        change(BROKER, "1", ("num.io.threads", "17"), legacy=True),
        change(BROKER, "1", ("num.io.threads", "19"), legacy=True),
        change(BROKER, "1", legacy=True),
        change(BROKER, "1", ("num.io.threads", "16"), legacy=True),
        change(BROKER, "1", legacy=True),
    )
    yield (
        change(TOPIC, ORDERS, ("cleanup.policy", "compact", APPEND)),
        change(TOPIC, ORDERS, ("cleanup.policy", "delete", SUBTRACT)),
        change(TOPIC, ORDERS, ("cleanup.policy", "compact", SUBTRACT)),
        change(TOPIC, ORDERS, ("cleanup.policy", "x", APPEND)),
        change(TOPIC, ORDERS, ("min.compaction.lag.ms", "50")),
        change(TOPIC, ORDERS, ("max.compaction.lag.ms", "49")),
        change(TOPIC, ORDERS, ("max.compaction.lag.ms", "50"), ("no.such.key", None, DELETE)),
        change(TOPIC, ORDERS, ("min.compaction.lag.ms", "51")),
        change(TOPIC, ORDERS, ("max.compaction.lag.ms", "40"), legacy=True),
        change(TOPIC, ORDERS, ("min.compaction.lag.ms", "41")),
        change(TOPIC, ORDERS, legacy=True),
    )
    yield (
        change(GROUP, "readers", ("consumer.heartbeat.interval.ms", "15000")),
        change(GROUP, "readers", ("consumer.session.timeout.ms", "46000")),
        change(GROUP, "readers", ("consumer.heartbeat.interval.ms", "x")),
        change(GROUP, "readers", legacy=True),
    )
    yield (
        change(METRICS, "subscription", ("interval.ms", "100")),
        change(METRICS, "subscription", ("match", "client_id=[")),
        change(METRICS, "subscription", ("metrics", "a", APPEND)),
        change(METRICS, "subscription", ("interval.ms", None, DELETE)),
    )
    long = "a" * 30000
    yield (
        change(BROKER, "", ("sasl.kerberos.principal.to.local.rules", long)),
        change(BROKER, "1", ("sasl.kerberos.principal.to.local.rules", long)),
        change(BROKER, "1", ("sasl.kerberos.principal.to.local.rules", "b" * 30000, APPEND)),
    )


def _tiered() -> Iterator[tuple[ResourceChange, ...]]:
    yield (
        change(TOPIC, ORDERS, ("remote.storage.enable", "true")),
        change(TOPIC, ORDERS, ("remote.log.copy.disable", "true")),
        change(TOPIC, ORDERS, ("local.retention.ms", "600001")),
        change(TOPIC, ORDERS, ("cleanup.policy", "compact")),
        change(TOPIC, ORDERS, ("remote.storage.enable", "false")),
        change(TOPIC, ORDERS, ("remote.storage.enable", None, DELETE)),
        change(TOPIC, ORDERS, ("remote.log.delete.on.disable", "true")),
        change(TOPIC, ORDERS, ("remote.storage.enable", "false")),
    )


def sequences(configuration: str) -> Iterator[Case]:
    """The sequences for one static configuration."""
    chosen = {"plain": _sequences, "advertised": _tiered}.get(configuration)
    for steps in chosen() if chosen else ():
        yield Case(configuration, tuple((step,) for step in steps))


def poisoned(configuration: str) -> Iterator[Case]:
    """What a broker says after its controller stored something that no broker would have accepted."""
    after: tuple[tuple[ResourceChange, ...], ...] = (
        (change(BROKER, "1", ("log.retention.ms", "5")),),
        (change(BROKER, "", ("log.retention.ms", "5")),),
        (change(BROKER, "1", ("num.io.threads", "9")),),
        (change(BROKER, "", ("num.io.threads", "9")),),
        (change(BROKER, "", ("num.io.threads", None, DELETE)),),
        (change(BROKER, "", ("log.retention.ms", None, DELETE)),),
        (change(BROKER, "", ("log.cleanup.policy", "compact", APPEND)),),
        (change(BROKER, "1", ("log.cleanup.policy", "compact", APPEND)),),
        (change(BROKER, "", ("min.insync.replicas", "1"), ("num.io.threads", "9"), legacy=True),),
        (change(BROKER, "1", ("max.connections", "500")),),
        (change(TOPIC, ORDERS, ("retention.ms", "5")),),
    )
    if configuration != "plain":
        return
    for name in ("", "1"):
        for entry in (
            ("log.retention.ms", "0"),
            ("num.io.threads", "abc"),
            ("log.cleanup.policy", "bogus"),
            ("listeners", "PLAINTEXT://:1"),
            ("node.id", "5"),
            ("ssl.keystore.location", "x"),
            ("group.consumer.assignment.interval.ms", "99999"),
            ("log.cleaner.threads", "0"),
            ("log.local.retention.ms", "700000000"),
            ("listener.name.plaintext.num.network.threads", "x"),
            ("listener.name.plaintext.unheard.of", "x"),
            ("max.connections.per.ip", "0"),
        ):
            yield Case(configuration, after, poison=change(BROKER, name, entry))
