"""The cluster itself: its nodes, its quorum, its features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from doorkeeper.client.api import Api, check_whole
from doorkeeper.client.errors import raise_for
from doorkeeper.client.router import (
    BROKER_ENDPOINTS,
    CONTROLLER_ENDPOINTS,
    DESCRIBE_CLUSTER,
    NO_OPERATIONS,
    Node,
    Target,
)

DESCRIBE_QUORUM: Final = 55
UPDATE_FEATURES: Final = 57
UNREGISTER_BROKER: Final = 64
METADATA_TOPIC: Final = "__cluster_metadata"


class UpgradeType(IntEnum):
    """How a feature level may move (FeatureUpdate.UpgradeType)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The nodes behind the bootstrap addresses: brokers, or controllers with bootstrap controllers."""

    cluster_id: str
    controller_id: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """How far one member of the quorum is."""

    replica_id: int
    log_end_offset: int


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The quorum of the metadata log."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...]
    controllers: tuple[Node, ...] = ()
    """Where the voters listen; empty where the cluster is too old to say (before version 2 of the API)."""


class ClusterApi(Api):
    """The part of Admin about the cluster itself."""

    async def describe_cluster(self) -> ClusterDescription:
        """Who is in the cluster, and which node stands for the controller."""
        endpoints = CONTROLLER_ENDPOINTS if self._router.controllers else BROKER_ENDPOINTS
        values = {"endpoint_type": endpoints, **NO_OPERATIONS}
        answer = await self._router.call(Target.ANY, DESCRIBE_CLUSTER, values, check_whole)
        nodes = (Node(one.broker_id, one.host, one.port, one.rack) for one in answer.brokers)
        return ClusterDescription(answer.cluster_id, answer.controller_id, tuple(sorted(nodes)))

    async def describe_quorum(self) -> QuorumDescription:
        """The state of the metadata quorum, as its leader tells it."""
        values = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}
        answer = await self._router.call(Target.ANY, DESCRIBE_QUORUM, values, _check_quorum)
        partition = answer.topics[0].partitions[0]
        return QuorumDescription(
            partition.leader_id,
            partition.leader_epoch,
            partition.high_watermark,
            tuple(ReplicaState(one.replica_id, one.log_end_offset) for one in partition.current_voters),
            tuple(ReplicaState(one.replica_id, one.log_end_offset) for one in partition.observers),
            tuple(
                Node(node.node_id, node.listeners[0].host, node.listeners[0].port)
                for node in getattr(answer, "nodes", ())
                if node.listeners
            ),
        )

    async def update_features(
        self,
        levels: Mapping[str, int],
        *,
        upgrade_type: UpgradeType = UpgradeType.UPGRADE,
        validate_only: bool = False,
    ) -> None:
        """Move features to the given levels, all or none; level 0 removes a feature.

        Asked of a cluster that still answers per feature (before version 2 of the API), the first error is raised.
        """
        values = {
            "timeout": self._server_timeout(),
            "feature_updates": [
                {
                    "feature": name,
                    "max_version_level": level,
                    "upgrade_type": upgrade_type,
                    "allow_downgrade": upgrade_type is not UpgradeType.UPGRADE,
                }
                for name, level in levels.items()
            ],
            "validate_only": validate_only,
        }
        answer = await self._router.call(Target.CONTROLLER, UPDATE_FEATURES, values, check_whole)
        for one in getattr(answer, "results", ()):
            raise_for(one.error_code, one.error_message)

    async def unregister_broker(self, broker_id: int) -> None:
        """Forget a broker that is gone for good."""
        await self._router.call(Target.ANY, UNREGISTER_BROKER, {"broker_id": broker_id}, check_whole)


def _check_quorum(answer: Any) -> None:
    check_whole(answer)
    for topic in answer.topics:
        for partition in topic.partitions:
            raise_for(partition.error_code, getattr(partition, "error_message", None))
