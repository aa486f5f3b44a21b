"""A partition's leader asks a transaction's coordinator before it lets the transaction write (KIP-890).

From ReplicaManager.maybeSendPartitionsToTransactionCoordinator and AddPartitionsToTxnManager. If the coordinator is
this broker's own, the answer is there at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import BrokerLogs, now_ms
from doorkeeper.cluster.broker.peers import BrokerPeers
from doorkeeper.cluster.broker.transactions import BrokerTransactions
from doorkeeper.cluster.log.producer_state import Verification
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.errors import NetworkError, ProtocolError
from doorkeeper.wire.registry import VersionRange

if TYPE_CHECKING:
    from doorkeeper.cluster.transactions.messages import AddPartitionsToTxnRequest, PartitionCodes, TopicPartition
    from doorkeeper.cluster.transactions.verification import Operation

ADD_PARTITIONS_TO_TXN: Final = 24
BROKER_VERSIONS: Final = VersionRange(4, 5)
NO_LEADER: Final = -1


class Writer(NamedTuple):
    """The transaction in whose name somebody writes."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class Verified(NamedTuple):
    """What became of the question."""

    errors: Mapping[TopicPartition, ErrorCode] = {}
    """Partitions that must not be written to, and why."""
    guards: Mapping[TopicPartition, Verification] = {}
    """Leave to write, for partitions where the transaction begins."""


class TransactionVerifier:
    """Asks for one broker."""

    def __init__(
        self, config: NodeConfig, logs: BrokerLogs, transactions: BrokerTransactions, peers: BrokerPeers
    ) -> None:
        self._node_id = config.node_id
        self._logs = logs
        self._transactions = transactions
        self._peers = peers
        self._backoff_seconds = config.seconds("add.partitions.to.txn.retry.backoff.ms")
        self._patience_seconds = min(
            config.seconds("add.partitions.to.txn.retry.backoff.max.ms"), config.seconds("request.timeout.ms")
        )

    def verify(
        self, operation: Operation, writer: Writer, sequences: Mapping[TopicPartition, int]
    ) -> Verified | Awaitable[Verified]:
        """Ask whether a transaction may write to partitions, each with the first sequence number that it writes."""
        from doorkeeper.cluster.transactions.verification import Operation, verification_request

        adds = operation is Operation.ADD_PARTITION
        if not adds and not self._logs.producers.requires_verification:
            return Verified()
        errors, guards = self._begin(writer, sequences, adds=adds)
        if not guards:
            return Verified(errors)
        codes = self._ask(verification_request(operation, *writer, guards))
        if isinstance(codes, Awaitable):
            return _verified_later(errors, guards, codes)
        return _verified(errors, guards, codes)

    def verify_patiently(
        self, operation: Operation, writer: Writer, sequences: Mapping[TopicPartition, int]
    ) -> Verified | Awaitable[Verified]:
        """Like `verify`, and again while the transaction before is not quite over, for a moment.

        A client at transaction version 2 may begin its next transaction before the markers of the last are written.
        """
        outcome = self.verify(operation, writer, sequences)
        if isinstance(outcome, Verified) and not _is_early(operation, outcome):
            return outcome
        return self._insist(outcome, operation, writer, sequences)

    async def _insist(
        self,
        outcome: Verified | Awaitable[Verified],
        operation: Operation,
        writer: Writer,
        sequences: Mapping[TopicPartition, int],
    ) -> Verified:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience_seconds
        while True:
            verified = await outcome if isinstance(outcome, Awaitable) else outcome
            if not _is_early(operation, verified) or loop.time() >= deadline:
                return verified
            await asyncio.sleep(self._backoff_seconds)
            outcome = self.verify(operation, writer, sequences)

    def _begin(
        self, writer: Writer, sequences: Mapping[TopicPartition, int], *, adds: bool
    ) -> tuple[dict[TopicPartition, ErrorCode], dict[TopicPartition, Verification]]:
        errors: dict[TopicPartition, ErrorCode] = {}
        guards: dict[TopicPartition, Verification] = {}
        for one, sequence in sequences.items():
            led = self._logs.find(one.topic, one.partition)
            if isinstance(led, ErrorCode):
                errors[one] = led
                continue
            begun = led.log.producers.start_verification(
                writer.producer_id, sequence, writer.producer_epoch, now_ms(), supports_epoch_bump=adds
            )
            if isinstance(begun, Refusal):
                errors[one] = ErrorCode(begun.code)
            elif begun is not None:
                guards[one] = begun
        return errors, guards

    def _ask(self, request: AddPartitionsToTxnRequest) -> PartitionCodes | Awaitable[PartitionCodes]:
        leader = self._transactions.leader_of(request.transactional_id)
        if leader is None or leader == NO_LEADER:
            return dict.fromkeys(request.partitions, ErrorCode.coordinator_not_available)
        if leader == self._node_id:
            return self._transactions.add_partitions(request, BROKER_VERSIONS.highest)
        return self._ask_broker(leader, request)

    async def _ask_broker(self, leader: int, request: AddPartitionsToTxnRequest) -> PartitionCodes:
        from doorkeeper.cluster.transactions.translation import add_partitions_values, read_add_partitions_codes

        try:
            values = add_partitions_values(request)
            response = await self._peers.ask(leader, ADD_PARTITIONS_TO_TXN, BROKER_VERSIONS, values)
        except (NetworkError, ProtocolError):
            return dict.fromkeys(request.partitions, ErrorCode.network_exception)
        return read_add_partitions_codes(request, response)


async def _verified_later(
    errors: Mapping[TopicPartition, ErrorCode],
    guards: Mapping[TopicPartition, Verification],
    codes: Awaitable[PartitionCodes],
) -> Verified:
    return _verified(errors, guards, await codes)


def _verified(
    errors: Mapping[TopicPartition, ErrorCode], guards: Mapping[TopicPartition, Verification], codes: PartitionCodes
) -> Verified:
    refused = {one: code for one, code in codes.items() if code is not ErrorCode.none}
    return Verified({**errors, **refused}, guards)


def _is_early(operation: Operation, verified: Verified) -> bool:
    from doorkeeper.cluster.transactions.verification import Operation

    return operation is Operation.ADD_PARTITION and ErrorCode.concurrent_transactions in verified.errors.values()
