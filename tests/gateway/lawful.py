"""Lawful requests for which a real Kafka has an answer at once: records to fetch, groups to join."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from tests.gateway.test_passage import lawful_request

from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import FETCH, message_classes
from doorkeeper.wire.schema import shape_of

JOIN_GROUP, SHARE_GROUP_HEARTBEAT, SHARE_FETCH = 11, 76, 78
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS = 29, 30, 31
ACL: Final = {"resource_type": 2, "pattern_type": 3, "operation": 3, "permission_type": 3}
"""TOPIC, LITERAL, READ, ALLOW: Kafka closes the connection on numbers that mean nothing."""
MANY: Final = 1 << 20
SESSION: Final = timedelta(seconds=10)


NO_TIME: Final = timedelta(0)
NOBODY: Final = str(uuid4())


class Topic(NamedTuple):
    """A topic that has records in its partition 0."""

    name: str
    topic_id: UUID


def made(entity: type[Any], values: Mapping[str, Any]) -> Any:
    """A message of any version: what a version does not know is left out of it."""
    shapes = {one.name: shape_of(one) for one in fields(entity)}
    return build(entity, {name: _made(shapes[name].entity, one) for name, one in values.items() if name in shapes})


def _made(entity: type[Any] | None, value: Any) -> Any:
    return tuple(made(entity, one) for one in value) if entity is not None else value


def fetch(version: int, topic: Topic) -> Any:
    partition = {"current_leader_epoch": -1, "last_fetched_epoch": -1, "log_start_offset": -1, "replica_id": -1}
    partition |= {"partition_max_bytes": MANY}
    values = {
        "replica_id": -1,
        "max_wait": timedelta(0),
        "max_bytes": MANY,
        "session_epoch": -1,
        "topics": [{"topic": topic.name, "topic_id": topic.topic_id, "partitions": [partition]}],
    }
    return made(message_classes(FETCH, version).request, values)


def share_fetch(version: int, topic: Topic, group: str, member_id: str = NOBODY, max_wait: timedelta = NO_TIME) -> Any:
    values = {
        "group_id": group,
        "member_id": member_id,
        "max_wait": max_wait,
        "min_bytes": 1,
        "max_bytes": MANY,
        "max_records": MANY,
        "batch_size": MANY,
        "topics": [{"topic_id": topic.topic_id, "partitions": [{"partition_index": 0}]}],
    }
    return made(message_classes(SHARE_FETCH, version).request, values)


def share_group_heartbeat(topic: Topic, group: str, member_id: str, epoch: int) -> Any:
    values = {"group_id": group, "member_id": member_id, "member_epoch": epoch, "subscribed_topic_names": (topic.name,)}
    return made(message_classes(SHARE_GROUP_HEARTBEAT, 1).request, values)


def join_group(version: int, group: str, member_id: str = "") -> Any:
    values = {
        "group_id": group,
        "session_timeout": SESSION,
        "rebalance_timeout": SESSION,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range"}],
    }
    return made(message_classes(JOIN_GROUP, version).request, values)


def acls(api_key: int, version: int) -> Any:
    filters = {f"{name}_filter": one for name, one in ACL.items()}
    created = {"resource_pattern_type": 3, "resource_name": "orders", "principal": "User:alice", "host": "*"}
    values = ACL | filters | {"creations": [ACL | created], "filters": [ACL | filters]}
    return made(message_classes(api_key, version).request, values)


_SPOKEN: Final[Mapping[int, Callable[[int, Topic], Any]]] = {
    FETCH: fetch,
    JOIN_GROUP: lambda version, _: join_group(version, f"readers-{uuid4()}"),
    SHARE_FETCH: lambda version, topic: share_fetch(version, topic, f"sharers-{uuid4()}"),
    DESCRIBE_ACLS: lambda version, _: acls(DESCRIBE_ACLS, version),
    CREATE_ACLS: lambda version, _: acls(CREATE_ACLS, version),
    DELETE_ACLS: lambda version, _: acls(DELETE_ACLS, version),
}


def spoken_request(api_key: int, version: int, topic: Topic) -> Any:
    """A lawful request that is answered at once."""
    make = _SPOKEN.get(api_key)
    return lawful_request(api_key, version) if make is None else make(version, topic)
