"""AddPartitionsToTxn and AddOffsetsToTxn: what a transaction touches; and the question whether it does (KIP-890)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.messages import NONE, AddPartitionsToTxnRequest, PartitionCodes, TopicPartition
from doorkeeper.cluster.transactions.states import TransactionState
from doorkeeper.cluster.transactions.step import Step, TransactionRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.cluster.transactions.metadata import TransactionMetadata
    from doorkeeper.cluster.transactions.state import CoordinatorState


def broker_refusal(request: AddPartitionsToTxnRequest) -> PartitionCodes | None:
    """One partition that the broker turns down keeps all others of the transaction out, too (KafkaApis)."""
    if not request.refused:
        return None
    return {one: request.refused.get(one, ErrorCode.operation_not_attempted) for one in request.partitions}


def verify_partitions(state: CoordinatorState, request: AddPartitionsToTxnRequest) -> PartitionCodes:
    """Which of the partitions are in the transaction: the others must not be written to."""
    metadata = state.require_transaction(request.transactional_id)
    _require_producer(metadata, request.producer_id, request.producer_epoch)
    if metadata.state.is_ending:
        raise TransactionRefusedError(ErrorCode.concurrent_transactions)
    return {one: NONE if one in metadata.partitions else ErrorCode.transaction_abortable for one in request.partitions}


def add_partitions(
    state: CoordinatorState,
    step: Step,
    *,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Iterable[TopicPartition],
    client_version: int,
) -> None:
    """Take partitions into the transaction, and begin it if there is none."""
    metadata = state.require_transaction(transactional_id)
    if metadata.state.is_ending:
        # Before the producer is looked at: it may already have an id that is ours only when the transaction is over.
        raise TransactionRefusedError(ErrorCode.concurrent_transactions)
    _require_producer(metadata, producer_id, producer_epoch)
    added = frozenset(partitions)
    if metadata.state is TransactionState.ONGOING and added <= metadata.partitions:
        return
    state.require_writable(client_version)
    step.write(metadata.with_partitions(added, client_version, step.now_ms))


def _require_producer(metadata: TransactionMetadata, producer_id: int, producer_epoch: int) -> None:
    if metadata.producer_id != producer_id:
        raise TransactionRefusedError(ErrorCode.invalid_producer_id_mapping)
    if metadata.producer_epoch != producer_epoch:
        raise TransactionRefusedError(ErrorCode.producer_fenced)
