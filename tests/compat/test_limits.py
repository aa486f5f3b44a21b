"""Identifiers of 249 and 250 characters in every client library: the first work, the others leave nothing behind.

What each library shows its user is recorded in `docs/how-to/turn-on-the-limits.md`, from runs of this file with
`DOORKEEPER_SHOW_REFUSALS=1 pytest -s`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
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
from tests.compat.limited.judged import Embedded, Judged
from tests.compat.limited.programs import go_program, java_program
from tests.compat.limited.trials import NEWER, PATIENCE_SECONDS, PRODUCER, REBALANCE, TRIALS, Asked, Attempt, Seen
from tests.kafka.jars import require

from doorkeeper.client import NewTopic

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
ANYTHING = re.compile(".")
TOLD = {"group id": re.compile("invalid_?request", re.IGNORECASE)}
"""Where every library hands the answer on to its user: what is seen of it."""
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning",  # clients that give up leave their sockets to the collector
        "ignore::ResourceWarning",
    )
]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides=CONFIGS) as running:
        have_coordinators(running)
        yield Embedded(running)


@pytest.fixture(scope="module")
def libraries(request: pytest.FixtureRequest) -> Iterator[dict[str, Attempt]]:
    """Started when they are first asked for."""
    with ExitStack() as held:
        yield _Libraries(request, held)
    gc.collect()  # while what they have left is still ignored


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


def asked(judged: Judged, trial: str, length: int, *, lawful: bool) -> Asked:
    topic = f"orders-{uuid4()}"
    if trial not in PRODUCER:
        write_record(judged, topic)
    value = uuid4().hex.ljust(length, "x")
    return Asked(judged.bootstrap_servers, trial, value, topic, f"readers-{uuid4()}", lawful=lawful)


def write_record(judged: Judged, topic: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": judged.bootstrap_servers})
    producer.produce(topic, b"1")
    assert producer.flush(SECONDS) == 0


def has_worked(judged: Judged, one: Asked) -> bool:
    """Whether what was asked for is there: a record, or an offset."""
    if one.is_producer:
        return judged.written(one.value if one.trial == "topic name" else one.topic) >= 1
    return judged.has_committed(one.value if one.trial.startswith("group id") else one.group)


def verdicts_in(caplog: pytest.LogCaptureFixture, judged: Judged) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.name == judged.verdict_logger]


def verdict_on(one: Asked) -> str:
    """A part of the verdict on what was asked for."""
    kind = TRIALS[one.trial.removesuffix(NEWER)]
    return f'"kind":"{kind}","value":"{one.value}","length":250,"limit":249'


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
    def test_249_characters_work(self, judged: Judged, libraries: dict[str, Attempt], library: str, trial: str) -> None:
        one = asked(judged, trial, 249, lawful=True)
        seen = libraries[library](one)
        assert seen.worked, seen
        assert has_worked(judged, one)

    def test_250_characters_leave_nothing_behind_but_a_verdict(
        self,
        judged: Judged,
        libraries: dict[str, Attempt],
        library: str,
        trial: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        one = asked(judged, trial, 250, lawful=False)
        with caplog.at_level(logging.INFO, judged.verdict_logger):
            seen = libraries[library](one)
        show(library, trial, seen)
        assert not seen.worked
        assert TOLD.get(trial, ANYTHING).search(seen.said), seen
        assert judged.written(one.topic) == (0 if trial in PRODUCER else 1)
        assert not judged.has_group(one.value)
        assert not judged.has_committed(one.value)
        assert not judged.has_committed(one.group)
        # Topic names are judged by the handlers, with Kafka's own answers.
        if trial != "topic name" and (library, trial) not in NEVER_SENT:
            written_down = verdicts_in(caplog, judged)
            verdict = verdict_on(one)
            assert any(verdict in line and '"mode":"enforce"' in line for line in written_down), written_down


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_classic_consumer_joins_rebalances_and_leaves_with_member_ids_of_the_brokers_making(
    judged: Judged, libraries: dict[str, Attempt], library: str
) -> None:
    topic = f"shared-{uuid4()}"
    asyncio.run(create_topic(judged, topic))
    one = Asked(judged.bootstrap_servers, REBALANCE, "", topic, f"readers-{uuid4()}", lawful=True)
    attempt = libraries[library]
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(attempt, one)
        members: set[str] = set()
        while not trial.done():
            members |= judged.members_of(one.group)
            wait([trial], 0.01)
    assert trial.result().worked, trial.result()
    assert len(members) >= 2
    assert all(judged.is_member_id(member) for member in members), members
    deadline = monotonic() + PATIENCE_SECONDS
    while judged.members_of(one.group):
        assert monotonic() < deadline, "a member did not leave"


async def create_topic(judged: Judged, name: str) -> None:
    async with judged.admin() as admin:
        (await admin.create_topics([NewTopic(name, 2)])).require()
