"""The groups that a broker coordinates: those of the partitions of `__consumer_offsets` that it leads.

Coordinators, and the classes that they are made of, are loaded with the first such partition: a broker without groups
starts without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.cluster.broker.coordinated_topic import CoordinatedTopic
from doorkeeper.cluster.broker.internal_topics import GROUPS
from doorkeeper.cluster.broker.logs import BrokerLogs
from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.topics import TopicImage
from doorkeeper.cluster.live_configs import view_in_force
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.server_config import NodeConfig

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.cluster.broker.group_partition import GroupPartition
    from doorkeeper.cluster.groups.settings import GroupConfigs
    from doorkeeper.cluster.groups.topics import TopicsView, TopicView


class BrokerGroups(CoordinatedTopic["GroupPartition"]):
    """Follows the metadata; finds the partition that keeps a group."""

    def __init__(self, config: NodeConfig, logs: BrokerLogs) -> None:
        super().__init__(GROUPS, config.number("offsets.topic.num.partitions"), config.node_id, logs)
        self._config = config
        self._views: dict[UUID, tuple[TopicImage, TopicView]] = {}
        self._around: tuple[GroupConfigs, TopicsView] | None = None
        """What all partitions that are being taken over see of the world."""

    def _tell(self, before: MetadataImage) -> None:
        if before.topics is not self._image.topics:
            topics = self._topics_view()
            for partition in self:
                partition.set_topics(topics)
        if before.configs is not self._image.configs:
            configs = read_group_configs(self._config, self._image)
            for partition in self:
                partition.set_configs(configs)

    def _host(self, topic: TopicImage) -> None:
        self._around = (read_group_configs(self._config, self._image), self._topics_view())
        super()._host(topic)

    def _make(self, log: PartitionLog, leader_epoch: int) -> GroupPartition:
        from doorkeeper.cluster.broker.group_partition import GroupPartition

        assert self._around is not None
        return GroupPartition(log, leader_epoch, *self._around)

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


def read_group_configs(config: NodeConfig, image: MetadataImage) -> GroupConfigs:
    """The node's settings for groups, and what single groups have instead."""
    from doorkeeper.cluster.groups.settings import KEYS, GroupConfigs, settings_from_config

    keys = (*KEYS, "offsets.retention.minutes", "group.consumer.assignors", "group.consumer.migration.policy")
    view = view_in_force(config, image)
    settings = settings_from_config({key: view.value(key) for key in keys})
    overrides = {
        resource.name: {key: int(value) for key, value in own.items() if value.strip().lstrip("+-").isdigit()}
        for resource, own in image.configs.resources.items()
        if resource.type == ConfigResourceType.GROUP
    }
    return GroupConfigs(settings, overrides)
