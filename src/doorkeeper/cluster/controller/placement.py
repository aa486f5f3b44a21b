"""On which broker a new partition goes.

Kafka's StripedReplicaPlacer begins at a random broker; here the broker with the fewest partitions takes the next one,
so leaders spread evenly and the same image gives the same placement. One replica each (design decision 11).
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import Failure
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import BrokerRegistration
from doorkeeper.cluster.image.topics import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, PartitionRegistration
from doorkeeper.wire.metadata.serde import VersionedRecord

ONE_REPLICA: Final = (
    "The embedded cluster keeps one replica of each partition. To have more, run Apache Kafka and put Doorkeeper's "
    "gateway in front of it."
)


def refusal_of_replication(replication_factor: int) -> Failure:
    """Why a replication factor above 1 can't be had here, and what to do instead."""
    message = f"Unable to replicate the partition {replication_factor} time(s): {ONE_REPLICA}"
    return Failure(ErrorCode.invalid_replication_factor, message)


def is_active(broker: BrokerRegistration | None) -> bool:
    """Whether a broker may lead partitions now."""
    return broker is not None and not broker.fenced and not broker.in_controlled_shutdown


class Placer:
    """Hands out brokers for new partitions, evenly; it remembers what it has handed out."""

    def __init__(self, image: MetadataImage) -> None:
        load = Counter(
            replica
            for topic in image.topics.by_id.values()
            for partition in topic.partitions.values()
            for replica in partition.replicas
        )
        brokers = image.cluster.brokers.values()
        self._queue = [(load[one.id], one.id) for one in brokers if is_active(one) and _has_room(one)]
        heapq.heapify(self._queue)

    def place(self, count: int) -> list[int] | Failure:
        """The broker of each of `count` new partitions."""
        if not self._queue:
            return Failure(
                ErrorCode.invalid_replication_factor,
                "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their "
                "log directories cordoned.",
            )
        placed = []
        for _ in range(count):
            load, broker_id = self._queue[0]
            heapq.heapreplace(self._queue, (load + 1, broker_id))
            placed.append(broker_id)
        return placed


def _has_room(broker: BrokerRegistration) -> bool:
    cordoned = broker.cordoned_directories or ()
    return not broker.directories or any(one not in cordoned for one in broker.directories)


def check_assignment(image: MetadataImage, broker_ids: tuple[int, ...]) -> Failure | None:
    """Judge the replicas that a client chose for one partition (validateManualPartitionAssignment)."""
    prefix = "The manual partition assignment includes"
    if not broker_ids:
        return _invalid(f"{prefix} an empty replica list.")
    for before, broker_id in zip((None, *sorted(broker_ids)), sorted(broker_ids), strict=False):
        if broker_id not in image.cluster.brokers:
            return _invalid(f"{prefix} broker {broker_id}, but no such broker is registered.")
        if broker_id == before:
            return _invalid(f"{prefix} the broker {broker_id} more than once.")
    if len(broker_ids) > 1:
        return _invalid(f"{prefix} a partition with {len(broker_ids)} replica(s). {ONE_REPLICA}")
    return None


def check_assignment_is_active(image: MetadataImage, partition_id: int, broker_ids: tuple[int, ...]) -> Failure | None:
    """Somebody has to be there to lead."""
    if any(is_active(image.cluster.brokers.get(one)) for one in broker_ids):
        return None
    return _invalid(
        f"All brokers specified in the manual partition assignment for partition {partition_id} are fenced or in "
        "controlled shutdown."
    )


def partition_record(image: MetadataImage, topic_id: UUID, partition_id: int, broker_id: int) -> VersionedRecord:
    """A new partition, led by its only replica."""
    partition = PartitionRegistration(
        replicas=(broker_id,),
        isr=(broker_id,),
        leader=broker_id,
        leader_epoch=0,
        partition_epoch=0,
        directories=(_default_directory(image.cluster.brokers[broker_id]),),
    )
    level = image.features.require_metadata_version()
    # A level without directories loses nothing here: brokers choose theirs.
    return partition.to_record(topic_id, partition_id, level, lambda _: None)


def _default_directory(broker: BrokerRegistration) -> UUID:
    """ClusterControlManager.defaultDir: the only one, or whichever the broker picks."""
    if not broker.directories:
        return DIRECTORY_MIGRATING
    return broker.directories[0] if len(broker.directories) == 1 else DIRECTORY_UNASSIGNED


def _invalid(message: str) -> Failure:
    return Failure(ErrorCode.invalid_replica_assignment, message)
