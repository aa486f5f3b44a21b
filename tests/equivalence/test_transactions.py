"""A real Kafka and an embedded one, told the same stories of transactions, at every version, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, is_dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.records import FETCH, INIT_PRODUCER_ID, LIST_OFFSETS, PRODUCE, ask, batch, create_topic
from tests.cluster.transactional import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    LIST_TRANSACTIONS,
    TXN_OFFSET_COMMIT,
    WRITE_TXN_MARKERS,
    Cluster,
    Deadline,
    HandProducer,
    described,
)
from tests.equivalence import both as both_sides
from tests.equivalence.both import Both
from tests.kafka.requests import Connection

from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

DESCRIBE_LOG_DIRS, METADATA, FIND_COORDINATOR = 35, 3, 10
MOMENTS = {
    "throttle_time",
    "transaction_start_time",
    "last_timestamp",
    "leader_epoch",
    "topic_id",
    "session_id",
    "coordinator_epoch",
    "log_dir",
    "total_bytes",
    "usable_bytes",
    "node_id",
    "host",
    "port",
}
"""Fields that name a place or a moment: they differ as two Kafkas do."""
SECONDS = timedelta(seconds=30)
NOBODY = 1 << 60
OFFSETS = "__consumer_offsets"
FOR_EVER = "-1"
"""The records are old, and Kafka would begin to remove them after half a minute."""
STRANGERS: list[dict[str, Any]] = [
    {"transactional_id": ""},
    {"transactional_id": "nobody"},
    {"producer_id": NOBODY},
    {"producer_epoch": 7},
]
"""What a request may say of its producer, and be wrong."""


class Side:
    """One of the two."""

    def __init__(self, connection: Connection, story: str) -> None:
        self.connection = connection
        self.story = story
        self.topic = f"topic-{story}"
        self.numbers: dict[int, str] = {}

    def ask(self, api_key: int, version: int, **values: Any) -> Any:
        if api_key == DESCRIBE_TRANSACTIONS:
            return described(self.connection, values["transactional_ids"])
        return ask(self.connection, api_key, version, **values)

    def producer(self, name: str = "p", version: int = 2) -> HandProducer:
        cluster = Cluster(dict.fromkeys(range(10), self.connection))
        producer = HandProducer(cluster, f"{name}-{self.story}", version).init()
        self.numbers[producer.producer_id] = name
        return producer

    def settle(self) -> None:
        """Wait until markers are written: Kafka takes its time, after the answer."""
        deadline = Deadline("the markers")
        asked = {"state_filters": ["PrepareCommit", "PrepareAbort"], "producer_id_filters": []}
        while deadline.holds() and self.ask(LIST_TRANSACTIONS, 0, **asked).transaction_states:
            pass

    def shown(self, value: Any) -> Any:
        """An answer without what names a place or a moment, and with the producers by name."""
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        if isinstance(value, dict) and value.get("topic") == OFFSETS:
            # How many partitions the topic has is a setting.
            return {"topic": OFFSETS, "partitions": len(value["partitions"])}
        if isinstance(value, dict):
            return {key: self._shown_field(key, one) for key, one in value.items() if key not in MOMENTS}
        if isinstance(value, tuple | list):
            # Kafka has sets and hash tables here, so the order says nothing.
            return sorted((self.shown(one) for one in value), key=repr)
        return value

    def _shown_field(self, key: str, value: Any) -> Any:
        if key == "records":
            # They hold times and producer ids.
            return None if value is None else len(value)
        return self.numbers.get(value, value) if key == "producer_id" else self.shown(value)


@pytest.fixture(scope="module")
def doors(both: Both) -> tuple[both_sides.Side, both_sides.Side]:
    """The broker's door of either."""
    sides = both[Door.BROKER]
    for side in sides:
        prepare(side.connection)
    return sides


def prepare(connection: Connection) -> None:
    """Let both warm up: a first transaction, with offsets, finds every coordinator loaded."""
    side = Side(connection, "warm-up")
    create_topic(connection, "shared", partitions=2, retention_ms=FOR_EVER)
    ask(connection, INIT_PRODUCER_ID, 4, transactional_id=None, producer_id=-1, producer_epoch=-1)
    for number in range(8):
        producer = side.producer(f"p{number}", 1)
        producer.write("shared", b"x")
        group = f"warm-{number}"
        while producer.commit_offset(group, "shared", 0) is not ErrorCode.none:
            pass
        producer.commit()
        side.settle()


Story = Callable[[Side, int], Iterator[Any]]


