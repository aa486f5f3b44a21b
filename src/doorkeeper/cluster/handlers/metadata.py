"""Metadata (3): brokers, topics and partitions. From KafkaApis.handleTopicMetadataRequest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.partitions import (
    CLUSTER_OPERATIONS,
    INTERNAL_TOPICS,
    NO_OPERATIONS,
    TOPIC_OPERATIONS,
    ListenerView,
)
from doorkeeper.cluster.image.topics import TopicImage
from doorkeeper.rules.names import check_topic_name
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(3, 0, 13, frozenset((Door.BROKER,)))
FIRST_WITH_IDS: Final = 12
LAST_WITH_CLUSTER_OPERATIONS: Final = 10


def at_broker(broker: BrokerRole, call: Call) -> Any:
    names, ids = _asked(call)
    if names is None and ids is None:
        return call.refuse(ErrorCode.invalid_request)
    view = ListenerView(broker.image, call.peer.listener)
    missing = [name for name in names or () if name not in broker.image.topics.by_name]
    if missing and getattr(call.body, "allow_auto_topic_creation", True):
        broker.create_topics(missing)
    operations = TOPIC_OPERATIONS if getattr(call.body, "include_topic_authorized_operations", False) else NO_OPERATIONS
    topics = [{**topic, "topic_authorized_operations": operations} for topic in _topics(view, call, names, ids)]
    wants_cluster = getattr(call.body, "include_cluster_authorized_operations", False)
    return call.answer(
        {
            "brokers": view.brokers(),
            "cluster_id": broker.cluster_id,
            "controller_id": view.any_broker(),
            "topics": topics,
            "cluster_authorized_operations": CLUSTER_OPERATIONS if wants_cluster else NO_OPERATIONS,
            "error_code": ErrorCode.none,
        }
    )


def _asked(call: Call) -> tuple[list[str] | None, list[UUID] | None]:
    """Names or ids; (None, None) for what Kafka refuses, an id or a missing name where the version has no ids."""
    topics = call.body.topics
    if _wants_all(call):
        return [], []
    ids = [one.topic_id for one in topics if getattr(one, "topic_id", None) is not None]
    if call.version < FIRST_WITH_IDS and (ids or any(one.name is None for one in topics)):
        return None, None
    if ids:
        return [], list(dict.fromkeys(ids))
    return list(dict.fromkeys(one.name for one in topics if one.name is not None)), []


def _wants_all(call: Call) -> bool:
    """Null asks for all topics; at version 0, which has no null, an empty list does."""
    topics = call.body.topics
    return topics is None or (call.version == 0 and not topics)


def _topics(
    view: ListenerView, call: Call, names: Iterable[str] | None, ids: Iterable[UUID] | None
) -> Iterator[dict[str, Any]]:
    known = view.image.topics
    if _wants_all(call):
        for name in sorted(known.by_name):
            yield _topic(view, call, known.by_name[name])
    for name in names or ():
        topic = known.by_name.get(name)
        yield _unknown_name(name) if topic is None else _topic(view, call, topic)
    for topic_id in ids or ():
        topic = known.by_id.get(topic_id)
        if topic is None:
            yield {"error_code": ErrorCode.unknown_topic_id, "name": None, "topic_id": topic_id}
        else:
            yield _topic(view, call, topic)


def _unknown_name(name: str) -> dict[str, Any]:
    lawful = check_topic_name(name) is None
    code = ErrorCode.unknown_topic_or_partition if lawful else ErrorCode.invalid_topic_exception
    return {"error_code": code, "name": name, "is_internal": name in INTERNAL_TOPICS}


def _topic(view: ListenerView, call: Call, topic: TopicImage) -> dict[str, Any]:
    partitions = [view.partition(index, topic.partitions[index]) for index in sorted(topic.partitions)]
    for one in partitions:
        # Versions below 6 know no better than that the leader is not there.
        if call.version < 6 and one["error_code"] is ErrorCode.listener_not_found:
            one["error_code"] = ErrorCode.leader_not_available
    return {
        "error_code": ErrorCode.none,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.name in INTERNAL_TOPICS,
        "partitions": partitions,
    }
