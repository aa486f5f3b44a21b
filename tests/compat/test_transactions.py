"""Transactions of confluent-kafka, kafka-python and aiokafka: each story with each client, across two brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from tests.compat.topics import new_topic
from tests.compat.transactional_clients import CLIENTS, READERS, TransactionalClient, committed_offset, read_confluent

from doorkeeper import Doorkeeper

CONFIGS = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
}
Made = Callable[..., TransactionalClient]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Doorkeeper]:
    with Doorkeeper(brokers=2, configs=CONFIGS) as running:
        yield running


@pytest.fixture
def orders(kafka: Doorkeeper) -> str:
    """A new topic of two partitions."""
    return new_topic(kafka)


@pytest.fixture(params=CLIENTS, ids=lambda kind: kind.__name__)
def make(request: pytest.FixtureRequest, kafka: Doorkeeper) -> Iterator[Made]:
    """A function that makes producers of one library."""
    made: list[TransactionalClient] = []

    def new(transactional_id: str | None = None, timeout_ms: int = 60_000) -> TransactionalClient:
        client: TransactionalClient = request.param(
            kafka.bootstrap_servers, transactional_id or f"id-{uuid4()}", timeout_ms
        )
        made.append(client)
        client.init()
        return client

    yield new
    for one in made:
        one.close()


def transact(client: TransactionalClient, topic: str, *values: bytes, commit: bool = True) -> None:
    client.begin()
    for value in values:
        client.send(topic, value)
    if commit:
        client.commit()
    else:
        client.abort()


def test_committed_records_are_read_and_aborted_ones_are_not(kafka: Doorkeeper, orders: str, make: Made) -> None:
    client = make()
    transact(client, orders, b"1", b"2")
    transact(client, orders, b"3", commit=False)
    transact(client, orders, b"4")
    for read in READERS:
        assert read(kafka.bootstrap_servers, orders, 3) == [b"1", b"2", b"4"]


def test_a_transaction_spans_partitions_of_both_brokers(kafka: Doorkeeper, orders: str, make: Made) -> None:
    client = make()
    client.begin()
    for partition in (0, 1):
        client.send(orders, b"%d" % partition, partition)
    client.commit()
    assert read_confluent(kafka.bootstrap_servers, orders, 1) == [b"0"]


def test_offsets_are_committed_with_the_records(kafka: Doorkeeper, orders: str, make: Made) -> None:
    group = f"group-{uuid4()}"
    client = make()
    client.begin()
    client.send(orders, b"transformed")
    client.send_offset(group, orders, 7)
    client.commit()
    assert committed_offset(kafka.bootstrap_servers, group, orders) == 7
    client.begin()
    client.send_offset(group, orders, 9)
    client.abort()
    assert committed_offset(kafka.bootstrap_servers, group, orders) == 7


def test_a_zombie_is_fenced(kafka: Doorkeeper, orders: str, make: Made) -> None:
    name = f"id-{uuid4()}"
    zombie = make(name)
    zombie.begin()
    zombie.send(orders, b"of the zombie")
    successor = make(name)
    with pytest.raises(Exception, match=r"(?i)fenced|epoch"):
        zombie.commit()
    transact(successor, orders, b"of its successor")
    assert read_confluent(kafka.bootstrap_servers, orders, 1) == [b"of its successor"]


def test_a_transaction_that_takes_too_long_is_aborted(kafka: Doorkeeper, orders: str, make: Made) -> None:
    slow = make(timeout_ms=1_000)
    slow.begin()
    slow.send(orders, b"too slow")
    transact(make(), orders, b"after")
    # Nothing is read before the coordinator has ended the transaction in front.
    assert read_confluent(kafka.bootstrap_servers, orders, 1) == [b"after"]
    with pytest.raises(Exception, match=r"(?i)fenced|epoch|state|abort"):
        slow.commit()