def init_producer_id(side: Side, version: int) -> Iterator[Any]:
    usual = {
        "transactional_id": f"i-{side.story}",
        "producer_id": -1,
        "producer_epoch": -1,
        "transaction_timeout": SECONDS,
    }
    first = side.ask(INIT_PRODUCER_ID, version, **usual)
    side.numbers[first.producer_id] = "first"
    yield first
    yield side.ask(INIT_PRODUCER_ID, version, **usual)
    for wrong in (
        {"transactional_id": ""},
        {"transaction_timeout": timedelta(0)},
        {"transaction_timeout": timedelta(days=1)},
        {"producer_id": 5},
        {"producer_epoch": 5},
        {"producer_id": first.producer_id, "producer_epoch": 1},
        {"producer_id": first.producer_id, "producer_epoch": 9},
        {"producer_id": NOBODY, "producer_epoch": 0},
    ):
        yield side.ask(INIT_PRODUCER_ID, version, **usual | wrong)
    producer = side.producer()
    producer.write("shared", b"open")
    fencing = {"transactional_id": producer.transactional_id}
    yield side.ask(INIT_PRODUCER_ID, version, **usual | fencing)
    side.settle()
    yield side.ask(INIT_PRODUCER_ID, version, **usual | fencing)


def add_partitions_to_txn(side: Side, version: int) -> Iterator[Any]:
    producer = side.producer()
    me = (producer.transactional_id, producer.producer_id, producer.producer_epoch)
    for who in (me, ("", *me[1:]), ("nobody", *me[1:]), (me[0], NOBODY, 0), (me[0], me[1], 7)):
        for partitions in ([0], [0, 1], [0, 99]):
            for verify in (True, False):
                topics = [{"name": "shared", "partitions": partitions}]
                if version < 4:
                    yield side.ask(
                        ADD_PARTITIONS_TO_TXN,
                        version,
                        v3_and_below_transactional_id=who[0],
                        v3_and_below_producer_id=who[1],
                        v3_and_below_producer_epoch=who[2],
                        v3_and_below_topics=topics,
                    )
                    continue
                one = {"producer_id": who[1], "producer_epoch": who[2], "verify_only": verify, "topics": topics}
                yield side.ask(ADD_PARTITIONS_TO_TXN, version, transactions=[{"transactional_id": who[0], **one}])
    yield side.ask(DESCRIBE_TRANSACTIONS, 0, transactional_ids=[me[0]])


def add_offsets_to_txn(side: Side, version: int) -> Iterator[Any]:
    producer = side.producer(version=1)
    me = {"transactional_id": producer.transactional_id, "producer_id": producer.producer_id, "producer_epoch": 0}
    for wrong in ({}, *STRANGERS):
        yield side.ask(ADD_OFFSETS_TO_TXN, version, **me | wrong, group_id="warm-1")
    yield side.ask(DESCRIBE_TRANSACTIONS, 0, transactional_ids=[producer.transactional_id])


def txn_offset_commit(side: Side, version: int) -> Iterator[Any]:
    producer = side.producer()
    me = {"transactional_id": producer.transactional_id, "producer_id": producer.producer_id, "producer_epoch": 0}
    group = {"group_id": "warm-1", "generation_id": -1, "member_id": "", "group_instance_id": None}
    place = {"committed_offset": 3, "committed_leader_epoch": -1}

    def commit(*topics: tuple[str, int], **changed: Any) -> Any:
        asked = [{"name": name, "partitions": [{"partition_index": index, **place}]} for name, index in topics]
        return side.ask(TXN_OFFSET_COMMIT, version, **me | group | changed, topics=asked)

    yield commit(("shared", 0))
    yield commit(("shared", 0), ("missing", 0), ("shared", 99))
    yield commit(("missing", 0))
    yield commit(("shared", 0), group_id="")
    for wrong in (*STRANGERS, {"generation_id": 5, "member_id": "m"}):
        yield commit(("shared", 0), **wrong)
    yield side.ask(ADD_OFFSETS_TO_TXN, 3, **me, group_id="warm-1")
    yield commit(("shared", 0))
    yield commit(("shared", 0), producer_epoch=7)
    yield commit(("shared", 0), generation_id=5, member_id="m")
    yield side.ask(DESCRIBE_TRANSACTIONS, 0, transactional_ids=[producer.transactional_id])


