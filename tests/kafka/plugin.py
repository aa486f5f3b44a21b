"""Fixtures for tests that ask a real Kafka; `tests/conftest.py` makes them known to every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from tests.kafka.jars import require_jars
from tests.kafka.tools import KafkaTools

if TYPE_CHECKING:
    from tests.kafka.cluster import KafkaCluster, NodeSpec

KafkaFactory: TypeAlias = "Callable[..., KafkaCluster]"


@pytest.fixture(scope="session")
def kafka_jars() -> Path:
    """The folder of Kafka's jars; a skip by name without them, a failure under CI."""
    return require_jars()


@pytest.fixture(scope="session")
def kafka_tools(kafka_jars: Path) -> Iterator[KafkaTools]:
    """Kafka's command line tools, in one JVM for the whole session."""
    with KafkaTools(kafka_jars) as tools:
        yield tools


@pytest.fixture(scope="session")
def kafka_cluster(kafka_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaFactory]:
    """A function that starts a Kafka of a given static configuration, once per session and configuration.

    `kafka_cluster("name", nodes=..., properties=..., format_arguments=...)`; the same name must mean the same thing.
    """
    from tests.kafka.cluster import KafkaCluster  # late: it loads kio, which most tests don't need

    running: dict[str, KafkaCluster] = {}
    asked: dict[str, tuple[object, ...]] = {}
    with ExitStack() as stack:

        def start(
            name: str,
            nodes: list[NodeSpec] | None = None,
            properties: Mapping[str, str] | None = None,
            format_arguments: tuple[str, ...] = (),
            request_log: str | None = None,
        ) -> KafkaCluster:
            description = (nodes, properties, format_arguments, request_log)
            if asked.setdefault(name, description) != description:
                raise ValueError(f"Two static configurations are called {name!r}")
            if name not in running:
                cluster = KafkaCluster(
                    kafka_jars,
                    tmp_path_factory.mktemp(f"kafka-{name}"),
                    nodes,
                    properties=properties,
                    format_arguments=format_arguments,
                    request_log=request_log,
                )
                running[name] = stack.enter_context(cluster)
            return running[name]

        yield start
