"""confluent-kafka (librdkafka, which speaks old versions of many APIs), as people use it: records and groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from doorkeeper import Doorkeeper

confluent = pytest.importorskip("confluent_kafka")

PATIENCE_SECONDS = 20
PROTOCOLS = ["classic", "consumer"]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def send(running: Doorkeeper, topic: str, values: list[bytes], **settings: Any) -> list[Any]:
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


def consumer_of(running: Doorkeeper, group: str, protocol: str = "classic", **settings: Any) -> Any:
    usual = {"bootstrap.servers": running.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    quick = {"heartbeat.interval.ms": 200} if protocol == "classic" else {}
    return confluent.Consumer({**usual, "group.protocol": protocol, "enable.auto.commit": False, **quick, **settings})


def receive(consumer: Any, count: int) -> list[Any]:
    received: list[Any] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(received) < count and time.monotonic() < deadline:
        for message in consumer.consume(count - len(received), timeout=1.0):
            assert message.error() is None, message.error()
            received.append(message)
    return received


def owned(members: list[Any]) -> list[list[int]]:
    """Which partitions each member has now, as the members poll once."""
    for one in members:
        one.poll(0.05)
    return [sorted(part.partition for part in one.assignment()) for one in members]


def settle(members: list[Any], wanted: Callable[[list[list[int]]], bool]) -> list[list[int]]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not wanted(found := owned(members)):
        assert time.monotonic() < deadline, found
    return found


# --- records ---


@pytest.mark.parametrize("codec", CODECS)
def test_reads_what_it_wrote(running: Doorkeeper, topic: str, codec: str) -> None:
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
def test_produces_with_any_acks(running: Doorkeeper, topic: str, acks: str) -> None:
    send(running, topic, [b"a"], acks=acks)
    consumer = consumer_of(running, "unused")
    consumer.assign([confluent.TopicPartition(topic, 0, 0)])
    assert [one.value() for one in receive(consumer, 1)] == [b"a"]
    consumer.close()


def test_produces_idempotently(running: Doorkeeper, topic: str) -> None:
    send(running, topic, [b"%d" % number for number in range(100)], **{"enable.idempotence": True})
    consumer = consumer_of(running, "unused")
    assert consumer.get_watermark_offsets(confluent.TopicPartition(topic, 0), timeout=PATIENCE_SECONDS) == (0, 100)
    consumer.close()


def test_record_that_is_too_large_is_refused_and_the_next_goes_on(running: Doorkeeper, topic: str) -> None:
    told: list[Any] = []
    producer = confluent.Producer({"bootstrap.servers": running.bootstrap_servers, "message.max.bytes": 5_000_000})
    for value in (b"x" * 2_000_000, b"small"):
        producer.produce(topic, value, partition=0, on_delivery=lambda error, _: told.append(error))
        producer.flush(PATIENCE_SECONDS)
    assert told[0].code() == confluent.KafkaError.MSG_SIZE_TOO_LARGE
    assert told[1] is None


def test_topic_is_made_by_the_first_who_produces_to_it(running: Doorkeeper) -> None:
    assert [one.offset() for one in send(running, f"fresh-{uuid4()}", [b"a"])] == [0]


def test_finds_offsets_by_time(running: Doorkeeper, topic: str) -> None:
    send(running, topic, [b"a"])
    consumer = consumer_of(running, "unused")
    asked = [confluent.TopicPartition(topic, 0, 1), confluent.TopicPartition(topic, 0, 2**45)]
    early, late = (consumer.offsets_for_times([one], timeout=PATIENCE_SECONDS)[0].offset for one in asked)
    assert (early, late) == (0, confluent.OFFSET_END)
    consumer.close()


def test_seeks_pauses_and_resumes(running: Doorkeeper, topic: str) -> None:
    send(running, topic, [b"a", b"b", b"c"])
    consumer = consumer_of(running, "unused")
    where = confluent.TopicPartition(topic, 0, 0)
    consumer.assign([where])
    assert len(receive(consumer, 3)) == 3
    consumer.seek(confluent.TopicPartition(topic, 0, 1))
    assert [one.value() for one in receive(consumer, 2)] == [b"b", b"c"]
    consumer.pause([where])
    send(running, topic, [b"d"])
    assert consumer.poll(0.3) is None
    consumer.resume([where])
    assert [one.value() for one in receive(consumer, 1)] == [b"d"]
    consumer.close()


def test_offset_out_of_range_is_reset_or_told(running: Doorkeeper, topic: str) -> None:
    send(running, topic, [b"a"])
    reset = consumer_of(running, "unused")
    reset.assign([confluent.TopicPartition(topic, 0, 99)])
    assert [one.value() for one in receive(reset, 1)] == [b"a"]
    reset.close()
    strict = consumer_of(running, "unused", **{"auto.offset.reset": "error"})
    strict.assign([confluent.TopicPartition(topic, 0, 99)])
    message = strict.poll(PATIENCE_SECONDS)
    assert message.error().code() == confluent.KafkaError._AUTO_OFFSET_RESET
    strict.close()


# --- groups ---


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_group_goes_on_where_it_stopped(running: Doorkeeper, topic: str, protocol: str) -> None:
    group = f"readers-{uuid4()}"
    send(running, topic, [b"a", b"b", b"c"])
    first = consumer_of(running, group, protocol)
    first.subscribe([topic])
    assert [one.value() for one in receive(first, 2)] == [b"a", b"b"]
    first.commit(offsets=[confluent.TopicPartition(topic, 0, 2, "note")], asynchronous=False)
    assert [(one.offset, one.metadata) for one in first.committed([confluent.TopicPartition(topic, 0)])] == [
        (2, "note")
    ]
    first.close()
    second = consumer_of(running, group, protocol)
    second.subscribe([topic])
    assert [one.value() for one in receive(second, 1)] == [b"c"]
    second.close()


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_of_the_classic_protocol_share_partitions(running: Doorkeeper, topic: str, strategy: str) -> None:
    share(running, topic, "classic", **{"partition.assignment.strategy": strategy})


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_of_the_consumer_protocol_share_partitions(running: Doorkeeper, topic: str, assignor: str) -> None:
    share(running, topic, "consumer", **{"group.remote.assignor": assignor})


def share(running: Doorkeeper, topic: str, protocol: str, **settings: Any) -> None:
    """One member has all, then two have one each, then one has all again."""
    group = f"readers-{uuid4()}"
    members = [consumer_of(running, group, protocol, **settings)]
    members[0].subscribe([topic])
    settle(members, lambda found: found == [[0, 1]])
    members.append(consumer_of(running, group, protocol, **settings))
    members[1].subscribe([topic])
    settle(members, lambda found: sorted(found) == [[0], [1]])
    members.pop().close()
    settle(members, lambda found: found == [[0, 1]])
    members.pop().close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_static_member_comes_back_to_its_partitions(running: Doorkeeper, topic: str, protocol: str) -> None:
    group = f"readers-{uuid4()}"
    names = ["one", "two"]
    members = [consumer_of(running, group, protocol, **{"group.instance.id": name}) for name in names]
    for one in members:
        one.subscribe([topic])
    before = settle(members, lambda found: sorted(found) == [[0], [1]])
    members[1].close()
    members[1] = consumer_of(running, group, protocol, **{"group.instance.id": "two"})
    members[1].subscribe([topic])
    assert settle(members, lambda found: sorted(found) == [[0], [1]]) == before
    for one in members:
        one.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_second_member_of_the_same_static_name(running: Doorkeeper, topic: str, protocol: str) -> None:
    """In the classic protocol the older one is fenced; in the newer the younger one is refused (KIP-848)."""
    group = f"readers-{uuid4()}"
    older, younger = (consumer_of(running, group, protocol, **{"group.instance.id": "one"}) for _ in range(2))
    older.subscribe([topic])
    settle([older], lambda found: found == [[0, 1]])
    younger.subscribe([topic])
    loser, word = (older, "fenced") if protocol == "classic" else (younger, "still used by another member")
    told, why = first_error([older, younger])
    assert told is loser
    assert word in why
    for one in (older, younger):
        one.close()


def first_error(members: list[Any]) -> tuple[Any, str]:
    """Who is told first that it can't go on, and why."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for one in members:
            message = one.poll(0.05)
            if message is not None and message.error() is not None:
                return one, message.error().str()
    raise AssertionError("nobody was told anything")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pattern_finds_topics(running: Doorkeeper, protocol: str) -> None:
    """Those that are there; in the classic protocol, where the client looks, soon also one that comes later."""
    prefix = f"found-{uuid4()}"
    quick: dict[str, Any] = {"topic.metadata.refresh.interval.ms": 300}
    send(running, f"{prefix}-a", [b"a"])
    consumer = consumer_of(running, f"readers-{uuid4()}", protocol, **quick)
    consumer.subscribe([f"^{prefix}-.*"])
    assert [one.topic() for one in receive(consumer, 1)] == [f"{prefix}-a"]
    consumer.commit(asynchronous=False)
    if protocol == "classic":
        send(running, f"{prefix}-b", [b"b"])
        assert [one.topic() for one in receive(consumer, 1)] == [f"{prefix}-b"]
    consumer.close()


def test_offsets_are_committed_by_themselves(running: Doorkeeper, topic: str) -> None:
    group = f"readers-{uuid4()}"
    send(running, topic, [b"a", b"b"])
    often: dict[str, Any] = {"enable.auto.commit": True, "auto.commit.interval.ms": 100}
    consumer = consumer_of(running, group, **often)
    consumer.subscribe([topic])
    assert len(receive(consumer, 2)) == 2
    consumer.close()
    again = consumer_of(running, group)
    assert [one.offset for one in again.committed([confluent.TopicPartition(topic, 0)], PATIENCE_SECONDS)] == [2]
    again.close()
