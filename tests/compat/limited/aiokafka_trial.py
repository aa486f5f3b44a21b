"""aiokafka."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.compat.limited.trials import NOTHING, REBALANCE, Asked, Seen

aiokafka = pytest.importorskip("aiokafka")


def attempt(asked: Asked) -> Seen:
    return asyncio.run(_attempt(asked))


async def _attempt(asked: Asked) -> Seen:
    try:
        async with asyncio.timeout(asked.seconds + 2):
            if asked.trial == REBALANCE:
                await _rebalance(asked)
            else:
                await (_produce if asked.is_producer else _consume)(asked)
    except TimeoutError:
        return Seen(False, NOTHING)
    except Exception as error:  # whatever reaches the user
        return Seen(False, f"{type(error).__name__}({error})")
    return Seen(True, "")


async def _produce(asked: Asked) -> None:
    settings: dict[str, Any] = {"bootstrap_servers": asked.servers, "request_timeout_ms": asked.seconds * 1000}
    if asked.trial == "producer client id":
        settings["client_id"] = asked.value
    is_transactional = asked.trial == "transactional id"
    if is_transactional:
        settings["transactional_id"] = asked.value
    producer = aiokafka.AIOKafkaProducer(**settings)
    try:
        await producer.start()
        if is_transactional:
            await producer.begin_transaction()
        topic = asked.value if asked.trial == "topic name" else asked.topic
        await producer.send_and_wait(topic, b"1", partition=0)
        if is_transactional:
            await producer.commit_transaction()
    finally:
        await producer.stop()


async def _consume(asked: Asked) -> None:
    settings: dict[str, Any] = {"bootstrap_servers": asked.servers, "group_id": asked.group}
    settings |= {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    keys = {"consumer client id": "client_id", "group id": "group_id", "group instance id": "group_instance_id"}
    settings[keys.get(asked.trial, "client_rack")] = asked.value
    consumer = aiokafka.AIOKafkaConsumer(asked.topic, **settings)
    try:
        await consumer.start()
        await consumer.getone()
        await consumer.commit()
    finally:
        await consumer.stop()


async def _rebalance(asked: Asked) -> None:
    settings = {"bootstrap_servers": asked.servers, "group_id": asked.group, "heartbeat_interval_ms": 200}
    members = [aiokafka.AIOKafkaConsumer(asked.topic, **settings) for _ in range(2)]

    async def settled(*shares: int) -> None:
        while tuple(len(member.assignment()) for member in members[: len(shares)]) != shares:
            await asyncio.sleep(0.05)

    await members[0].start()
    try:
        await settled(2)
        await members[1].start()
        try:
            await settled(1, 1)
        finally:
            await members[1].stop()
        await settled(2)
    finally:
        await members[0].stop()
