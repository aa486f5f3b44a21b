"""aiokafka, in the event loop of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest

from doorkeeper import Doorkeeper

aiokafka = pytest.importorskip("aiokafka")
aiokafka_admin = pytest.importorskip("aiokafka.admin")

PATIENCE_SECONDS = 20
CODECS = [None, "gzip", "snappy", "lz4", "zstd"]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 3 * PATIENCE_SECONDS))


@asynccontextmanager
async def started(client: Any) -> AsyncIterator[Any]:
    await client.start()
    try:
        yield client
    finally:
        await (client.stop() if hasattr(client, "stop") else client.close())


async def send(running: Doorkeeper, topic: str, count: int, **settings: Any) -> list[int]:
    """Produce numbers to partition 0, and return their offsets."""
    async with started(aiokafka.AIOKafkaProducer(bootstrap_servers=running.bootstrap_servers, **settings)) as producer:
        sent = [
            await producer.send(topic, b"%d" % number, partition=0, timestamp_ms=1_700_000_000_000 + number)
            for number in range(count)
        ]
        return [(await one).offset for one in sent]


def consumer_of(running: Doorkeeper, *topics: str, group: str | None = None, **settings: Any) -> Any:
    usual = {"bootstrap_servers": running.bootstrap_servers, "auto_offset_reset": "earliest"}
    return aiokafka.AIOKafkaConsumer(*topics, group_id=group, enable_auto_commit=False, **usual, **settings)


async def receive(consumer: Any, count: int) -> list[bytes]:
    return [(await asyncio.wait_for(consumer.getone(), PATIENCE_SECONDS)).value for _ in range(count)]


@pytest.mark.parametrize("codec", CODECS)
def test_reads_what_it_wrote(running: Doorkeeper, topic: str, codec: str | None) -> None:
    async def story() -> None:
        assert await send(running, topic, 30, compression_type=codec) == list(range(30))
        async with started(consumer_of(running, topic)) as consumer:
            assert await receive(consumer, 30) == [b"%d" % number for number in range(30)]

    run(story())


def test_produces_idempotently(running: Doorkeeper, topic: str) -> None:
    async def story() -> None:
        assert await send(running, topic, 10, enable_idempotence=True) == list(range(10))

    run(story())


def test_finds_offsets_and_seeks(running: Doorkeeper, topic: str) -> None:
    async def story() -> None:
        await send(running, topic, 5)
        where = aiokafka.TopicPartition(topic, 0)
        async with started(consumer_of(running)) as consumer:
            consumer.assign([where])
            assert await consumer.beginning_offsets([where]) == {where: 0}
            assert await consumer.end_offsets([where]) == {where: 5}
            assert (await consumer.offsets_for_times({where: 1_700_000_000_003}))[where].offset == 3
            consumer.seek(where, 4)
            assert await receive(consumer, 1) == [b"4"]
            await consumer.seek_to_beginning(where)
            assert await receive(consumer, 1) == [b"0"]

    run(story())


def test_group_goes_on_where_it_stopped(running: Doorkeeper, topic: str) -> None:
    async def story() -> None:
        group = f"readers-{uuid4()}"
        await send(running, topic, 3)
        where = aiokafka.TopicPartition(topic, 0)
        async with started(consumer_of(running, topic, group=group)) as first:
            assert await receive(first, 2) == [b"0", b"1"]
            await first.commit({where: 2})
            assert await first.committed(where) == 2
        async with started(consumer_of(running, topic, group=group)) as second:
            assert await receive(second, 1) == [b"2"]

    run(story())


def test_members_share_partitions(running: Doorkeeper, topic: str) -> None:
    async def story() -> None:
        group = f"readers-{uuid4()}"
        quick: dict[str, Any] = {"group": group, "heartbeat_interval_ms": 200}
        async with started(consumer_of(running, topic, **quick)) as one:
            while len(one.assignment()) < 2:
                await one.getmany(timeout_ms=50)
            async with started(consumer_of(running, topic, **quick)) as other:
                while not (len(one.assignment()) == len(other.assignment()) == 1):
                    await asyncio.gather(one.getmany(timeout_ms=50), other.getmany(timeout_ms=50))
                assert one.assignment() | other.assignment() == {
                    aiokafka.TopicPartition(topic, 0),
                    aiokafka.TopicPartition(topic, 1),
                }

    run(story())


def test_administers_topics_configs_and_groups(running: Doorkeeper, topic: str) -> None:
    async def story() -> None:
        client = aiokafka_admin.AIOKafkaAdminClient(bootstrap_servers=running.bootstrap_servers)
        async with started(client) as admin:
            name, group = f"made-{uuid4()}", f"readers-{uuid4()}"
            await admin.create_topics([aiokafka_admin.NewTopic(name, 2, 1)])
            await admin.create_partitions({name: aiokafka_admin.NewPartitions(3)})
            (described,) = await admin.describe_topics([name])
            assert len(described["partitions"]) == 3
            await admin.delete_topics([name])
            assert name not in await admin.list_topics()
            await send(running, topic, 3)
            async with started(consumer_of(running, topic, group=group)) as consumer:
                await receive(consumer, 1)
                await consumer.commit()
            assert group in repr(await admin.list_consumer_groups())
            offsets = await admin.list_consumer_group_offsets(group)
            assert offsets[aiokafka.TopicPartition(topic, 0)].offset == 1
            assert len((await admin.describe_cluster())["brokers"]) == 2

    run(story())
