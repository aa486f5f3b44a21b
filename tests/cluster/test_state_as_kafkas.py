"""What is stored after a change: a real Kafka's broker path, our broker's door and our controller's, asked the same.

The recorded corpus holds verdicts; its single requests were only validated. Here a sample of them is stored for real,
at all three, and what each then describes as dynamic has to be the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster.running import RunningCluster, free_ports
from tests.cluster.test_verdicts_over_the_network import OurOracle, Served, node_configs
from tests.equivalence.cases import Case
from tests.equivalence.configurations import CONFIGURATIONS, OTHER_TOPIC, TOPIC
from tests.equivalence.corpus import cases_of
from tests.equivalence.oracle import Oracle, cluster_of
from tests.kafka import requests as wire

from doorkeeper.rules.config_change import ResourceChange, ResourceType
from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

CONFIGURATION = CONFIGURATIONS["plain"]
EVERY = 31
SETTLE_SECONDS = 10
POLL_SECONDS = 0.02
DYNAMIC_SOURCES = (1, 2, 3, 7, 8)  # topic, broker, cluster-wide default, client metrics, group
STORED = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS, ResourceType.BROKER)
LEFT_OUT = (
    *("listener", "max.connections", "socket.", "ssl.", "sasl."),  # they end the connections by which we ask
    *("threads", "min.insync.replicas"),  # what was set can't always be deleted
    # Kafka accepts it with blanks around, fails to apply it (clampDynamicIntConfig does not trim), shows the old one.
    "assignment.interval",
)

Described = dict[tuple[int, str], object]


def sample() -> list[Case]:
    """Single requests whose resources are stored and whose answers do not hang on an id."""
    lawful = [case for case in cases_of(CONFIGURATION.name) if not case.is_sequence and case.poison is None]
    return [case for case in lawful if all(_can_be_stored(one) for one in case.requests[0])][::EVERY]


def _can_be_stored(change: ResourceChange) -> bool:
    if change.type not in STORED or (change.type == ResourceType.BROKER and change.name not in ("", "1")):
        return False
    return not any(part in entry.name for entry in change.entries for part in LEFT_OUT)


def serve(folder: Path, cleanup: ExitStack, door: Door) -> OurOracle:
    ports = free_ports(2)
    places = {"@BROKER@": str(ports[0]), "@CONTROLLER@": str(ports[1]), "@DATA@": str(folder)}
    cluster = cleanup.enter_context(RunningCluster(folder, configs=node_configs(CONFIGURATION, places)))
    with cluster.connect() as connection:
        for topic in (TOPIC, OTHER_TOPIC):
            assert wire.create_topic(connection, topic) == (0, None)
    oracle = Served(cluster, places).oracle(door)
    cleanup.enter_context(oracle)
    return oracle


@pytest.fixture(scope="module")
def oracles(tmp_path_factory: pytest.TempPathFactory, kafka_jars: Path) -> Iterator[list[Oracle]]:
    with ExitStack() as cleanup:
        folder = tmp_path_factory.mktemp("state")
        kafka = cleanup.enter_context(cluster_of(CONFIGURATION, kafka_jars, folder / "kafka"))
        theirs = cleanup.enter_context(Oracle(kafka))
        yield [theirs, *(serve(folder / door, cleanup, door) for door in Door)]


def state_of(oracle: Oracle, request: tuple[ResourceChange, ...]) -> Described:
    state: Described = {}
    for change in request:
        described = wire.describe_configs(oracle.connection, change.type, change.name)
        state[change.type, change.name] = sorted(
            (str(one.name), int(one.config_source), one.value)
            for one in described.configs
            if int(one.config_source) in DYNAMIC_SOURCES
        )
    return state


def settled(oracles: list[Oracle], request: tuple[ResourceChange, ...]) -> list[Described]:
    """What each describes: the same as soon as the brokers have followed, or else what it is in the end.

    Our controller describes what it has stored at once, so that sameness means that the others have followed.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        states = [state_of(oracle, request) for oracle in oracles]
        if all(state == states[0] for state in states) or time.monotonic() > deadline:
            return states
        time.sleep(POLL_SECONDS)


def test_what_is_stored_after_a_change_is_what_kafka_stores(oracles: list[Oracle]) -> None:
    numbers = {True: 0, False: 0}
    for case in sample():
        (request,) = case.requests
        answers = [oracle.ask(request) for oracle in oracles]
        theirs, *ours = settled(oracles, request)
        for state in ours:
            assert state == theirs, request
        for oracle, codes in zip(oracles, answers, strict=True):
            accepted = tuple(one for one, (code, _) in zip(request, codes, strict=True) if code == 0)
            oracle.undo(replace(case, requests=(accepted,)))
            numbers[bool(accepted)] += 1
    assert min(numbers.values()) > 100
