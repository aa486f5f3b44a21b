"""Ledgers at the transaction versions that differ, and real Kafkas at those that a client can tell apart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.transactions.both import Both, Ours, Side, Theirs, connect
from tests.cluster.transactions.ledger import Ledger
from tests.kafka.plugin import KafkaFactory
from tests.kafka.requests import Connection


@pytest.fixture
def tv1() -> Ledger:
    return Ledger(transaction_version=1)


@pytest.fixture
def tv2() -> Ledger:
    return Ledger(transaction_version=2)


@pytest.fixture(params=[0, 1, 2], ids=["tv0", "tv1", "tv2"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    return Ledger(transaction_version=request.param)


@pytest.fixture(scope="module", params=[1, 2], ids=["tv1", "tv2"])
def cluster(request: pytest.FixtureRequest, kafka_cluster: KafkaFactory) -> Iterator[tuple[int, Connection]]:
    version: int = request.param
    kafka = kafka_cluster(
        f"transactions-{version}",
        properties={"auto.create.topics.enable": "false"},
        format_arguments=("--feature", f"transaction.version={version}"),
    )
    connection = connect(kafka)
    yield version, connection
    connection.close()


@pytest.fixture
def both(cluster: tuple[int, Connection], request: pytest.FixtureRequest) -> Both:
    version, connection = cluster
    sides = (Side(Theirs(connection)), Side(Ours(Ledger(transaction_version=version))))
    return Both(request.node.name, sides)
