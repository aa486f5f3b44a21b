"""TxnOffsetCommit (28): offsets that count when their transaction does. From KafkaApis.handleTxnOffsetCommitRequest."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.internal_topics import GROUPS
from doorkeeper.cluster.broker.transaction_verifier import Verified, Writer
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import context_of
from doorkeeper.wire.records import NO_SEQUENCE
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.groups.messages import TxnOffsetCommitRequest

SERVED: Final = Served(28, 0, 5, frozenset((Door.BROKER,)))
FIRST_THAT_KNOWS_LOADING: Final = 2
"""Older producers may crash when they hear that a coordinator is loading (KAFKA-7296)."""

Codes = dict[tuple[str, int], ErrorCode]


def at_broker(broker: BrokerRole, call: Call) -> Any | Awaitable[Any]:
    from doorkeeper.cluster.groups.messages import TxnOffsetCommitRequest
    from doorkeeper.cluster.groups.translation import read_request

    codes, request = _split(broker, read_request(TxnOffsetCommitRequest, call.body))
    if not request.topics:
        return _answer(call, codes)
    if not request.group_id:
        return _answer(call, _refuse(codes, request, ErrorCode.invalid_group_id))
    verified = _verify(broker, call, request)
    if isinstance(verified, Awaitable):
        return _commit_later(broker, call, codes, request, verified)
    return _commit(broker, call, codes, request, verified)


def _split(broker: BrokerRole, request: TxnOffsetCommitRequest) -> tuple[Codes, TxnOffsetCommitRequest]:
    """What is refused for partitions that are not there, and what is left of the request."""
    codes: Codes = {}
    topics = []
    for topic in request.topics:
        known = broker.image.topics.by_name.get(topic.name)
        there = tuple(one for one in topic.partitions if known is not None and one.partition_index in known.partitions)
        gone = [one for one in topic.partitions if one not in there]
        codes |= {(topic.name, one.partition_index): ErrorCode.unknown_topic_or_partition for one in gone}
        if there:
            topics.append(replace(topic, partitions=there))
    return codes, replace(request, topics=tuple(topics))


def _verify(broker: BrokerRole, call: Call, request: TxnOffsetCommitRequest) -> Verified | Awaitable[Verified]:
    from doorkeeper.cluster.transactions.messages import TopicPartition
    from doorkeeper.cluster.transactions.verification import txn_offset_commit_operation

    partition = TopicPartition(GROUPS, broker.data.groups.partition_of(request.group_id))
    writer = Writer(call.body.transactional_id, request.producer_id, request.producer_epoch)
    return broker.data.verifier.verify(txn_offset_commit_operation(call.version), writer, {partition: NO_SEQUENCE})


async def _commit_later(
    broker: BrokerRole, call: Call, codes: Codes, request: TxnOffsetCommitRequest, verified: Awaitable[Verified]
) -> Any:
    return _commit(broker, call, codes, request, await verified)


def _commit(broker: BrokerRole, call: Call, codes: Codes, request: TxnOffsetCommitRequest, verified: Verified) -> Any:
    from doorkeeper.cluster.transactions.verification import txn_offset_commit_code, txn_offset_commit_operation

    operation = txn_offset_commit_operation(call.version)
    for code in verified.errors.values():
        return _answer(call, _refuse(codes, request, txn_offset_commit_code(operation, code)))
    partition = broker.data.groups.find(request.group_id)
    if isinstance(partition, ErrorCode):
        return _answer(call, _refuse(codes, request, partition))
    context = context_of(call)
    outcome = partition.submit(
        lambda coordinator, token, now: coordinator.commit_transactional_offsets(context, request, token, now),
        next(iter(verified.guards.values()), None),
    )
    if isinstance(outcome, ErrorCode):
        return _answer(call, _refuse(codes, request, txn_offset_commit_code(operation, outcome)))
    codes |= {(topic.name, one.partition_index): one.error_code for topic in outcome.topics for one in topic.partitions}
    return _answer(call, codes)


def _refuse(codes: Codes, request: TxnOffsetCommitRequest, code: ErrorCode) -> Codes:
    return codes | {(topic.name, one.partition_index): code for topic in request.topics for one in topic.partitions}


def _answer(call: Call, codes: Codes) -> Any:
    """A topic stands there once, however often it was named."""
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for (topic, index), code in codes.items():
        by_topic.setdefault(topic, []).append({"partition_index": index, "error_code": _told(call, code)})
    return call.answer({"topics": [{"name": name, "partitions": members} for name, members in by_topic.items()]})


def _told(call: Call, code: ErrorCode) -> ErrorCode:
    if call.version < FIRST_THAT_KNOWS_LOADING and code is ErrorCode.coordinator_load_in_progress:
        return ErrorCode.coordinator_not_available
    return code
