"""The groups that a broker coordinates: those of the partitions of `__consumer_offsets` that it leads.

Coordinators, and the classes that they are made of, are loaded with the first such partition: a broker without groups
starts without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import BrokerLogs
from doorkeeper.cluster.image.configs import ConfigResourceType, ConfigurationsImage
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.topics import TopicImage
from doorkeeper.cluster.server_config import NodeConfig

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.cluster.broker.group_partition import GroupPartition
    from doorkeeper.cluster.groups.settings import GroupConfigs
    from doorkeeper.cluster.groups.topics import TopicsView, TopicView

OFFSETS_TOPIC: Final = "__consumer_offsets"


class BrokerGroups:
    """Follows the metadata; finds the partition that keeps a group."""

    def __init__(self, config: NodeConfig, logs: BrokerLogs) -> None:
        self._config = config
        self._logs = logs
        self._partitions: dict[int, GroupPartition] = {}
        self._count = config.number("offsets.topic.num.partitions")
        self._image = MetadataImage.EMPTY
        self._topic_id: UUID | None = None
        self._views: dict[UUID, tuple[TopicImage, TopicView]] = {}

    def follow(self, image: MetadataImage) -> None:
        """Take over and give up partitions as the metadata says, and tell the coordinators of topics and configs."""
        before, self._image = self._image, image
        topic = image.topics.by_name.get(OFFSETS_TOPIC)
        if self._topic_id is not None and (topic is None or topic.id != self._topic_id):
            self.close()
        if topic is None:
            return
        self._topic_id = topic.id
        self._count = len(topic.partitions)
        if self._partitions:
            self._tell(before)
        if before.topics.by_name.get(OFFSETS_TOPIC) is not topic:
            self._host(topic)

    def _tell(self, before: MetadataImage) -> None:
        if before.topics is not self._image.topics:
            topics = self._topics_view()
            for partition in self._partitions.values():
                partition.set_topics(topics)
        if before.configs is not self._image.configs:
            configs = read_group_configs(self._config, self._image.configs)
            for partition in self._partitions.values():
                partition.set_configs(configs)

    def _host(self, topic: TopicImage) -> None:
        from doorkeeper.cluster.broker.group_partition import GroupPartition

        configs = read_group_configs(self._config, self._image.configs)
        topics = self._topics_view()
        for index, registration in topic.partitions.items():
            hosted = self._partitions.get(index)
            if registration.leader != self._config.node_id:
                if hosted is not None:
                    self._partitions.pop(index).close()
                continue
            if hosted is not None:
                hosted.leader_epoch = registration.leader_epoch
                continue
            log = self._logs.get(OFFSETS_TOPIC, index)
            if log is not None and log.offline is None:
                hosted = self._partitions[index] = GroupPartition(log, registration.leader_epoch, configs, topics)
                hosted.load()

    def _topics_view(self) -> TopicsView:
        """All topics as groups see them; what has not changed is not made anew."""
        from doorkeeper.cluster.groups.topics import TopicsView, TopicView

        brokers = self._image.cluster.brokers
        racks = {one.id: one.rack for one in brokers.values() if one.rack is not None}
        views: dict[UUID, tuple[TopicImage, TopicView]] = {}
        for topic_id, topic in self._image.topics.by_id.items():
            known = self._views.get(topic_id)
            if known is None or known[0] is not topic:
                placed = {
                    index: tuple(racks[replica] for replica in one.replicas if replica in racks)
                    for index, one in topic.partitions.items()
                }
                chosen = {index: names for index, names in placed.items() if names}
                known = (topic, TopicView(topic.name, topic_id, len(topic.partitions), chosen))
            views[topic_id] = known
        self._views = views
        return TopicsView.of((view for _, view in views.values()), self._image.provenance.offset)

    def find(self, group_id: str) -> GroupPartition | ErrorCode:
        """The partition that keeps a group, if it is here and loaded."""
        partition = self._partitions.get(self.partition_of(group_id))
        if partition is None:
            return ErrorCode.not_coordinator
        code = partition.check_ready()
        return partition if code is ErrorCode.none else code

    def partition_of(self, group_id: str) -> int:
        from doorkeeper.cluster.groups.coordinator import coordinator_partition

        return coordinator_partition(group_id, self._count)

    def get(self, index: int) -> GroupPartition | None:
        return self._partitions.get(index)

    def __iter__(self) -> Iterator[GroupPartition]:
        return iter(self._partitions.values())

    def close(self) -> None:
        """Coordinate nothing more; whoever waits is told to look elsewhere."""
        for partition in self._partitions.values():
            partition.close()
        self._partitions.clear()
        self._topic_id = None


def read_group_configs(config: NodeConfig, configs: ConfigurationsImage) -> GroupConfigs:
    """The node's settings for groups, and what single groups have instead."""
    from doorkeeper.cluster.groups.settings import KEYS, GroupConfigs, settings_from_config

    keys = (*KEYS, "offsets.retention.minutes", "group.consumer.assignors", "group.consumer.migration.policy")
    settings = settings_from_config({key: config.view.value(key) for key in keys})
    overrides = {
        resource.name: {key: int(value) for key, value in own.items() if value.strip().lstrip("+-").isdigit()}
        for resource, own in configs.resources.items()
        if resource.type == ConfigResourceType.GROUP
    }
    return GroupConfigs(settings, overrides)
