"""Identifiers of 249 and 250 characters in every client library: the first work, the others leave nothing behind.

What each library shows its user is recorded in `docs/how-to/turn-on-the-limits.md`, from runs of this file with
`DOORKEEPER_SHOW_REFUSALS=1 pytest -s`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from time import monotonic
from uuid import uuid4

import pytest
from tests.cluster.coordinators import have_coordinators
from tests.cluster.running import RunningCluster
from tests.compat.franz_go import go_is_missing
from tests.compat.limited.programs import go_program, java_program
from tests.compat.limited.trials import NEWER, PATIENCE_SECONDS, PRODUCER, REBALANCE, TRIALS, Asked, Attempt, Seen
from tests.kafka.jars import require

from doorkeeper.client import Admin, NewTopic

confluent_kafka = pytest.importorskip("confluent_kafka")
pytest.importorskip("kafka")
pytest.importorskip("aiokafka")

LIBRARIES = ("confluent", "kafka_python", "aiokafka", "java", "franz_go")
CONFIGS = {
    "resource.identifier.limit.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
SECONDS = 20
NEVER_SENT = {("java", "group instance id"), ("kafka_python", "topic name")}
"""What a library refuses by itself."""
MEMBER_ID_LENGTH = 36
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning",  # clients that give up leave their sockets to the collector
    "ignore::ResourceWarning",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides=CONFIGS) as running:
        have_coordinators(running)
        yield running


@pytest.fixture(scope="module")
def libraries(request: pytest.FixtureRequest) -> Iterator[dict[str, Attempt]]:
    """Started when they are first asked for."""
    with ExitStack() as held:
        yield _Libraries(request, held)


class _Libraries(dict[str, Attempt]):
    def __init__(self, request: pytest.FixtureRequest, held: ExitStack) -> None:
        super().__init__()
        self._request = request
        self._held = held

    def __missing__(self, name: str) -> Attempt:
        self[name] = made = self._make(name)
        return made

    def _make(self, name: str) -> Attempt:
        if name == "java":
            return self._held.enter_context(java_program(self._request.getfixturevalue("kafka_jars"))).attempt
        if name == "franz_go":
            require(go_is_missing(), Path())
            scratch = self._request.getfixturevalue("tmp_path_factory").mktemp("franz-go")
            return self._held.enter_context(go_program(scratch)).attempt
        attempt: Attempt = import_module(f"tests.compat.limited.{name}_trial").attempt
        return attempt


def asked(cluster: RunningCluster, trial: str, length: int) -> Asked:
    topic = f"orders-{uuid4()}"
    if trial not in PRODUCER:
        write_record(cluster, topic)
    value = uuid4().hex.ljust(length, "x")
    return Asked(cluster.bootstrap_servers, trial, value, topic, f"readers-{uuid4()}", lawful=length < 250)


def write_record(cluster: RunningCluster, topic: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce(topic, b"1")
    assert producer.flush(SECONDS) == 0


def written(cluster: RunningCluster, topic: str) -> int:
    broker = cluster.node().broker
    assert broker is not None
    log = broker.data.logs.get(topic, 0)
    return 0 if log is None else log.log_end_offset


def groups(cluster: RunningCluster) -> tuple[set[str], set[str]]:
    """The groups that there are, and those that have committed."""
    broker = cluster.node().broker
    assert broker is not None
    (partition,) = broker.data.groups
    state = partition.coordinator.state
    return set(state.groups), set(state.offsets.committed.by_group)


def show(library: str, trial: str, seen: Seen) -> None:
    """One line for the page about refusals."""
    if "DOORKEEPER_SHOW_REFUSALS" in os.environ:
        print(f"\n| {library} | {trial} | {seen.said} |")


ATTEMPTS = [
    *((library, trial) for library in LIBRARIES for trial in TRIALS),
    *((library, trial + NEWER) for library in ("java", "confluent") for trial in ("group id", "rack")),
]


@pytest.mark.parametrize(("library", "trial"), ATTEMPTS)
class TestEveryLibrary:
    def test_249_characters_work(
        self, cluster: RunningCluster, libraries: dict[str, Attempt], library: str, trial: str
    ) -> None:
        one = asked(cluster, trial, 249)
        seen = libraries[library](one)
        assert seen.worked, seen
        if trial in PRODUCER:
            assert written(cluster, one.value if trial == "topic name" else one.topic) >= 1
        else:
            assert (one.value if trial.startswith("group id") else one.group) in groups(cluster)[1]

    def test_250_characters_leave_nothing_behind_but_a_verdict(
        self,
        cluster: RunningCluster,
        libraries: dict[str, Attempt],
        library: str,
        trial: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        one = asked(cluster, trial, 250)
        with caplog.at_level(logging.INFO, "doorkeeper.verdicts"):
            seen = libraries[library](one)
        show(library, trial, seen)
        assert not seen.worked
        assert seen.said
        assert written(cluster, one.topic) == (0 if trial in PRODUCER else 1)
        there, committed = groups(cluster)
        assert one.value not in there | committed
        assert one.group not in committed
        kind = TRIALS[trial.removesuffix(NEWER)]
        # Topic names are judged by the handlers, with Kafka's own answers.
        if kind != "topic_name" and (library, trial) not in NEVER_SENT:
            written_down = [one.getMessage() for one in caplog.records if one.name == "doorkeeper.verdicts"]
            verdict = f'"kind":"{kind}","value":"{one.value}","length":250,"limit":249'
            assert any(verdict in line and '"mode":"enforce"' in line for line in written_down), written_down


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_classic_consumer_joins_rebalances_and_leaves_with_member_ids_of_36(
    cluster: RunningCluster, libraries: dict[str, Attempt], library: str
) -> None:
    topic = f"shared-{uuid4()}"
    asyncio.run(create_topic(cluster, topic))
    one = Asked(cluster.bootstrap_servers, REBALANCE, "", topic, f"readers-{uuid4()}", lawful=True)
    attempt = libraries[library]
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(attempt, one)
        members: set[str] = set()
        while not trial.done():
            members |= members_of(cluster, one.group)
            wait([trial], 0.01)
    assert trial.result().worked, trial.result()
    assert len(members) >= 2
    assert {len(member) for member in members} == {MEMBER_ID_LENGTH}
    deadline = monotonic() + PATIENCE_SECONDS
    while members_of(cluster, one.group):
        assert monotonic() < deadline, "a member did not leave"


def members_of(cluster: RunningCluster, group: str) -> set[str]:
    broker = cluster.node().broker
    assert broker is not None
    (partition,) = broker.data.groups
    found = partition.coordinator.state.groups.get(group)
    return set() if found is None else set(found.members)


async def create_topic(cluster: RunningCluster, name: str) -> None:
    async with Admin(cluster.bootstrap_servers) as admin:
        (await admin.create_topics([NewTopic(name, 2)])).require()
