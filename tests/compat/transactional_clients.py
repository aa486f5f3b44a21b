"""Transactional producers of three Python clients behind one face, so that one set of stories serves them all."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest

aiokafka = pytest.importorskip("aiokafka")
confluent_kafka = pytest.importorskip("confluent_kafka")
kafka = pytest.importorskip("kafka")

T = TypeVar("T")

PATIENCE_SECONDS = 20
QUIET_SECONDS = 3


class TransactionalClient(ABC):
    """One producer; `init` must have been called before all else."""

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        self.servers = servers

    @abstractmethod
    def init(self) -> None: ...

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def send(self, topic: str, value: bytes, partition: int = 0) -> None:
        """Send, and wait until the broker has it."""

    @abstractmethod
    def send_offset(self, group: str, topic: str, offset: int) -> None: ...

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


class Confluent(TransactionalClient):
    """confluent-kafka: librdkafka, which knows transaction version 1."""

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        super().__init__(servers, transactional_id)
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": servers,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 0,
                "log_level": 0,
            }
        )

    def init(self) -> None:
        self._producer.init_transactions(PATIENCE_SECONDS)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes, partition: int = 0) -> None:
        errors: list[Any] = []
        self._producer.produce(topic, value, partition=partition, on_delivery=lambda error, _: errors.append(error))
        self._producer.flush(PATIENCE_SECONDS)
        assert errors, "no answer"
        if errors[0] is not None:
            raise confluent_kafka.KafkaException(errors[0])

    def send_offset(self, group: str, topic: str, offset: int) -> None:
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.servers, "group.id": group})
        metadata = consumer.consumer_group_metadata()
        places = [confluent_kafka.TopicPartition(topic, 0, offset)]
        self._producer.send_offsets_to_transaction(places, metadata, PATIENCE_SECONDS)
        consumer.close()

    def commit(self) -> None:
        self._producer.commit_transaction(PATIENCE_SECONDS)

    def abort(self) -> None:
        self._producer.abort_transaction(PATIENCE_SECONDS)

    def close(self) -> None:
        self._producer.purge()


class KafkaPython(TransactionalClient):
    """kafka-python."""

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        super().__init__(servers, transactional_id)
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=servers, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )

    def init(self) -> None:
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes, partition: int = 0) -> None:
        self._producer.send(topic, value, partition=partition).get(PATIENCE_SECONDS)

    def send_offset(self, group: str, topic: str, offset: int) -> None:
        places = {kafka.TopicPartition(topic, 0): kafka.OffsetAndMetadata(offset, "", -1)}
        self._producer.send_offsets_to_transaction(places, group)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(QUIET_SECONDS)


class Aiokafka(TransactionalClient):
    """aiokafka, in a loop of its own."""

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int = 60_000) -> None:
        super().__init__(servers, transactional_id)
        self._loop = asyncio.new_event_loop()

        async def make() -> Any:
            return aiokafka.AIOKafkaProducer(
                bootstrap_servers=servers, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
            )

        self._producer = self._loop.run_until_complete(make())

    def _run(self, work: Awaitable[T]) -> T:
        return self._loop.run_until_complete(asyncio.wait_for(work, PATIENCE_SECONDS))

    def init(self) -> None:
        self._run(self._producer.start())

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, topic: str, value: bytes, partition: int = 0) -> None:
        self._run(self._producer.send_and_wait(topic, value, partition=partition))

    def send_offset(self, group: str, topic: str, offset: int) -> None:
        self._run(self._producer.send_offsets_to_transaction({aiokafka.TopicPartition(topic, 0): offset}, group))

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def close(self) -> None:
        try:
            self._loop.run_until_complete(asyncio.wait_for(self._producer.stop(), QUIET_SECONDS))
        finally:
            self._loop.close()


CLIENTS: list[type[TransactionalClient]] = [Confluent, KafkaPython, Aiokafka]


# --- readers of committed records ---


def read_confluent(servers: str, topic: str, count: int) -> list[bytes]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "unused", "isolation.level": "read_committed", "log_level": 0}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None, message.error()
            values.append(message.value())
    consumer.close()
    return values


def read_kafka_python(servers: str, topic: str, count: int) -> list[bytes]:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=servers, isolation_level="read_committed", auto_offset_reset="earliest", group_id=None
    )
    consumer.assign([kafka.TopicPartition(topic, 0)])
    values: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(values) < count and time.monotonic() < deadline:
        for records in consumer.poll(200).values():
            values += [one.value for one in records]
    consumer.close()
    return values


def read_aiokafka(servers: str, topic: str, count: int) -> list[bytes]:
    async def read() -> list[bytes]:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=servers, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            consumer.assign([aiokafka.TopicPartition(topic, 0)])
            return [(await asyncio.wait_for(consumer.getone(), PATIENCE_SECONDS)).value for _ in range(count)]
        finally:
            await consumer.stop()

    return asyncio.run(read())


READERS = [read_confluent, read_kafka_python, read_aiokafka]


def committed_offset(servers: str, group: str, topic: str) -> int:
    """The offset of partition 0 that a group has committed; -1 if it has none."""

    async def fetch() -> int:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=servers, group_id=group)
        await consumer.start()
        try:
            found = await consumer.committed(aiokafka.TopicPartition(topic, 0))
        finally:
            await consumer.stop()
        return -1 if found is None else int(found)

    return asyncio.run(asyncio.wait_for(fetch(), PATIENCE_SECONDS))
