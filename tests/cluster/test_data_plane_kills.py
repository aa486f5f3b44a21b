"""kill -9 under the load of real clients: what was acknowledged is there, once, and what was aborted is never read."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.kill_load import (
    PARTITIONS,
    ConfluentTransactions,
    IdempotentLoad,
    JavaTransactions,
    Load,
    Reader,
    Transactions,
)
from tests.cluster.processes import ServeProcess
from tests.cluster.records import ask, create_topic
from tests.cluster.running import HOST
from tests.cluster.transactional import Cluster, Deadline
from tests.kafka.requests import Connection

from doorkeeper.wire.registry import Door

BROKERS: Final = 2
DOORS: Final = BROKERS + 1
ORDERS, PAYMENTS, GROUP = "orders", "payments", "payers"
RECORDS_PER_ROUND, TRANSACTIONS_PER_ROUND = 100, 4
SHORT, LONG = 10, 200
FIRST_PORT, LAST_PORT = 20_000, 30_000
"""Below those that the kernel gives to outgoing connections, so that nobody takes them while the brokers are down."""
OFFSET_FETCH: Final = 9
CONFIGS = {"offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4"}

MakeTransactions = Callable[[str], Transactions]


def is_free(port: int) -> bool:
    with closing(socket.socket()) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """The first of as many free ports in a row as there are doors."""
    return next(
        first for first in range(FIRST_PORT, LAST_PORT, DOORS) if all(is_free(first + door) for door in range(DOORS))
    )


class Story:
    """The lives of one cluster, each ended by a kill, and the clients that live through all of them."""

    def __init__(self, folder: Path, make: MakeTransactions) -> None:
        port = free_port()
        overrides = [word for key, value in CONFIGS.items() for word in ("--override", f"{key}={value}")]
        self._arguments = ("--port", str(port), "--data", str(folder), "--brokers", str(BROKERS), *overrides)
        self._servers = f"{HOST}:{port},{HOST}:{port + DOORS - 1}"
        self._make = make

    def _serve(self) -> ServeProcess:
        return ServeProcess(*self._arguments).wait_until_listening(DOORS)

    def tell(self, rounds: int) -> None:
        served = self._serve()
        loads: list[Load] = []
        try:
            with served.connect() as connection:
                for topic in (ORDERS, PAYMENTS):
                    create_topic(connection, topic, partitions=PARTITIONS)
            sender = IdempotentLoad(self._servers, ORDERS)
            transactions = self._make(self._servers)
            along = Reader(self._servers, (ORDERS, PAYMENTS))
            loads += [sender, transactions, along]
            for load in loads:
                load.start()
            for _ in range(rounds):
                sender.advance(RECORDS_PER_ROUND)
                transactions.advance(TRANSACTIONS_PER_ROUND)
                served.kill()
                served = self._serve()
            for load in loads:
                load.stop()
            with ExitStack() as stack:
                nodes = {one: stack.enter_context(served.connect(Door.BROKER, one)) for one in (1, BROKERS)}
                offset = committed_offset(Cluster(nodes))
            read = Reader(self._servers, (ORDERS, PAYMENTS)).read_to_the_end()
        finally:
            served.kill()
            for load in loads:
                load.abandon()
        assert len(transactions.outcomes) >= rounds * TRANSACTIONS_PER_ROUND
        sender.check(read[ORDERS])
        transactions.check(read[PAYMENTS], offset)
        for topic, partitions in along.read.items():
            for index, values in partitions.items():
                assert values == read[topic][index][: len(values)], "who read along has read something else"


def committed_offset(cluster: Cluster) -> int:
    coordinator: Connection = cluster.coordinator(GROUP, 0)
    deadline = Deadline("the offset")
    asked = {"group_id": GROUP, "require_stable": True, "topics": [{"name": PAYMENTS, "partition_indexes": [0]}]}
    while deadline.holds():
        answer = ask(coordinator, OFFSET_FETCH, 7, **asked)
        if answer.error_code is ErrorCode.none and answer.topics[0].partitions[0].error_code is ErrorCode.none:
            return int(answer.topics[0].partitions[0].committed_offset)
    raise AssertionError


def librdkafka(servers: str) -> Transactions:
    return ConfluentTransactions(servers, PAYMENTS, GROUP)


def java(jars: Path) -> MakeTransactions:
    return lambda servers: JavaTransactions(jars, servers, PAYMENTS, GROUP)


def test_nothing_acknowledged_is_lost_or_doubled(tmp_path: Path) -> None:
    Story(tmp_path, librdkafka).tell(SHORT)


@pytest.mark.kafka
def test_nothing_is_lost_or_doubled_where_transactions_end_with_another_epoch(tmp_path: Path, kafka_jars: Path) -> None:
    Story(tmp_path, java(kafka_jars)).tell(SHORT)


@pytest.mark.long
def test_nothing_acknowledged_is_lost_or_doubled_in_many_rounds(tmp_path: Path) -> None:
    Story(tmp_path, librdkafka).tell(LONG)


@pytest.mark.long
@pytest.mark.kafka
def test_nothing_is_lost_or_doubled_with_new_epochs_in_many_rounds(tmp_path: Path, kafka_jars: Path) -> None:
    Story(tmp_path, java(kafka_jars)).tell(LONG)
