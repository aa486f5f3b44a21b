"""Produce and Fetch by hand, at any version: what a client library would hide."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.cluster.running import RunningCluster
from tests.kafka.requests import Connection

from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.records import Record, read_batch, write_batch

CREATE_TOPICS = 19
PRODUCE, FETCH, LIST_OFFSETS, DELETE_RECORDS, INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 0, 1, 2, 21, 22, 23
TIME = 1_700_000_000_000


def batch(*values: bytes | None, time: int = TIME, key: bytes | None = b"key", **header: Any) -> bytes:
    """One batch with a record for each value."""
    records = [Record(key=key, value=value, timestamp=time + place) for place, value in enumerate(values)]
    return write_batch(records, base_offset=0, **header)


def topic_id(cluster: RunningCluster, topic: str) -> UUID:
    broker = cluster.node().broker
    assert broker is not None
    return broker.image.topics.by_name[topic].id


def ask(connection: Connection, api_key: int, version: int, **values: Any) -> Any:
    return connection.call(make_request(api_key, version, values))


def create_topic(connection: Connection, name: str, *, partitions: int = 1, **configs: str) -> None:
    """Make a topic; configs have underscores for dots."""
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }
    (answer,) = ask(connection, CREATE_TOPICS, 7, topics=[topic], timeout=timedelta(seconds=5)).topics
    assert answer.error_code == 0, answer.error_message


def produce(
    connection: Connection,
    topic: str | UUID | None,
    records: bytes | None,
    *,
    version: int = 9,
    partition: int = 0,
    acks: int = -1,
) -> Any:
    """The answer for the one partition."""
    data = {"partition_data": [{"index": partition, "records": records}]}
    named = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
    response = ask(
        connection, PRODUCE, version, acks=acks, timeout=timedelta(seconds=5), topic_data=[{**named, **data}]
    )
    return response.responses[0].partition_responses[0]


def fetch_request(
    topic: str | UUID,
    offset: int = 0,
    *,
    version: int = 12,
    partition: int = 0,
    max_bytes: int = 1 << 20,
    total_bytes: int = 1 << 24,
    wait_ms: int = 0,
    **values: Any,
) -> Any:
    """A Fetch of one partition, unless `topics` says otherwise."""
    wanted = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": max_bytes}
    for name in ("current_leader_epoch", "last_fetched_epoch"):
        wanted[name] = values.pop(name, -1)
    named = {"topic": topic} if isinstance(topic, str) else {"topic_id": topic}
    chosen = {"topics": [{**named, "partitions": [wanted]}], "min_bytes": 1, "max_bytes": total_bytes}
    usual = {"max_wait": timedelta(milliseconds=wait_ms), "session_epoch": -1, "replica_id": -1}
    return make_request(FETCH, version, chosen | usual | values)


def fetch(connection: Connection, topic: str | UUID, offset: int = 0, **values: Any) -> Any:
    """The whole response."""
    return connection.call(fetch_request(topic, offset, **values))


def values_in(data: bytes | memoryview | None) -> list[bytes | None]:
    """The values of all records in whole batches."""
    data = bytes(data or b"")
    found: list[bytes | None] = []
    position = 0
    while position < len(data):
        whole = read_batch(data, position)
        found += [record.value for record in whole.records]
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return found


def fetched(response: Any) -> Sequence[bytes | None]:
    return values_in(response.responses[0].partitions[0].records)
