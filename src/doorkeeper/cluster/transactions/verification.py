"""What a partition's leader asks of the transaction coordinator before it lets a transaction write (KIP-890).

From Kafka's AddPartitionsToTxnManager: a Produce or TxnOffsetCommit of an older client is only verified, that of a
client at transaction version 2 takes the partition into the transaction. The request goes to the coordinator of the
transactional id as AddPartitionsToTxn at version 4 or later, one result for each partition comes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.messages import AddPartitionsToTxnRequest, TopicPartition


class Operation(Enum):
    """What the version of a client's request allows (Kafka's TransactionSupportedOperation)."""

    DEFAULT_ERROR = auto()
    """Verify; the client does not know TRANSACTION_ABORTABLE."""
    GENERIC_ERROR_SUPPORTED = auto()
    """Verify; it does."""
    ADD_PARTITION = auto()
    """Take the partition in."""


def _operation(version: int, generic_since: int) -> Operation:
    if version > generic_since:
        return Operation.ADD_PARTITION
    return Operation.GENERIC_ERROR_SUPPORTED if version == generic_since else Operation.DEFAULT_ERROR


def produce_operation(api_version: int) -> Operation:
    """For a Produce request: 11 knows TRANSACTION_ABORTABLE, 12 is transaction version 2."""
    return _operation(api_version, 11)


def txn_offset_commit_operation(api_version: int) -> Operation:
    """For a TxnOffsetCommit request: 4 knows TRANSACTION_ABORTABLE, 5 is transaction version 2."""
    return _operation(api_version, 4)


def verification_request(
    operation: Operation,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Iterable[TopicPartition],
) -> AddPartitionsToTxnRequest:
    """The question for the coordinator."""
    return AddPartitionsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        partitions=tuple(partitions),
        verify_only=operation is not Operation.ADD_PARTITION,
    )


def _verified_code(operation: Operation, code: ErrorCode) -> ErrorCode:
    """A partition's result, in the words that a producer expects."""
    if code is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if code is ErrorCode.transaction_abortable and operation is Operation.DEFAULT_ERROR:
        return ErrorCode.invalid_txn_state
    return code


_NO_COORDINATOR: Final = frozenset(
    {
        ErrorCode.network_exception,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
    }
)


def produce_code(operation: Operation, code: ErrorCode) -> ErrorCode:
    """What a producer is told. NOT_ENOUGH_REPLICAS makes any client try again (ReplicaManager)."""
    code = _verified_code(operation, code)
    busy = code is ErrorCode.concurrent_transactions and operation is not Operation.ADD_PARTITION
    return ErrorCode.not_enough_replicas if busy or code in _NO_COORDINATOR else code


_COMMIT_CODES: Final = {
    ErrorCode.network_exception: ErrorCode.coordinator_load_in_progress,
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
}


def txn_offset_commit_code(operation: Operation, code: ErrorCode) -> ErrorCode:
    """What a client that commits offsets is told (CoordinatorOperationExceptionHelper)."""
    code = _verified_code(operation, code)
    return _COMMIT_CODES.get(code, code)
