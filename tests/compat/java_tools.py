"""Kafka's command line tools, told where the cluster is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from tests.kafka.requests import Connection
from tests.kafka.tools import KafkaTools, Said

from doorkeeper.wire.registry import Door


class Reached(Protocol):
    """A cluster, or what stands before one."""

    @property
    def bootstrap_servers(self) -> str:
        """Where clients go."""

    @property
    def bootstrap_controllers(self) -> str:
        """Where those go who ask a controller."""

    @property
    def broker_ids(self) -> Sequence[int]:
        """The brokers that there are."""

    @property
    def log_dirs(self) -> Sequence[Path]:
        """Where all nodes keep their files."""

    def connect(self, door: Door, node_id: int) -> Connection:
        """A connection to one node."""


class Tools:
    """The tools, told where the cluster is."""

    def __init__(self, tools: KafkaTools, cluster: Reached) -> None:
        self.cluster = cluster
        self.alone = tools
        self._tools = tools
        self.servers = ("--bootstrap-server", cluster.bootstrap_servers)
        self.controllers = ("--bootstrap-controller", cluster.bootstrap_controllers)

    def __call__(self, tool: str, *words: str, stdin: str = "") -> str:
        """What a tool prints that must end well; `words` are split at blanks."""
        return self._tools.run(tool, *self.servers, *split(words), stdin=stdin)

    def refused(self, tool: str, *words: str) -> Said:
        """What a tool says that must not end well."""
        said = self._tools.call(tool, *self.servers, *split(words))
        assert said.code != 0, said
        return said

    def plain(self, tool: str, *words: str) -> str:
        """A tool that is not told where the cluster is, or in another way."""
        return self._tools.run(tool, *split(words))

    def topic(self, partitions: int = 1, lines: int = 0) -> str:
        """A new topic, with some lines in it."""
        name = f"orders-{uuid4()}"
        self("kafka-topics", f"--create --topic {name} --partitions {partitions}")
        if lines:
            text = "".join(f"line {number}\n" for number in range(lines))
            self("kafka-console-producer", f"--topic {name}", stdin=text)
        return name

    def consumed(self, topic: str, count: int, *words: str) -> list[str]:
        """The values that the console consumer prints, sorted."""
        asked = f"--topic {topic} --from-beginning --max-messages {count} --timeout-ms 20000"
        return sorted(self("kafka-console-consumer", asked, *words).splitlines())


def split(words: tuple[str, ...]) -> list[str]:
    return [part for word in words for part in word.split(" ")]


def lines(count: int) -> list[str]:
    """What `topic` wrote, as `consumed` shows it."""
    return sorted(f"line {number}" for number in range(count))
