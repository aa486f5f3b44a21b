"""Idempotent producers: ids from the controller, duplicates answered, gaps refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import INIT_PRODUCER_ID, ask, batch, create_topic, fetch, fetched, produce
from tests.cluster.running import RunningCluster
from tests.kafka.requests import Connection


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data"), brokers=2) as running:
        yield running


@pytest.fixture
def connection(cluster: RunningCluster) -> Iterator[Connection]:
    with cluster.connect() as opened:
        yield opened


def new_producer(connection: Connection, version: int = 5) -> int:
    answer = ask(connection, INIT_PRODUCER_ID, version, transactional_id=None)
    assert (answer.error_code, answer.producer_epoch) == (ErrorCode.none, 0)
    return int(answer.producer_id)


def test_every_producer_gets_another_id_from_whichever_broker(cluster: RunningCluster) -> None:
    ids = []
    for node_id in (1, 2):
        with cluster.connect(node_id=node_id) as connection:
            ids += [new_producer(connection, version) for version in (0, 5, 5)]
    assert len(set(ids)) == len(ids)


def test_ids_go_on_beyond_a_block(cluster: RunningCluster) -> None:
    with cluster.connect() as connection:
        ids = [new_producer(connection) for _ in range(1001)]
    assert len(set(ids)) == 1001


def test_half_known_producer_is_refused(connection: Connection) -> None:
    answer = ask(connection, INIT_PRODUCER_ID, 5, transactional_id=None, producer_id=5, producer_epoch=-1)
    assert (answer.error_code, answer.producer_id) == (ErrorCode.invalid_request, -1)


def test_repeated_batch_is_answered_as_the_first_time_and_a_gap_is_refused(cluster: RunningCluster) -> None:
    with cluster.connect() as connection:
        create_topic(connection, "once")
        producer_id = new_producer(connection)
        partitions = cluster.node().broker.image.topics.by_name["once"].partitions  # type: ignore[union-attr]
    with cluster.connect(node_id=partitions[0].leader) as connection:

        def send(value: bytes, sequence: int) -> Any:
            return produce(
                connection, "once", batch(value, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
            )

        first, again, gap = send(b"a", 0), send(b"a", 0), send(b"c", 2)
        assert first.error_code == again.error_code == ErrorCode.none
        assert first.base_offset == again.base_offset
        assert gap.error_code == ErrorCode.out_of_order_sequence_number
        assert fetched(fetch(connection, "once")) == [b"a"]
