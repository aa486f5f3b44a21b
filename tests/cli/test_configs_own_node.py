"""Kafka's own `kafka-configs.sh` and `doorkeeper configs`, side by side at a node of ours: both doors, every entity.

What one sets, the other describes, in the same lines; both connect under the oddest client-id.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.kafka_tool import Said, doorkeeper_configs, kafka_configs
from tests.cluster.running import RunningCluster
from tests.kafka import requests as wire
from tests.kafka.tools import KafkaTools

from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

ODD = 'a b/c:d*é"\n😀'
LEARN_SECONDS = 20
ESCAPED = r"a b/c:d*\u00e9\"\n\uD83D\uDE00"  # as java.util.Properties reads it

CONFIGS = {
    "topic": (("--topic", "orders"), "retention.ms", ("1234567", "7654321")),
    "broker": (("--broker", "1"), "log.cleaner.threads", ("2", "1")),
    "broker default": (("--broker-defaults",), "log.retention.ms", ("777777", "888888")),
    "broker logger": (("--broker-logger", "1"), "doorkeeper.net", ("DEBUG", "WARN")),
    "group": (("--group", ODD), "consumer.session.timeout.ms", ("50000", "51000")),
    "client metrics": (("--client-metrics", "all"), "interval.ms", ("2000", "3000")),
}
QUOTAS = {
    "client": (("--client", ODD), "producer_byte_rate", ("1024.0", "2048.0")),
    "client default": (("--client-defaults",), "request_percentage", ("12.5", "13.0")),
    "user": (("--user", ODD), "consumer_byte_rate", ("1024.0", "2048.0")),
    "user and client": (("--user", ODD, "--client", ODD), "controller_mutation_rate", ("1.5", "2.5")),
    "ip": (("--ip", "127.0.0.2"), "connection_creation_rate", ("10.0", "11.0")),
}
AT_CONTROLLER = ("broker", "broker logger")
"""What Kafka's tool describes at a controller; of the rest it first lists what a controller does not serve."""


class Entity(NamedTuple):
    """What is changed, and two values for it."""

    words: tuple[str, ...]
    key: str
    values: tuple[str, str]

    def shown(self, value: str) -> str:
        return f"{self.key}={value}"


class Tools:
    """Both tools at one cluster of ours."""

    def __init__(self, cluster: RunningCluster, kafka_tools: KafkaTools, folder: Path) -> None:
        self._cluster = cluster
        self._kafka_tools = kafka_tools
        self._settings = folder / "client.properties"
        self._settings.write_text(f"client.id={ESCAPED}\n", encoding="ascii")

    def _where(self, door: Door) -> tuple[str, ...]:
        settings = ("--command-config", str(self._settings))
        if door is Door.BROKER:
            return ("--bootstrap-server", self._cluster.bootstrap_servers, *settings)
        return ("--bootstrap-controller", self._cluster.bootstrap_controllers, *settings)

    def theirs(self, door: Door, *words: str) -> Said:
        return kafka_configs(self._kafka_tools, *self._where(door), *words)

    def ours(self, door: Door, *words: str) -> Said:
        return doorkeeper_configs(*self._where(door), *words)

    def both(self, door: Door, *words: str) -> Said:
        """What both say, alike."""
        said = self.ours(door, *words)
        assert self.theirs(door, *words) == said
        return said

    def wait_for(self, door: Door, entity: Entity, value: str) -> None:
        """A broker follows its controller a moment later."""
        deadline = time.monotonic() + LEARN_SECONDS
        while entity.shown(value) not in "\n".join((said := self.ours(door, "--describe", *entity.words)).lines):
            assert time.monotonic() < deadline, said


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[Tools]:
    folder = tmp_path_factory.mktemp("own-node")
    with RunningCluster(folder / "data") as cluster:
        with cluster.connect() as connection:
            assert wire.create_topic(connection, "orders") == (0, None)
        yield Tools(cluster, kafka_tools, folder)


@pytest.mark.parametrize(
    ("name", "door"),
    [*((name, door) for name in CONFIGS for door in Door), *((name, Door.BROKER) for name in QUOTAS)],
)
def test_what_one_tool_sets_both_describe_in_the_same_lines(tools: Tools, name: str, door: Door) -> None:
    entity = Entity(*(CONFIGS | QUOTAS)[name])
    asked = door if name in AT_CONTROLLER else Door.BROKER
    for alter, value in zip((tools.ours, tools.theirs), entity.values, strict=True):
        done = alter(door, "--alter", *entity.words, "--add-config", entity.shown(value))
        assert (done.code, done.errors) == (0, [""])
        tools.wait_for(asked, entity, value)
    assert entity.shown(entity.values[1]) in "\n".join(tools.both(asked, "--describe", *entity.words).lines)


def test_quotas_at_the_controllers_door_are_refused_by_both_alike(tools: Tools) -> None:
    """Before they change a quota, both describe it, and controllers do not serve that."""
    entity = Entity(*QUOTAS["client"])
    refused = tools.both(Door.CONTROLLER, "--alter", *entity.words, "--add-config", entity.shown("1.0"))
    assert refused.code == 1


@pytest.mark.parametrize("door", list(Door))
def test_a_refusal_has_the_same_words_streams_and_exit_code(tools: Tools, door: Door) -> None:
    refused = tools.both(door, "--alter", "--broker", "1", "--add-config", "num.io.threads=1")
    assert refused.code == 1
    assert "value should be at least half the current value 8" in "\n".join(refused.errors)
