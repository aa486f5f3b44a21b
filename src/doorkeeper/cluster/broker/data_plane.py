"""All that a broker keeps for its clients: logs, fetch sessions, groups, transactions; started and stopped as one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from doorkeeper.cluster.broker.fetch_sessions import FetchSessions
from doorkeeper.cluster.broker.groups import BrokerGroups
from doorkeeper.cluster.broker.logs import BrokerLogs, open_logs
from doorkeeper.cluster.broker.peers import BrokerPeers
from doorkeeper.cluster.broker.producer_ids import ProducerIds
from doorkeeper.cluster.broker.transaction_markers import MarkerSender, MarkerWriter
from doorkeeper.cluster.broker.transaction_verifier import TransactionVerifier
from doorkeeper.cluster.broker.transactions import BrokerTransactions
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.server_config import NodeConfig


class DataPlane:
    """Made by `open_data_plane`, once the broker knows the metadata."""

    def __init__(self, config: NodeConfig, logs: BrokerLogs, peers: BrokerPeers, producer_ids: ProducerIds) -> None:
        self.logs = logs
        self.groups = BrokerGroups(config, logs)
        self.markers = MarkerWriter(logs, self.groups)
        sender = MarkerSender(config.node_id, logs, self.markers, peers)
        self.transactions = BrokerTransactions(config, logs, sender, producer_ids)
        self.verifier = TransactionVerifier(config, logs, self.transactions, peers)
        self.sessions = FetchSessions(config.number("max.incremental.fetch.session.cache.slots"))
        self.fetch_max_bytes = config.number("fetch.max.bytes")

    def follow(self, image: MetadataImage) -> None:
        """Take in new metadata."""
        self.logs.follow(image)
        self.groups.follow(image)
        self.transactions.follow(image)

    def start(self, spawn: Callable[[str, Coroutine[Any, Any, None]], None]) -> None:
        """Begin with the background work."""
        spawn("logs", self.logs.run())

    def stop_waiting(self) -> None:
        """Let nobody wait any longer: requests that do are answered with what there is."""
        self.logs.stop_waiting()
        self.groups.close()
        self.transactions.close()

    def close(self, broker_epoch: int) -> None:
        self.logs.close(broker_epoch)


def open_data_plane(
    config: NodeConfig, directories: Sequence[Path], image: MetadataImage, peers: BrokerPeers, producer_ids: ProducerIds
) -> DataPlane:
    """Open what is kept in these directories."""
    return DataPlane(config, open_logs(config, directories, image), peers, producer_ids)
