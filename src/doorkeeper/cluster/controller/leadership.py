"""Who leads the partitions when a broker goes or comes.

From ReplicationControlManager.generateLeaderAndIsrUpdates. A partition here has one replica, so nobody can take over:
it is leaderless while its broker is away and led by it again afterwards. The sole replica never leaves the ISR, as in
Kafka without eligible leader replicas: nothing is lost by waiting for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final
from uuid import UUID

from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import BrokerRegistration
from doorkeeper.cluster.image.topics import (
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    PartitionRegistration,
)
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import PartitionChangeRecord

NO_LEADER: Final = -1


def has_leaderships(image: MetadataImage, broker_id: int) -> bool:
    """Whether the broker leads any partition."""
    return any(partition.leader == broker_id for _, _, partition in _partitions(image))


def records_without_leader(image: MetadataImage, broker_id: int) -> list[VersionedRecord]:
    """Take every leadership from a broker."""
    return [
        _with_leader(image, topic_id, partition_id, NO_LEADER)
        for topic_id, partition_id, partition in _partitions(image)
        if partition.leader == broker_id
    ]


def records_of_lost_directories(image: MetadataImage, broker_id: int, lost: Collection[UUID]) -> list[VersionedRecord]:
    """Take the leaderships of the partitions that lie in lost directories from their broker."""
    return [
        _with_leader(image, topic_id, partition_id, NO_LEADER)
        for topic_id, partition_id, partition in _partitions(image)
        if partition.leader == broker_id and _directory(partition, broker_id) in lost
    ]


def records_with_leader(image: MetadataImage, broker: BrokerRegistration) -> list[VersionedRecord]:
    """Give a broker the leaderless partitions whose replica it holds in a directory that is there."""
    return [
        _with_leader(image, topic_id, partition_id, broker.id)
        for topic_id, partition_id, partition in _partitions(image)
        if partition.leader == NO_LEADER
        and broker.id in partition.isr
        and _is_online(broker, _directory(partition, broker.id))
    ]


def _partitions(image: MetadataImage) -> Iterator[tuple[UUID, int, PartitionRegistration]]:
    for topic_id, topic in image.topics.by_id.items():
        for partition_id, partition in topic.partitions.items():
            yield topic_id, partition_id, partition


def _directory(partition: PartitionRegistration, broker_id: int) -> UUID:
    return partition.directories[partition.replicas.index(broker_id)]


def _is_online(broker: BrokerRegistration, directory: UUID) -> bool:
    return directory in (DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED) or directory in broker.directories


def _with_leader(image: MetadataImage, topic_id: UUID, partition_id: int, leader: int) -> VersionedRecord:
    record = PartitionChangeRecord(topic_id=topic_id, partition_id=partition_id, leader=leader)
    return VersionedRecord(record, image.features.require_metadata_version().partition_record_version)
