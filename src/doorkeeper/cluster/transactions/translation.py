"""Between kio's classes, one per version of each API, and the coordinator's messages, one for all versions.

What goes by its names alone is left to the group coordinator's translation; here is what has another shape.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.translation import read_request, write_response
from doorkeeper.cluster.transactions.messages import (
    TV_0,
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribedTransaction,
    EndTxnRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    PartitionCodes,
    TopicPartition,
    TxnMarker,
)

T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_THROTTLE: Final = timedelta(0)


def _nested(kind: Callable[..., object], name: str) -> Any:
    """Another class of the same API and version."""
    return getattr(sys.modules[kind.__module__], name)


def _by_topic(partitions: Iterable[TopicPartition]) -> Iterable[tuple[str, list[TopicPartition]]]:
    for topic, members in groupby(sorted(partitions), key=attrgetter("topic")):
        yield topic, list(members)


def _flat(topics: Any) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.name, number) for topic in topics for number in topic.partitions)


# --- requests ----------------------------------------------------------------------------------------------------


def read_init_producer_id(request: Any) -> InitProducerIdRequest:
    message = read_request(InitProducerIdRequest, request)
    if not getattr(request, "enable2_pc", False):
        return message
    return InitProducerIdRequest(
        transactional_id=message.transactional_id,
        transaction_timeout_ms=message.transaction_timeout_ms,
        producer_id=message.producer_id,
        producer_epoch=message.producer_epoch,
        enable_two_pc=True,
        keep_prepared_txn=message.keep_prepared_txn,
    )


def read_add_partitions(request: Any) -> tuple[AddPartitionsToTxnRequest, ...]:
    """The transactions of an AddPartitionsToTxn request: one before version 4, a batch since."""
    if hasattr(request, "transactions"):
        return tuple(
            AddPartitionsToTxnRequest(
                transactional_id=one.transactional_id,
                producer_id=one.producer_id,
                producer_epoch=one.producer_epoch,
                verify_only=one.verify_only,
                partitions=_flat(one.topics),
            )
            for one in request.transactions
        )
    only = AddPartitionsToTxnRequest(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        partitions=_flat(request.v3_and_below_topics),
    )
    return (only,)


def add_partitions_values(request: AddPartitionsToTxnRequest) -> dict[str, Any]:
    """The fields of a request that a broker sends: version 4 or later, with one transaction."""
    topics = [
        {"name": topic, "partitions": tuple(one.partition for one in members)}
        for topic, members in _by_topic(request.partitions)
    ]
    transaction = {
        "transactional_id": request.transactional_id,
        "producer_id": request.producer_id,
        "producer_epoch": request.producer_epoch,
        "verify_only": request.verify_only,
        "topics": topics,
    }
    return {"transactions": [transaction]}


def read_add_partitions_codes(request: AddPartitionsToTxnRequest, response: Any) -> PartitionCodes:
    """What the coordinator answered to a broker, partition by partition."""
    if response.error_code:
        return dict.fromkeys(request.partitions, ErrorCode(response.error_code))
    return {
        TopicPartition(topic.name, one.partition_index): ErrorCode(one.partition_error_code)
        for result in response.results_by_transaction
        for topic in result.topic_results
        for one in topic.results_by_partition
    }


def read_add_offsets(request: Any, offsets_partition: TopicPartition) -> AddOffsetsToTxnRequest:
    """With the partition of `__consumer_offsets` that keeps the group of the request."""
    return AddOffsetsToTxnRequest(
        transactional_id=request.transactional_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        offsets_partition=offsets_partition,
    )


def read_end_txn(request: Any) -> EndTxnRequest:
    return read_request(EndTxnRequest, request)


def read_list_transactions(request: Any) -> ListTransactionsRequest:
    return read_request(ListTransactionsRequest, request)


# --- responses ---------------------------------------------------------------------------------------------------

write_init_producer_id = write_response
write_end_txn = write_response
write_list_transactions = write_response


def write_add_offsets(kind: Callable[..., T], code: ErrorCode) -> T:
    return kind(throttle_time=_NO_THROTTLE, error_code=code)


def write_add_partitions(kind: Callable[..., T], results: Iterable[tuple[str, PartitionCodes]]) -> T:
    """A response to AddPartitionsToTxn, from the transactional ids of the request and what became of each."""
    by_transaction = [(name, _topic_results(kind, codes)) for name, codes in results]
    if not hasattr(sys.modules[kind.__module__], "AddPartitionsToTxnResult"):
        ((_, topics),) = by_transaction
        return kind(throttle_time=_NO_THROTTLE, results_by_topic_v3_and_below=topics)
    result = _nested(kind, "AddPartitionsToTxnResult")
    return kind(
        throttle_time=_NO_THROTTLE,
        error_code=ErrorCode.none,
        results_by_transaction=tuple(
            result(transactional_id=name, topic_results=topics) for name, topics in by_transaction
        ),
    )


def _topic_results(kind: Callable[..., object], codes: PartitionCodes) -> tuple[Any, ...]:
    topic_result = _nested(kind, "AddPartitionsToTxnTopicResult")
    partition_result = _nested(kind, "AddPartitionsToTxnPartitionResult")
    return tuple(
        topic_result(
            name=topic,
            results_by_partition=tuple(
                partition_result(partition_index=one.partition, partition_error_code=codes[one]) for one in members
            ),
        )
        for topic, members in _by_topic(codes)
    )


def write_describe_transactions(kind: Callable[..., T], described: Iterable[DescribedTransaction]) -> T:
    state, topic_data = _nested(kind, "TransactionState"), _nested(kind, "TopicData")
    states = tuple(
        state(
            error_code=one.error_code,
            transactional_id=one.transactional_id,
            transaction_state=one.transaction_state,
            transaction_timeout=timedelta(milliseconds=one.transaction_timeout_ms),
            transaction_start_time=_EPOCH + timedelta(milliseconds=one.transaction_start_time_ms),
            producer_id=one.producer_id,
            producer_epoch=one.producer_epoch,
            topics=tuple(
                topic_data(topic=topic, partitions=tuple(member.partition for member in members))
                for topic, members in _by_topic(one.partitions)
            ),
        )
        for one in described
    )
    return kind(throttle_time=_NO_THROTTLE, transaction_states=states)


# --- markers -----------------------------------------------------------------------------------------------------


def marker_values(markers: Iterable[TxnMarker]) -> dict[str, Any]:
    """The fields of a WriteTxnMarkers request; version 1 does not tell the transaction version."""
    return {
        "markers": [
            {
                "producer_id": marker.producer_id,
                "producer_epoch": marker.producer_epoch,
                "transaction_result": marker.committed,
                "topics": [
                    {"name": topic, "partition_indexes": tuple(one.partition for one in members)}
                    for topic, members in _by_topic(marker.partitions)
                ],
                "coordinator_epoch": marker.coordinator_epoch,
                "transaction_version": marker.transaction_version,
            }
            for marker in markers
        ]
    }


def read_markers(request: Any) -> tuple[TxnMarker, ...]:
    """The markers of a WriteTxnMarkers request, which does not say whose they are."""
    return tuple(
        TxnMarker(
            transactional_id="",
            producer_id=one.producer_id,
            producer_epoch=one.producer_epoch,
            coordinator_epoch=one.coordinator_epoch,
            committed=one.transaction_result,
            transaction_version=getattr(one, "transaction_version", TV_0),
            partitions=tuple(
                TopicPartition(topic.name, number) for topic in one.topics for number in topic.partition_indexes
            ),
        )
        for one in request.markers
    )


def marker_outcome_values(outcomes: Mapping[int, PartitionCodes]) -> dict[str, Any]:
    """The fields of a WriteTxnMarkers response, from what became of the markers by producer id."""
    return {
        "markers": [
            {
                "producer_id": producer_id,
                "topics": [
                    {
                        "name": topic,
                        "partitions": [{"partition_index": one.partition, "error_code": codes[one]} for one in members],
                    }
                    for topic, members in _by_topic(codes)
                ],
            }
            for producer_id, codes in outcomes.items()
        ]
    }


def read_marker_outcomes(response: Any) -> Mapping[int, PartitionCodes]:
    """What a WriteTxnMarkers response says, by producer id."""
    outcomes: dict[int, PartitionCodes] = {}
    for marker in response.markers:
        codes = outcomes.setdefault(int(marker.producer_id), {})
        for topic in marker.topics:
            codes.update(
                {TopicPartition(topic.name, one.partition_index): ErrorCode(one.error_code) for one in topic.partitions}
            )
    return outcomes
