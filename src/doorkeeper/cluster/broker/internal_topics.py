"""What internal topics are made with (AutoTopicCreationManager, GroupCoordinatorService, TransactionStateManager)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from doorkeeper.cluster.server_config import NodeConfig

GROUPS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"


def internal_topic(config: NodeConfig, name: str) -> dict[str, Any] | None:
    """The fields of CreateTopics for an internal topic; None for a topic of somebody else's."""
    if name == GROUPS:
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.number("offsets.topic.segment.bytes")),
        }
        return _fields(config, "offsets.topic.num.partitions", "offsets.topic.replication.factor", configs)
    if name == TRANSACTIONS:
        configs = {
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": str(config.number("transaction.state.log.min.isr")),
            "segment.bytes": str(config.number("transaction.state.log.segment.bytes")),
        }
        prefix = "transaction.state.log"
        return _fields(config, f"{prefix}.num.partitions", f"{prefix}.replication.factor", configs)
    return None


def _fields(config: NodeConfig, partitions: str, replicas: str, configs: Mapping[str, str]) -> dict[str, Any]:
    return {
        "num_partitions": config.number(partitions),
        "replication_factor": config.number(replicas),
        "configs": [{"name": key, "value": value} for key, value in configs.items()],
    }