def produce(side: Side, version: int) -> Iterator[Any]:
    producer = side.producer()
    topic_id = side.ask(METADATA, 12, topics=[{"name": "shared", "topic_id": None}]).topics[0].topic_id

    def send(sequence: int = 0, partition: int = 0, acks: int = -1, named: str | None = "", **changed: Any) -> Any:
        header = {"producer_id": producer.producer_id, "producer_epoch": 0, "base_sequence": sequence} | changed
        records = batch(b"x", is_transactional=True, **header)
        data = {"name": "shared", "topic_id": topic_id, "partition_data": [{"index": partition, "records": records}]}
        answer = side.ask(
            PRODUCE,
            version,
            transactional_id=producer.transactional_id if named == "" else named,
            acks=acks,
            timeout=SECONDS,
            topic_data=[data],
        )
        shown = side.shown(answer)
        for topic in shown["responses"]:
            for one in topic["partition_responses"]:
                # Others write to the partition, too.
                one["base_offset"] = one["base_offset"] >= 0
        return shown

    yield send()
    yield send(named=None)
    yield send(named="nobody")
    yield send(producer_id=NOBODY)
    yield send(producer_epoch=7)
    yield send(partition=99)
    producer.add("shared", 1)
    yield send(partition=1, acks=9)
    yield send(partition=1, sequence=5)
    yield send(partition=1)
    yield send(partition=1)
    yield send(partition=1, sequence=1)
    yield send(partition=1, sequence=9)
    yield send(partition=1, sequence=2, producer_epoch=7)
    yield side.ask(DESCRIBE_TRANSACTIONS, 0, transactional_ids=[producer.transactional_id])
    producer.version = 1
    producer.commit()
    side.settle()
    yield send(partition=1, sequence=2)


def end_txn(side: Side, version: int) -> Iterator[Any]:
    for commit in (True, False):
        producer = side.producer(f"p{commit}", 1)
        me = {"transactional_id": producer.transactional_id, "producer_id": producer.producer_id, "producer_epoch": 0}
        yield side.ask(END_TXN, version, **me, committed=commit)
        side.settle()
        producer = side.producer(f"q{commit}", 1)
        me = {"transactional_id": producer.transactional_id, "producer_id": producer.producer_id, "producer_epoch": 0}
        producer.write("shared", b"x")
        for wrong in STRANGERS:
            yield side.ask(END_TXN, version, **me | wrong, committed=commit)
        yield side.ask(END_TXN, version, **me, committed=commit)
        side.settle()
        yield side.ask(END_TXN, version, **me, committed=commit)
        yield side.ask(END_TXN, version, **me, committed=not commit)
        yield side.ask(DESCRIBE_TRANSACTIONS, 0, transactional_ids=[producer.transactional_id])


def write_txn_markers(side: Side, version: int) -> Iterator[Any]:
    create_topic(side.connection, side.topic, retention_ms=FOR_EVER)
    wait_for_topic(side)

    def write(topic: str = side.topic, partitions: Sequence[int] = (0, 1), **changed: Any) -> Any:
        usual = {
            "producer_id": 77_000,
            "producer_epoch": 3,
            "transaction_result": False,
            "topics": [{"name": topic, "partition_indexes": partitions}],
            "coordinator_epoch": 5,
            "transaction_version": 0,
        }
        return side.ask(WRITE_TXN_MARKERS, version, markers=[usual | changed])

    yield write()
    yield write()
    yield write(producer_epoch=2)
    yield write(coordinator_epoch=4)
    yield write(coordinator_epoch=6, transaction_result=True)
    yield write(transaction_version=2, coordinator_epoch=6)
    yield write("missing")
    yield write(OFFSETS, (0,), producer_id=78_000)
    yield side.ask(WRITE_TXN_MARKERS, version, markers=[])
    yield side.ask(DESCRIBE_PRODUCERS, 0, topics=[{"name": side.topic, "partition_indexes": [0, 1]}])


def wait_for_topic(side: Side) -> None:
    deadline = Deadline("a new topic")
    data = [{"name": side.topic, "partition_data": [{"index": 0, "records": batch(b"first")}]}]
    while deadline.holds():
        answer = side.ask(PRODUCE, 9, acks=-1, timeout=SECONDS, topic_data=data)
        if answer.responses[0].partition_responses[0].error_code is ErrorCode.none:
            return


def tell(side: Side) -> HandProducer:
    """A topic of its own, with an aborted, a committed and an open transaction; returns the last producer."""
    create_topic(side.connection, side.topic, retention_ms=FOR_EVER)
    wait_for_topic(side)
    for name, commit in (("aborts", False), ("commits", True)):
        producer = side.producer(name)
        producer.write(side.topic, b"1", b"2")
        assert producer.end(commit=commit) is ErrorCode.none
        side.settle()
    producer = side.producer("open")
    producer.write(side.topic, b"3")
    return producer


def fetch(side: Side, version: int) -> Iterator[Any]:
    tell(side)
    topic_id = side.ask(METADATA, 12, topics=[{"name": side.topic, "topic_id": None}]).topics[0].topic_id
    bounds = {"max_bytes": 1 << 20, "min_bytes": 0, "session_epoch": -1, "replica_id": -1}
    known = {"partition": 0, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1, "last_fetched_epoch": -1}
    for offset in (0, 2, 4, 5, 7, 8):
        topics = [{"topic": side.topic, "topic_id": topic_id, "partitions": [{**known, "fetch_offset": offset}]}]
        for level in (0, 1):
            yield side.ask(FETCH, version, topics=topics, isolation_level=level, **bounds)


