"""Partitions as a client sees them through one listener: the common part of Metadata and DescribeTopicPartitions.

From KRaftMetadataCache.
"""

from __future__ import annotations

from typing import Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import Listener
from doorkeeper.cluster.image.topics import PartitionRegistration

NO_LEADER: Final = -1
NO_OPERATIONS: Final = -(2**31)
"""The schema's default: nobody asked which operations are allowed."""
INTERNAL_TOPICS: Final = frozenset(("__consumer_offsets", "__transaction_state", "__share_group_state"))

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _CLUSTER_ACTION = 3, 4, 5, 6, 7, 8, 9
_DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 10, 11, 12
TOPIC_OPERATIONS: Final = sum(
    1 << code for code in (_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
)
CLUSTER_OPERATIONS: Final = sum(
    1 << code
    for code in (
        _CREATE,
        _ALTER,
        _DESCRIBE,
        _CLUSTER_ACTION,
        _DESCRIBE_CONFIGS,
        _ALTER_CONFIGS,
        _IDEMPOTENT_WRITE,
    )
)
"""Bit fields of all operations that exist: without an authorizer all is allowed (AclEntry.supportedOperations)."""


class ListenerView:
    """The cluster as it is reached through one listener."""

    def __init__(self, image: MetadataImage, listener: str) -> None:
        self.image = image
        self._alive: dict[int, Listener] = {
            broker.id: broker.listeners[listener]
            for _, broker in sorted(image.cluster.brokers.items())
            if not broker.fenced and listener in broker.listeners
        }

    def brokers(self) -> list[dict[str, Any]]:
        """The brokers that are there."""
        racks = self.image.cluster.brokers
        return [
            {"node_id": broker_id, "host": one.host, "port": one.port, "rack": racks[broker_id].rack}
            for broker_id, one in self._alive.items()
        ]

    def any_broker(self) -> int:
        """A broker that is there: the one that clients take for the controller, for it forwards."""
        return min(self._alive, default=NO_LEADER)

    def partition(self, index: int, one: PartitionRegistration) -> dict[str, Any]:
        """One partition; the keys are those of the newest schemas of both APIs."""
        leader = one.leader if one.leader in self._alive else NO_LEADER
        return {
            "error_code": self._error(one),
            "partition_index": index,
            "leader_id": leader,
            "leader_epoch": one.leader_epoch,
            "replica_nodes": one.replicas,
            "isr_nodes": one.isr,
            "eligible_leader_replicas": one.elr,
            "last_known_elr": one.last_known_elr,
            "offline_replicas": tuple(replica for replica in one.replicas if replica not in self._alive),
        }

    def _error(self, one: PartitionRegistration) -> ErrorCode:
        if one.leader in self._alive:
            return ErrorCode.none
        known = one.leader in self.image.cluster.brokers
        return ErrorCode.listener_not_found if known else ErrorCode.leader_not_available
