"""An internal topic whose partitions are coordinated by their leaders: groups, and transactions.

Follows the metadata: a partition that this broker comes to lead is loaded, one that it no longer leads is closed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import BrokerLogs, LedPartition
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.topics import TopicImage
from doorkeeper.cluster.log.partition_log import PartitionLog

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.cluster.broker.coordinator_partition import CoordinatorPartition

P = TypeVar("P", bound="CoordinatorPartition[Any]")


def coordinator_partition(key: str, partitions: int) -> int:
    """The partition that keeps a group or a transactional id: Java's `hashCode`, made positive, modulo."""
    number = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        number = (31 * number + (high << 8 | low)) & 0xFFFFFFFF
    signed = number - (1 << 32) if number >= 1 << 31 else number
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


class CoordinatedTopic(ABC, Generic[P]):
    """The partitions of one topic that this broker coordinates."""

    def __init__(self, topic: str, partitions: int, node_id: int, logs: BrokerLogs) -> None:
        """:param partitions: how many the topic will have, as long as it is not there."""
        self._topic = topic
        self._count = partitions
        self._node_id = node_id
        self._logs = logs
        self._partitions: dict[int, P] = {}
        self._image = MetadataImage.EMPTY
        self._topic_id: UUID | None = None
        logs.subscribe(self._take_over)

    # --- following the metadata ---

    def follow(self, image: MetadataImage) -> None:
        """Take over and give up partitions as the metadata says, and tell the coordinators what else is new."""
        before, self._image = self._image, image
        topic = image.topics.by_name.get(self._topic)
        if self._topic_id is not None and (topic is None or topic.id != self._topic_id):
            self.close()
        if topic is None:
            return
        self._topic_id = topic.id
        self._count = len(topic.partitions)
        if self._partitions:
            self._tell(before)
        if before.topics.by_name.get(self._topic) is not topic:
            self._host(topic)

    def _take_over(self, topics: Collection[str]) -> None:
        """Some logs were not there when the metadata came."""
        topic = self._image.topics.by_name.get(self._topic)
        if self._topic in topics and topic is not None and topic.id == self._topic_id:
            self._host(topic)

    def _host(self, topic: TopicImage) -> None:
        for index, registration in topic.partitions.items():
            hosted = self._partitions.get(index)
            if registration.leader != self._node_id:
                if hosted is not None:
                    self._partitions.pop(index).close()
                continue
            if hosted is not None:
                hosted.lead(registration.leader_epoch)
                continue
            log = self._logs.get(self._topic, index)
            if log is not None and log.offline is None:
                hosted = self._partitions[index] = self._make(log, registration.leader_epoch)
                hosted.load()

    @abstractmethod
    def _make(self, log: PartitionLog, leader_epoch: int) -> P:
        """A partition that is to be loaded."""

    @abstractmethod
    def _tell(self, before: MetadataImage) -> None:
        """Tell the partitions what has changed since."""

    # --- finding ---

    def find(self, key: str) -> P | ErrorCode:
        """The partition that keeps a group or a transactional id, if it is here and loaded."""
        index = self.partition_of(key)
        partition = self._partitions.get(index) or self._take_over_early(index)
        if partition is None:
            return ErrorCode.not_coordinator
        code = partition.check_ready()
        return partition if code is ErrorCode.none else code

    def _take_over_early(self, index: int) -> P | None:
        """A partition whose log waits for its turn: the first group of a new cluster need not."""
        if isinstance(self._logs.find(self._topic, index), LedPartition):
            self._take_over((self._topic,))
        return self._partitions.get(index)

    def partition_of(self, key: str) -> int:
        return coordinator_partition(key, self._count)

    def get(self, index: int) -> P | None:
        return self._partitions.get(index)

    def __iter__(self) -> Iterator[P]:
        return iter(self._partitions.values())

    def close(self) -> None:
        """Coordinate nothing more; whoever waits is told to look elsewhere."""
        for partition in self._partitions.values():
            partition.close()
        self._partitions.clear()
        self._topic_id = None