def list_offsets(side: Side, version: int) -> Iterator[Any]:
    tell(side)
    for timestamp in (-1, -2, -3, 0):
        for level in (0, 1):
            one = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
            topics = [{"name": side.topic, "partitions": [one]}]
            if timestamp != -3 or version >= 7:
                shown = side.shown(side.ask(LIST_OFFSETS, version, replica_id=-1, isolation_level=level, topics=topics))
                shown["topics"][0]["partitions"][0]["timestamp"] //= 10_000_000  # a marker's is that of the moment
                yield shown


def describe_transactions(side: Side, version: int) -> Iterator[Any]:
    producer = tell(side)
    asked = [producer.transactional_id, "", "nobody", f"aborts-{side.story}", f"commits-{side.story}"]
    yield side.ask(DESCRIBE_TRANSACTIONS, version, transactional_ids=asked)
    yield side.ask(DESCRIBE_TRANSACTIONS, version, transactional_ids=[])


def list_transactions(side: Side, version: int) -> Iterator[Any]:
    producer = tell(side)
    only = {"producer_id_filters": [producer.producer_id], "state_filters": [], "duration_filter": -1}
    for changed in (
        {},
        {"state_filters": ["Ongoing"]},
        {"state_filters": ["Empty"]},
        {"state_filters": ["Ongoing", "Nonsense"]},
        {"duration_filter": 0, "producer_id_filters": [NOBODY]},
        {"duration_filter": 1 << 40},
    ):
        yield side.ask(LIST_TRANSACTIONS, version, **only | changed)
    if version >= 2:
        for pattern in ("", producer.transactional_id, "open.*", "nobody", "("):
            yield side.ask(LIST_TRANSACTIONS, version, **only, transactional_id_pattern=pattern)


def describe_producers(side: Side, version: int) -> Iterator[Any]:
    tell(side)
    topics = [
        {"name": side.topic, "partition_indexes": [0, 9]},
        {"name": "missing", "partition_indexes": [0]},
        {"name": "not lawful", "partition_indexes": [0]},
    ]
    yield side.ask(DESCRIBE_PRODUCERS, version, topics=topics)


def describe_log_dirs(side: Side, version: int) -> Iterator[Any]:
    create_topic(side.connection, side.topic, retention_ms=FOR_EVER)
    wait_for_topic(side)
    for topics in ([{"topic": side.topic, "partitions": [0, 9]}], [{"topic": "missing", "partitions": [0]}], []):
        yield side.ask(DESCRIBE_LOG_DIRS, version, topics=topics)


def find_coordinator(side: Side, version: int) -> Iterator[Any]:
    if version >= 4:
        yield side.ask(FIND_COORDINATOR, version, key_type=1, coordinator_keys=["a", "b"])
    else:
        yield side.ask(FIND_COORDINATOR, version, key_type=1, key="a")


STORIES: list[tuple[Story, int, range]] = [
    (find_coordinator, FIND_COORDINATOR, range(1, 7)),
    (init_producer_id, INIT_PRODUCER_ID, range(6)),
    (add_partitions_to_txn, ADD_PARTITIONS_TO_TXN, range(6)),
    (add_offsets_to_txn, ADD_OFFSETS_TO_TXN, range(5)),
    (txn_offset_commit, TXN_OFFSET_COMMIT, range(6)),
    (produce, PRODUCE, range(3, 14)),
    (end_txn, END_TXN, range(6)),
    (write_txn_markers, WRITE_TXN_MARKERS, range(1, 3)),
    (fetch, FETCH, range(4, 19)),
    (list_offsets, LIST_OFFSETS, range(2, 12)),
    (describe_transactions, DESCRIBE_TRANSACTIONS, range(1)),
    (list_transactions, LIST_TRANSACTIONS, range(3)),
    (describe_producers, DESCRIBE_PRODUCERS, range(1)),
    (describe_log_dirs, DESCRIBE_LOG_DIRS, range(1, 6)),
]


@pytest.mark.parametrize(
    ("story", "version"),
    [
        pytest.param(story, version, id=f"{api_name(api_key)}-v{version}")
        for story, api_key, versions in STORIES
        for version in versions
    ],
)
def test_the_story_goes_alike(doors: tuple[both_sides.Side, both_sides.Side], story: Story, version: int) -> None:
    name = str(uuid4())
    theirs, ours = (Side(door.connection, name) for door in doors)
    for place, (their_answer, our_answer) in enumerate(zip(story(theirs, version), story(ours, version), strict=True)):
        assert (place, ours.shown(our_answer)) == (place, theirs.shown(their_answer))
