"""Cases by lot, the same in every run: several keys at once, and long walks of changes that are carried out."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.equivalence.cases import BROKER, GROUP, TOPIC, Case, change
from tests.equivalence.configurations import TOPIC as TOPIC_NAME
from tests.equivalence.generated import values_of

from doorkeeper.rules.config_change import Operation
from doorkeeper.rules.config_schema import ConfigProblem, Scope, load_schema, parse_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from doorkeeper.rules.config_change import ResourceChange
    from doorkeeper.rules.config_schema import ConfigKey

CASES = 300  # by lot for each static configuration
STEPS = 80  # of a walk
UNSET = "(delete)"

NUMBERS = ("1", "2", "3", "4", "5", "6", "8", "10", "12", "16", "20", "32")
TIMES = ("-2", "-1", "1", "1000", "1001", "300000", "600000", "700000000")
WALKED: Mapping[str, Sequence[str]] = {
    "num.io.threads": NUMBERS,
    "num.network.threads": NUMBERS,
    "listener.name.plaintext.num.network.threads": NUMBERS,
    "num.replica.fetchers": NUMBERS,
    "background.threads": NUMBERS,
    "log.cleaner.threads": NUMBERS,
    "log.cleaner.dedupe.buffer.size": ("2097152", "8388608", "134217728"),
    "remote.log.reader.threads": NUMBERS,
    "remote.log.manager.follower.thread.pool.size": NUMBERS,
    "log.retention.ms": TIMES,
    "log.local.retention.ms": TIMES,
    "log.retention.bytes": ("-1", "1000", "5000000"),
    "log.local.retention.bytes": ("-2", "-1", "999", "1000", "1001"),
    "log.roll.ms": ("0", "1", "1000"),
    "max.connections": ("0", "500", "1000"),
    "max.connections.per.ip": ("0", "500"),
    "max.connections.per.ip.overrides": ("", "127.0.0.1:500", "127.0.0.1:500,10.0.0.1:x"),
    "log.cleanup.policy": ("delete", "compact", "delete,compact", "bogus"),
    "group.consumer.assignment.interval.ms": ("0", "600", "1700", "20000"),
    "min.insync.replicas": ("0", "1", "2"),
    "plugin.key": ("a", "b"),
    "listener.name.plaintext.plugin.key": ("a",),
    "node.id": ("1",),
    "compression.type": ("gzip", "GZIP"),
}
"""What walks over: keys that work on one another, with values that Kafka survives."""


def random_cases(configuration: str) -> Iterator[Case]:
    """Changes of two to four keys, most of them lawful each by itself."""
    lot = Random(f"cases of {configuration}")
    schemas = (
        (BROKER, "1", "broker"),
        (BROKER, "", "broker"),
        (TOPIC, TOPIC_NAME, "topic"),
        (GROUP, "readers", "group"),
    )
    for _ in range(CASES):
        resource_type, name, schema = lot.choice(schemas)
        keys = [key for key in load_schema(schema).values() if key.scope is not Scope.READ_ONLY]
        chosen = lot.sample([key for key in keys if not key.name.startswith("resource.identifier")], lot.randint(2, 4))
        entries = [(key.name, _value(lot, key), _operation(lot)) for key in chosen]
        yield Case(configuration, ((change(resource_type, name, *entries),),))


def _value(lot: Random, key: ConfigKey) -> str:
    values = values_of(key)
    lawful = [value for value in values if not isinstance(parse_value(key, value), ConfigProblem)]
    return lot.choice(lawful if lawful and lot.random() < 0.97 else values)


def _operation(lot: Random) -> Operation:
    return lot.choices(list(Operation), weights=(90, 5, 3, 2))[0]


def walk(configuration: str) -> Case:
    """A walk: each change is carried out if Kafka accepts it, and nothing is undone."""
    lot = Random(f"walk of {configuration}")
    return Case(configuration, tuple((_step(lot),) for _ in range(STEPS)), final=True)


def _step(lot: Random) -> ResourceChange:
    keys = lot.sample(sorted(WALKED), lot.choice((1, 1, 1, 2)))
    entries = []
    for key in keys:
        value = lot.choice((*WALKED[key], UNSET))
        entries.append((key, None, Operation.DELETE) if value == UNSET else (key, value, Operation.SET))
    return change(BROKER, lot.choice(("", "1")), *entries)
