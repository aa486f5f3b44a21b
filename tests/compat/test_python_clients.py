"""confluent-kafka (librdkafka, which speaks old versions) and kafka-python, as people use them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from doorkeeper import Doorkeeper

confluent = pytest.importorskip("confluent_kafka")
confluent_admin = pytest.importorskip("confluent_kafka.admin")
kafka_python = pytest.importorskip("kafka")

PATIENCE_SECONDS = 20
PROTOCOLS = ["classic", "consumer"]


@pytest.fixture(scope="module")
def running() -> Iterator[Doorkeeper]:
    with Doorkeeper(configs={"offsets.topic.num.partitions": "4", "num.partitions": "2"}) as kafka:
        yield kafka


@pytest.fixture
def topic(running: Doorkeeper) -> str:
    """A new topic of two partitions."""
    name = f"orders-{uuid4()}"
    admin = confluent_admin.AdminClient({"bootstrap.servers": running.bootstrap_servers})
    for future in admin.create_topics([confluent_admin.NewTopic(name, 2)]).values():
        future.result(PATIENCE_SECONDS)
    return name


# --- confluent-kafka ---


def send(running: Doorkeeper, topic: str, values: list[bytes], **settings: object) -> list[Any]:
    """Produce, and return what was delivered."""
    delivered: list[Any] = []

    def note(error: object, message: Any) -> None:
        assert error is None, error
        delivered.append(message)

    producer = confluent.Producer({"bootstrap.servers": running.bootstrap_servers, "linger.ms": 1, **settings})
    for value in values:
        producer.produce(topic, value, key=value, headers={"h": value}, partition=0, on_delivery=note)
    assert producer.flush(PATIENCE_SECONDS) == 0
    return delivered


def consumer_of(running: Doorkeeper, group: str, protocol: str = "classic", **settings: object) -> Any:
    usual = {"bootstrap.servers": running.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    return confluent.Consumer({**usual, "group.protocol": protocol, "enable.auto.commit": False, **settings})


def receive(consumer: Any, count: int) -> list[Any]:
    received: list[Any] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(received) < count and time.monotonic() < deadline:
        for message in consumer.consume(count - len(received), timeout=1.0):
            assert message.error() is None, message.error()
            received.append(message)
    return received


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_confluent_reads_what_it_wrote(running: Doorkeeper, topic: str, codec: str) -> None:
    values = [b"%d" % number * 50 for number in range(200)]
    delivered = send(running, topic, values, **{"compression.type": codec})
    assert sorted(one.offset() for one in delivered) == list(range(200))
    consumer = consumer_of(running, "unused")
    consumer.assign([confluent.TopicPartition(topic, 0, 0)])
    received = receive(consumer, 200)
    consumer.close()
    assert [one.value() for one in received] == values
    assert received[0].headers() == [("h", values[0])]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_confluent_produces_with_any_acks(running: Doorkeeper, topic: str, acks: str) -> None:
    send(running, topic, [b"a"], acks=acks)
    consumer = consumer_of(running, "unused")
    consumer.assign([confluent.TopicPartition(topic, 0, 0)])
    assert [one.value() for one in receive(consumer, 1)] == [b"a"]
    consumer.close()


def test_confluent_produces_idempotently(running: Doorkeeper, topic: str) -> None:
    send(running, topic, [b"%d" % number for number in range(100)], **{"enable.idempotence": True})
    consumer = consumer_of(running, "unused")
    assert consumer.get_watermark_offsets(confluent.TopicPartition(topic, 0), timeout=PATIENCE_SECONDS) == (0, 100)
    consumer.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_confluent_group_goes_on_where_it_stopped(running: Doorkeeper, topic: str, protocol: str) -> None:
    group = f"readers-{uuid4()}"
    send(running, topic, [b"a", b"b", b"c"])
    first = consumer_of(running, group, protocol)
    first.subscribe([topic])
    assert [one.value() for one in receive(first, 2)] == [b"a", b"b"]
    first.commit(offsets=[confluent.TopicPartition(topic, 0, 2)], asynchronous=False)
    first.close()
    second = consumer_of(running, group, protocol)
    second.subscribe([topic])
    assert [one.value() for one in receive(second, 1)] == [b"c"]
    second.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_confluent_members_share_partitions(running: Doorkeeper, topic: str, protocol: str) -> None:
    group = f"readers-{uuid4()}"
    quick = {"heartbeat.interval.ms": 200} if protocol == "classic" else {}
    members = [consumer_of(running, group, protocol, **quick) for _ in range(2)]
    for one in members:
        one.subscribe([topic])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for one in members:
            one.poll(0.05)
        owned = [sorted(part.partition for part in one.assignment()) for one in members]
        if sorted(owned) == [[0], [1]]:
            break
    for one in members:
        one.close()
    assert sorted(owned) == [[0], [1]]


def test_confluent_finds_offsets_by_time(running: Doorkeeper, topic: str) -> None:
    send(running, topic, [b"a"])
    consumer = consumer_of(running, "unused")
    found = consumer.offsets_for_times([confluent.TopicPartition(topic, 0, 1)], timeout=PATIENCE_SECONDS)
    assert [one.offset for one in found] == [0]
    consumer.close()


def test_confluent_administers_groups(running: Doorkeeper, topic: str) -> None:
    group = f"readers-{uuid4()}"
    send(running, topic, [b"a"])
    consumer = consumer_of(running, group)
    consumer.subscribe([topic])
    receive(consumer, 1)
    consumer.commit(asynchronous=False)
    consumer.close()
    admin = confluent_admin.AdminClient({"bootstrap.servers": running.bootstrap_servers})
    listed = admin.list_consumer_groups().result(PATIENCE_SECONDS).valid
    assert group in {one.group_id for one in listed}
    described = admin.describe_consumer_groups([group])[group].result(PATIENCE_SECONDS)
    assert described.state.name == "EMPTY"
    asked = confluent.ConsumerGroupTopicPartitions(group)
    offsets = admin.list_consumer_group_offsets([asked])[group].result(PATIENCE_SECONDS)
    assert [(one.topic, one.offset) for one in offsets.topic_partitions] == [(topic, 1)]
    admin.delete_consumer_groups([group])[group].result(PATIENCE_SECONDS)
    assert group not in {one.group_id for one in admin.list_consumer_groups().result(PATIENCE_SECONDS).valid}


def test_confluent_deletes_records(running: Doorkeeper, topic: str) -> None:
    send(running, topic, [b"a", b"b"])
    admin = confluent_admin.AdminClient({"bootstrap.servers": running.bootstrap_servers})
    where = confluent.TopicPartition(topic, 0, 1)
    assert admin.delete_records([where])[where].result(PATIENCE_SECONDS).low_watermark == 1


# --- kafka-python ---


def test_kafka_python_reads_what_it_wrote(running: Doorkeeper, topic: str) -> None:
    producer = kafka_python.KafkaProducer(bootstrap_servers=running.bootstrap_servers)
    sent = [producer.send(topic, b"%d" % number, partition=0) for number in range(20)]
    assert [one.get(PATIENCE_SECONDS).offset for one in sent] == list(range(20))
    producer.close()
    consumer = kafka_python.KafkaConsumer(
        topic, bootstrap_servers=running.bootstrap_servers, group_id=f"g-{uuid4()}", auto_offset_reset="earliest"
    )
    assert [next(consumer).value for _ in range(20)] == [b"%d" % number for number in range(20)]
    consumer.commit()
    where = kafka_python.TopicPartition(topic, 0)
    assert consumer.committed(where) == 20
    assert consumer.end_offsets([where]) == {where: 20}
    consumer.close()


def test_topic_is_made_by_the_first_who_produces_to_it(running: Doorkeeper) -> None:
    name = f"fresh-{uuid4()}"
    assert [one.offset() for one in send(running, name, [b"a"])] == [0]
