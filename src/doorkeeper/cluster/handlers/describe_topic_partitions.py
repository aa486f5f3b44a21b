"""DescribeTopicPartitions (75): topics page by page (KIP-966). From DescribeTopicPartitionsRequestHandler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.partitions import INTERNAL_TOPICS, TOPIC_OPERATIONS, ListenerView
from doorkeeper.cluster.image.topics import TopicImage
from doorkeeper.rules.names import check_topic_name
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(75, 0, 0, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    body = call.body
    cursor = body.cursor
    if cursor is not None and cursor.partition_index < 0:
        return call.refuse(ErrorCode.invalid_request)
    view = ListenerView(broker.image, call.peer.listener)
    names = sorted({one.name for one in body.topics} or view.image.topics.by_name)
    if cursor is not None:
        names = [name for name in names if name >= cursor.topic_name]
    left = max(1, min(body.response_partition_limit, broker.config.number("max.request.partition.size.limit")))
    page = _Page(view, left, every_name_counts=bool(body.topics))
    for name in names:
        start = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        if not page.add(name, start):
            break
    return call.answer({"topics": page.topics, "next_cursor": page.next_cursor})


class _Page:
    """What fits into one answer, and where the next begins."""

    def __init__(self, view: ListenerView, limit: int, *, every_name_counts: bool) -> None:
        self.topics: list[dict[str, Any]] = []
        self.next_cursor: dict[str, Any] | None = None
        self._view = view
        self._left = limit
        self._every_name_counts = every_name_counts

    def add(self, name: str, start: int) -> bool:
        """Add a topic from a partition on; false once the page is full."""
        if self._left <= 0:
            self.next_cursor = {"topic_name": name, "partition_index": 0}
            return False
        topic = self._view.image.topics.by_name.get(name)
        if topic is None:
            if self._every_name_counts:
                self.topics.append(_unknown(name))
            return True
        return self._add_partitions(topic, start)

    def _add_partitions(self, topic: TopicImage, start: int) -> bool:
        end = min(len(topic.partitions), start + self._left)
        partitions = [self._view.partition(index, topic.partitions[index]) for index in range(start, end)]
        self.topics.append(
            {
                "error_code": ErrorCode.none,
                "name": topic.name,
                "topic_id": topic.id,
                "is_internal": topic.name in INTERNAL_TOPICS,
                "partitions": [one | {"error_code": ErrorCode.none} for one in partitions],
                "topic_authorized_operations": TOPIC_OPERATIONS,
            }
        )
        self._left -= len(partitions)
        if end < len(topic.partitions):
            self.next_cursor = {"topic_name": topic.name, "partition_index": end}
            return False
        return True


def _unknown(name: str) -> dict[str, Any]:
    lawful = check_topic_name(name) is None
    code = ErrorCode.unknown_topic_or_partition if lawful else ErrorCode.invalid_topic_exception
    return {
        "error_code": code,
        "name": name,
        "is_internal": name in INTERNAL_TOPICS,
        "topic_authorized_operations": TOPIC_OPERATIONS,
    }
