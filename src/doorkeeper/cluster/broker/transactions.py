"""The transactions that a broker coordinates: those of the partitions of `__transaction_state` that it leads.

As with groups, coordinators and what they are made of are loaded with the first such partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.coordinated_topic import CoordinatedTopic
from doorkeeper.cluster.broker.internal_topics import TRANSACTIONS
from doorkeeper.cluster.broker.logs import BrokerLogs
from doorkeeper.cluster.broker.producer_ids import ProducerIds
from doorkeeper.cluster.broker.transaction_markers import MarkerSender
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.errors import NetworkError

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.transaction_partition import TransactionPartition
    from doorkeeper.cluster.transactions.coordinator import TransactionCoordinator
    from doorkeeper.cluster.transactions.messages import AddPartitionsToTxnRequest, PartitionCodes
    from doorkeeper.cluster.transactions.settings import TransactionSettings
    from doorkeeper.cluster.transactions.step import Decision

TRANSACTION_VERSION: Final = "transaction.version"

R = TypeVar("R")


def transaction_version(image: MetadataImage) -> int:
    """The cluster's feature level."""
    return image.features.finalized.get(TRANSACTION_VERSION, 0)


class BrokerTransactions(CoordinatedTopic["TransactionPartition"]):
    """Follows the metadata; finds the partition that keeps a transactional id."""

    def __init__(self, config: NodeConfig, logs: BrokerLogs, sender: MarkerSender, producer_ids: ProducerIds) -> None:
        super().__init__(TRANSACTIONS, config.number("transaction.state.log.num.partitions"), config.node_id, logs)
        self._config = config
        self._sender = sender
        self._producer_ids = producer_ids
        self._asking: asyncio.Task[None] | None = None

    def _tell(self, before: MetadataImage) -> None:
        level = transaction_version(self._image)
        if level != transaction_version(before):
            for partition in self:
                partition.set_transaction_version(level)

    def _make(self, log: PartitionLog, leader_epoch: int) -> TransactionPartition:
        from doorkeeper.cluster.broker.transaction_partition import Around, TransactionPartition

        around = Around(self.settings(), self._new_producer_id, self._sender.send)
        return TransactionPartition(log, leader_epoch, around, transaction_version(self._image))

    def settings(self) -> TransactionSettings:
        from doorkeeper.cluster.transactions.settings import KEYS, settings_from_config

        return settings_from_config({key: self._config.view.value(key) for key in KEYS})

    def leader_of(self, transactional_id: str) -> int | None:
        """The broker that coordinates an id, if there is one."""
        registration = self._logs.registration(self._topic, self.partition_of(transactional_id))
        return None if registration is None else registration.leader

    def ask(self, transactional_id: str, decide: Callable[[TransactionCoordinator, int], Decision[R]]) -> R | ErrorCode:
        """Let the coordinator of an id decide, if it is here."""
        if not transactional_id:
            return ErrorCode.invalid_request
        partition = self.find(transactional_id)
        if isinstance(partition, ErrorCode):
            return partition
        return partition.submit(decide)

    def add_partitions(self, request: AddPartitionsToTxnRequest, api_version: int) -> PartitionCodes:
        """Take partitions into a transaction, or say whether they are in it (KafkaApis.handleAddPartitionsToTxn)."""
        from doorkeeper.cluster.transactions.partitions import broker_refusal

        missing = {
            one: ErrorCode.unknown_topic_or_partition
            for one in request.partitions
            if self._logs.registration(one.topic, one.partition) is None
        }
        if missing and (codes := broker_refusal(replace(request, refused=missing))) is not None:
            return codes
        outcome = self.ask(
            request.transactional_id,
            lambda coordinator, now: coordinator.add_partitions_to_txn(request, api_version, now),
        )
        return dict.fromkeys(request.partitions, outcome) if isinstance(outcome, ErrorCode) else outcome

    # --- producer ids ---

    def _new_producer_id(self) -> int | None:
        producer_id = self._producer_ids.take()
        if producer_id is None and (self._asking is None or self._asking.done()):
            self._asking = asyncio.get_running_loop().create_task(self._ask_for_ids())
        return producer_id

    async def _ask_for_ids(self) -> None:
        try:
            await self._producer_ids.refill()
        except NetworkError:
            return  # who needs one asks again

    def close(self) -> None:
        super().close()
        self._sender.close()
        if self._asking is not None:
            self._asking.cancel()
