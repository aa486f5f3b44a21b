"""The suites of the embedded cluster's clients, through a gateway that enforces, before a real Kafka.

A real broker shows what was changed a moment later than the embedded one, which these suites count on: so a test that
fails is tried again for a bounded time.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from tests.compat.conftest import CONFIGS
from tests.compat.java_tools import Tools
from tests.compat.topics import new_topic
from tests.gateway.running import HOST, POLL_SECONDS, WAIT_SECONDS, ThreadedGateway, has_coordinator, wait_until
from tests.kafka.cluster import plan
from tests.kafka.requests import Connection, live_brokers, make_request

from doorkeeper.client import Admin
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.wire.registry import Door

if TYPE_CHECKING:
    from tests.kafka.cluster import KafkaCluster
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
    "test_broker_tells_its_versions": "knows the embedded cluster's newer versions",
    "test_partitions_are_not_moved": "moves partitions, which the embedded cluster can't",
    "test_configs_are_set_and_described[BROKER_LOGGER-1-doorkeeper.net-DEBUG]": "a logger of the embedded cluster's",
}
"""Tests that a real Kafka does not pass by itself, and why."""


LIMITS = "test_limits_through_the_gateway.py"
SHORT_TRIALS = {"group id", "transactional id"}
SHORT_REBALANCES = {"java", "franz_go"}
"""Libraries whose members come and go in a second or two."""


def is_long(item: pytest.Item) -> bool:
    if item.path.name != LIMITS:
        return item.path.name.startswith("test_java")
    asked = cast("pytest.Function", item).callspec.params
    if "trial" not in asked:
        return asked["library"] not in SHORT_REBALANCES
    return item.parent is not item.getparent(pytest.Module) and asked["trial"] not in SHORT_TRIALS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent != HERE:
            continue
        if is_long(item):
            item.add_marker(pytest.mark.long)
        reason = NOT_WITHOUT_THE_GATEWAY_EITHER.get(item.name)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"nor without the gateway: {reason}"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if pyfuncitem.path.parent != HERE:
        return None
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        with suppress(Exception):
            call(pyfuncitem)
            return True
        time.sleep(POLL_SECONDS)
    call(pyfuncitem)
    return True


def call(item: pytest.Function) -> None:
    item.obj(**{name: item.funcargs[name] for name in inspect.signature(item.obj).parameters})


@dataclass(frozen=True, slots=True)
class Behind:
    """What these tests ask of the cluster that they talk to."""

    bootstrap_servers: str
    bootstrap_controllers: str
    gateway: ThreadedGateway
    kafka: KafkaCluster

    def admin(self) -> Admin:
        return Admin(self.bootstrap_servers)

    @property
    def broker_ids(self) -> list[int]:
        return list(self.kafka.broker_addresses)

    @property
    def log_dirs(self) -> list[Path]:
        return [Path(self.kafka.static_properties(node_id)["log.dirs"]) for node_id in self.kafka.nodes]

    def connect(self, door: Door, node_id: int) -> Connection:
        return self.gateway.connect(NodeKind(door), node_id)


def is_known_everywhere(gateway: ThreadedGateway, topic: str) -> bool:
    """Whether every broker has heard of a new topic: each is told by itself."""
    with gateway.connect() as connection:
        brokers = live_brokers(connection)
    return all(is_known(gateway, node_id, topic) for node_id in brokers)


def is_known(gateway: ThreadedGateway, node_id: int, topic: str) -> bool:
    with gateway.connect(NodeKind.BROKER, node_id) as connection:
        asked = make_request(3, 4, topics=[{"name": topic}], allow_auto_topic_creation=False)
        (told,) = connection.call(asked).topics
    return not told.error_code and not any(one.error_code for one in told.partitions)


@pytest.fixture(scope="session")
def running(kafka_cluster: KafkaFactory) -> Iterator[Behind]:
    kafka = kafka_cluster("gateway-compat", nodes=plan(2), properties={**CONFIGS, **ACLS})
    ((host, port),) = kafka.controller_addresses.values()
    brokers = ("--upstream", kafka.bootstrap_servers, "--mode", "enforce")
    controllers = ("--upstream-controllers", f"{host}:{port}", "--listen-controllers", f"{HOST}:0")
    with ThreadedGateway(*brokers, *controllers) as gateway:
        wait_until(lambda: has_coordinator(gateway))
        yield Behind(gateway.bootstrap_servers, f"{HOST}:{gateway.port(NodeKind.CONTROLLER)}", gateway, kafka)


@pytest.fixture(scope="session")
def tools(kafka_tools: KafkaTools, running: Behind) -> Tools:
    """Kafka's tools, told that the cluster is where the gateway is."""
    return Tools(kafka_tools, running)


@pytest.fixture
def topic(running: Behind) -> str:
    """A new topic of two partitions, which every broker knows."""
    name = new_topic(running)
    wait_until(lambda: is_known_everywhere(running.gateway, name))
    return name
