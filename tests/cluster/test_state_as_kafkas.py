"""What is stored after a change: a real Kafka's broker path, our broker's door and our controller's, asked the same.

The recorded corpus holds verdicts; its single requests were only validated. Here a sample of them (all of them in the
long form) is carried out for real, at all three, and what each then describes as dynamic has to be the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cluster.running import RunningCluster, free_ports
from tests.cluster.test_verdicts_over_the_network import OurOracle, Served, node_configs
from tests.equivalence.cases import Case
from tests.equivalence.configurations import CONFIGURATIONS, OTHER_TOPIC, TOPIC
from tests.equivalence.corpus import cases_of
from tests.equivalence.oracle import Oracle, cluster_of
from tests.kafka import requests as wire

from doorkeeper.rules.config_change import ConfigEntry, Operation, ResourceChange, ResourceType
from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

CONFIGURATION = CONFIGURATIONS["plain"]
EVERY = 31
SETTLE_SECONDS = 10
POLL_SECONDS = 0.02
DYNAMIC_SOURCES = (1, 2, 3, 7, 8)  # topic, broker, cluster-wide default, client metrics, group
STORED = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS, ResourceType.BROKER)
NODE_TYPES = (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
LEFT_OUT = ("listeners", "listener.name.", "max.connection")  # they close the door by which we ask
MIN_ISR = "min.insync.replicas"
THREADS = "threads"
MAX_DOUBLINGS = 12

Described = dict[tuple[int, str], object]


def sample(every: int) -> list[Case]:
    """Cases whose resources are stored and whose answers do not hang on an id; sequences are all of them."""
    lawful = [
        case
        for case in cases_of(CONFIGURATION.name)
        if case.poison is None and all(_can_be_stored(one) for asked in case.requests for one in asked)
    ]
    return [case for case in lawful if case.is_sequence] + [case for case in lawful if not case.is_sequence][::every]


def _can_be_stored(change: ResourceChange) -> bool:
    if change.type not in (*STORED, ResourceType.BROKER_LOGGER):
        return False
    if change.type in NODE_TYPES and change.name not in ("", "1"):
        return False
    return not any(entry.name.startswith(LEFT_OUT) or _is_not_applied(entry) for entry in change.entries)


def _is_not_applied(entry: ConfigEntry) -> bool:
    """What Kafka accepts, fails to apply, and then shows the old value of.

    Blanks around an assignment interval (clampDynamicIntConfig does not trim), and a provider without a name.
    """
    value = entry.value or ""
    if entry.name == "config.providers":
        return not all(value.split(","))
    return entry.name.endswith("assignment.interval.ms") and value != value.strip()


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
    """What is described of the resources of a request; of loggers those that it names: ours have other names."""
    state: Described = {}
    for change in request:
        described = wire.describe_configs(oracle.connection, change.type, change.name)
        names = {entry.name for entry in change.entries}
        state[change.type, change.name] = sorted(
            (str(one.name), int(one.config_source), oracle.without_places(one.value))
            for one in described.configs
            if int(one.config_source) in DYNAMIC_SOURCES
            or (change.type == ResourceType.BROKER_LOGGER and one.name in names)
        )
    return state


def settled(oracles: list[Oracle], request: tuple[ResourceChange, ...]) -> list[Described]:
    """What each describes: the same as soon as the brokers have followed, or else what it is in the end.

    Our controller describes what it has stored at once, so that sameness means that the others have followed.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        try:
            states = [state_of(oracle, request) for oracle in oracles]
        except ConnectionError:  # some changes end connections
            for oracle in oracles:
                oracle.reconnect()
            continue
        if all(state == states[0] for state in states) or time.monotonic() > deadline:
            return states
        time.sleep(POLL_SECONDS)


def undo(oracle: Oracle, accepted: Iterable[ResourceChange]) -> None:
    """Make the state what it was, by changes that a broker accepts from where it is."""
    for change in accepted:
        keys = dict.fromkeys(entry.name for entry in change.entries)
        if change.type == ResourceType.BROKER_LOGGER:
            _set(oracle, change, dict.fromkeys(keys, "INFO"))
            continue
        if MIN_ISR in keys and change.type == ResourceType.BROKER and not change.name:
            del keys[MIN_ISR]
            _set(oracle, change, {MIN_ISR: "1"})  # with eligible leader replicas it can't be deleted
        _delete(oracle, change, list(keys))


def _set(oracle: Oracle, change: ResourceChange, values: Mapping[str, str]) -> None:
    entries = tuple(ConfigEntry(key, Operation.SET, value) for key, value in values.items())
    answer = oracle.carry_out(change._replace(entries=entries, legacy=False))
    assert answer[0] == 0, (change, values, answer)


def _delete(oracle: Oracle, change: ResourceChange, keys: list[str]) -> None:
    entries = tuple(ConfigEntry(key, Operation.DELETE, None) for key in keys)
    for _ in range(MAX_DOUBLINGS):
        answer = oracle.carry_out(change._replace(entries=entries, legacy=False))
        if answer[0] == 0:
            return
        # A pool of threads may at most be doubled: it has to grow towards its default by steps.
        state = wire.describe_configs(oracle.connection, change.type, change.name)
        threads = {
            one.name: str(2 * int(one.value)) for one in state.configs if THREADS in one.name and one.name in keys
        }
        assert threads, (change, answer)
        _set(oracle, change, threads)
    raise AssertionError(f"{keys} can't be deleted")


def compare(oracles: list[Oracle], cases: list[Case]) -> dict[bool, int]:
    """Carry out each case at all, and count what was accepted and what was refused."""
    numbers = {True: 0, False: 0}
    differing: list[tuple[str, Described, Described]] = []
    for case in cases:
        print(case.key())  # a hang names the case by which it came
        accepted: list[list[ResourceChange]] = [[] for _ in oracles]
        for request in case.requests:
            for oracle, changes in zip(oracles, accepted, strict=True):
                answers = zip(request, oracle.ask(request), strict=True)
                changes += [change for change, (code, _) in answers if code == 0]
            theirs, *ours = settled(oracles, request)
            differing += [(case.key(), theirs, state) for state in ours if state != theirs]
        numbers[bool(accepted[0])] += 1
        for oracle, changes in zip(oracles, accepted, strict=True):
            undo(oracle, changes)
    print(*differing, sep="\n")
    assert differing == []
    return numbers


def test_what_is_stored_after_a_change_is_what_kafka_stores(oracles: list[Oracle]) -> None:
    numbers = compare(oracles, sample(EVERY))
    assert min(numbers.values()) > 30


@pytest.mark.long
def test_what_is_stored_after_any_change_is_what_kafka_stores(oracles: list[Oracle]) -> None:
    assert min(compare(oracles, sample(1)).values()) > 1000
