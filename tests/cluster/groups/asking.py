"""Requests that the stories are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kio.static.primitive import i32Timedelta, i64Timedelta
from tests.cluster.groups.both import (
    CONSUMER_DESCRIBE,
    CONSUMER_HEARTBEAT,
    HEARTBEAT,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    Both,
)

from doorkeeper.cluster.groups.topics import TopicsView
from doorkeeper.cluster.groups.translation import _MILLISECOND
from doorkeeper.wire.consumer_protocol import Subscription, write_subscription

MAX_QUESTIONS = 20_000

FOO = write_subscription(Subscription(topics=("foo",)))


def span(milliseconds: int) -> Any:
    return i32Timedelta.parse(milliseconds * _MILLISECOND)


def poll(is_so: Callable[[], bool]) -> None:
    """Ask until it is so; each question is a round trip, so this ends."""
    assert any(is_so() for _ in range(MAX_QUESTIONS)), "it never came to be so"


def join_fields(group: str, member: Any = "", **changes: Any) -> dict[str, Any]:
    version = changes.pop("version", 9)
    fields: dict[str, Any] = {
        "group_id": group,
        "session_timeout": span(10_000),
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": FOO}],
        **changes,
    }
    if version >= 1:
        fields["rebalance_timeout"] = span(20_000)
    return fields


def sync_fields(group: str, member: Any, generation: int, assignments: Any = (), **changes: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "generation_id": generation,
        "member_id": member,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member_id, "assignment": data} for member_id, data in assignments],
        **changes,
    }


def beat(both: Both, group: str, member: Any, generation: int, version: int = 4, **changes: Any) -> str:
    fields = {"group_id": group, "generation_id": generation, "member_id": member, **changes}
    return str(both.call("beat", HEARTBEAT, version, **fields)["error_code"])


def consume(both: Both, group: str, member: str, epoch: int = 0, *, version: int = 1, **changes: Any) -> Any:
    fields: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": epoch, "topic_partitions": None}
    if epoch == 0:
        fields |= {
            "rebalance_timeout": span(20_000),
            "subscribed_topic_names": ("foo",),
            "server_assignor": "range",
            "topic_partitions": [],
        }
    return both.call(member or "x", CONSUMER_HEARTBEAT, version, **{**fields, **changes})


def describe(both: Both, group: str) -> Any:
    return both.call("d", CONSUMER_DESCRIBE, 1, group_ids=(group,), include_authorized_operations=False)


def held(topics: TopicsView, name: str, *partitions: int) -> list[dict[str, Any]]:
    return [{"topic_id": topics.topics[name].topic_id, "partitions": partitions}] if partitions else []


def heartbeat_fields(group: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": "m1",
        "member_epoch": 0,
        "rebalance_timeout": span(20_000),
        "subscribed_topic_names": ("foo",),
        "topic_partitions": [],
    }


def commit(both: Both, group: str, version: int, topics: TopicsView, **changes: Any) -> Any:
    entries = [
        {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m"},
        {"partition_index": 5, "committed_offset": 6, "committed_metadata": None},
        {"partition_index": 6, "committed_offset": 7, "committed_metadata": ""},
        {"partition_index": 1, "committed_offset": 7, "committed_metadata": "x" * 4097},
    ]
    known: dict[str, Any] = {"topic_id": topics.topics["foo"].topic_id} if version >= 10 else {"name": "foo"}
    unknown: dict[str, Any] = {"topic_id": UUID(int=99)} if version >= 10 else {"name": "nope"}
    fields: dict[str, Any] = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{**known, "partitions": entries}, {**unknown, "partitions": entries[:1]}],
        **changes,
    }
    if version <= 4:
        fields["retention_time"] = i64Timedelta.parse(-1 * _MILLISECOND)
    return both.call("o", OFFSET_COMMIT, version, **fields)


def fetch(both: Both, group: str, version: int, topics: TopicsView, *, everything: bool = False, **changes: Any) -> Any:
    names: list[dict[str, Any]] = [{"name": "foo"}, {"name": "bar"}, {"name": "nope"}]
    if version >= 10:
        ids = (topics.topics["foo"].topic_id, topics.topics["bar"].topic_id, UUID(int=99))
        names = [{"topic_id": topic_id} for topic_id in ids]
    asked = None if everything else [{**name, "partition_indexes": (0, 1, 5)} for name in names]
    fields: dict[str, Any] = {"group_id": group, "topics": asked, **changes}
    if version >= 8:
        fields = {"groups": [fields]}
    if version >= 7:
        fields["require_stable"] = True
    return both.call("o", OFFSET_FETCH, version, **fields)
