"""The suites of the embedded cluster's clients, through a gateway that enforces, before a real Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pytest
from tests.compat.conftest import CONFIGS
from tests.compat.java_tools import Tools
from tests.gateway.running import HOST, ThreadedGateway
from tests.kafka.cluster import plan

from doorkeeper.client import Admin, NewTopic
from doorkeeper.gateway.address_table import NodeKind

if TYPE_CHECKING:
    from tests.kafka.plugin import KafkaFactory
    from tests.kafka.tools import KafkaTools

HERE = Path(__file__).parent
ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
NOT_WITHOUT_THE_GATEWAY_EITHER = {
    "test_refusals_carry_kafkas_codes": "asks for two replicas, which the embedded cluster refuses and this Kafka has",
    "test_more_than_one_replica_is_refused_with_the_way_out": "that way out is the gateway, and the Kafka behind it",
    "test_configs_are_set_and_described[BROKER-1-log.cleaner.threads-2]": "a real broker shows a change a moment later",
    "test_configs_are_set_and_described[BROKER_LOGGER-1-doorkeeper.net-DEBUG]": "a logger of the embedded cluster's",
}
"""Tests that a real Kafka does not pass by itself, and why."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent != HERE:
            continue
        if item.path.name.startswith("test_java_tools"):
            item.add_marker(pytest.mark.long)
        reason = NOT_WITHOUT_THE_GATEWAY_EITHER.get(item.name)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"nor without the gateway: {reason}"))


@dataclass(frozen=True, slots=True)
class Behind:
    """What these tests ask of the cluster that they talk to."""

    bootstrap_servers: str
    bootstrap_controllers: str

    def admin(self) -> Admin:
        return Admin(self.bootstrap_servers)


@pytest.fixture(scope="session")
def running(kafka_cluster: KafkaFactory) -> Iterator[Behind]:
    kafka = kafka_cluster("gateway-compat", nodes=plan(2), properties={**CONFIGS, **ACLS})
    ((host, port),) = kafka.controller_addresses.values()
    brokers = ("--upstream", kafka.bootstrap_servers, "--mode", "enforce")
    controllers = ("--upstream-controllers", f"{host}:{port}", "--listen-controllers", f"{HOST}:0")
    with ThreadedGateway(*brokers, *controllers) as gateway:
        yield Behind(gateway.bootstrap_servers, f"{HOST}:{gateway.port(NodeKind.CONTROLLER)}")


@pytest.fixture(scope="session")
def tools(kafka_tools: KafkaTools, running: Behind) -> Tools:
    """Kafka's tools; they ask of the cluster only where it is."""
    return Tools(kafka_tools, cast("Any", running))


@pytest.fixture
def topic(running: Behind) -> str:
    """A new topic of two partitions."""
    name = f"orders-{uuid4()}"

    async def create() -> None:
        async with running.admin() as admin:
            (await admin.create_topics([NewTopic(name, 2)])).require()

    asyncio.run(create())
    return name
