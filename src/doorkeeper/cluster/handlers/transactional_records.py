"""Transactional records in a Produce: their coordinator is asked before they are appended (KIP-890).

From KafkaApis.handleProduceRequest and ReplicaManager.handleProduceAppend.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.transaction_verifier import Verified, Writer
from doorkeeper.cluster.log.producer_state import Verification
from doorkeeper.wire.records import HEADER_BYTES, MAGIC, TRANSACTIONAL, view_header

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.handlers.call import Call
    from doorkeeper.cluster.transactions.messages import TopicPartition

_MAGIC_PLACE: Final = 16
_ATTRIBUTES_PLACE: Final = 22  # the low byte of two
NOT_ADDED: Final = "Partition was not added to the transaction"
UNVERIFIED: Final = "Unable to verify the partition has been added to the transaction. Underlying error: {}"


class Leave(NamedTuple):
    """Whether a partition may be written to: a code that says no, or else maybe a guard to show to the log."""

    code: ErrorCode = ErrorCode.none
    message: str | None = None
    guard: Verification | None = None


FREE: Final = Leave()
"""Not transactional, or in a transaction that has begun there already."""
Leaves = dict[tuple[str, int], Leave]


def is_transactional(records: bytes | memoryview | None) -> bool:
    """Whether a batch is part of a transaction, at a glance."""
    return (
        records is not None
        and len(records) >= HEADER_BYTES
        and records[_ATTRIBUTES_PLACE] & TRANSACTIONAL != 0
        and records[_MAGIC_PLACE] == MAGIC
    )


def ask_leave(
    broker: BrokerRole, call: Call, asked: Iterable[tuple[str, Any]]
) -> Leaves | ErrorCode | Awaitable[Leaves]:
    """Leave for the partitions with transactional records, each with the name of its topic; a code refuses all."""
    from doorkeeper.cluster.transactions.messages import TopicPartition
    from doorkeeper.cluster.transactions.verification import produce_operation

    sequences: dict[TopicPartition, int] = {}
    producers: set[tuple[int, int]] = set()
    for topic, one in asked:
        batch = view_header(one.records)
        if batch.producer_id >= 0:
            producers.add((batch.producer_id, batch.producer_epoch))
            sequences[TopicPartition(topic, one.index)] = batch.base_sequence
    if len(producers) > 1:
        return ErrorCode.invalid_producer_id_mapping
    if not producers:
        return {}
    writer = Writer(call.body.transactional_id, *producers.pop())
    verified = broker.data.verifier.verify_patiently(produce_operation(call.version), writer, sequences)
    if isinstance(verified, Awaitable):
        return _leaves_later(call.version, verified)
    return _leaves(call.version, verified)


async def _leaves_later(version: int, verified: Awaitable[Verified]) -> Leaves:
    return _leaves(version, await verified)


def _leaves(version: int, verified: Verified) -> Leaves:
    leaves: Leaves = {(one.topic, one.partition): Leave(guard=guard) for one, guard in verified.guards.items()}
    for one, code in verified.errors.items():
        leaves[one.topic, one.partition] = _refused(version, code)
    return leaves


def _refused(version: int, code: ErrorCode) -> Leave:
    from doorkeeper.cluster.transactions.verification import produce_code, produce_operation

    told = produce_code(produce_operation(version), code)
    if told is ErrorCode.invalid_txn_state:
        return Leave(told, NOT_ADDED)
    if told is ErrorCode.not_enough_replicas:
        return Leave(told, UNVERIFIED.format(code.name.upper()))
    return Leave(told)
