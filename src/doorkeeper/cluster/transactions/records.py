"""Between what is known of a transactional id and its record in `__transaction_state`. From Kafka's TransactionLog."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from doorkeeper.cluster.transactions.messages import NO_PRODUCER_ID, TV_0, TV_1, TopicPartition
from doorkeeper.cluster.transactions.metadata import TransactionMetadata
from doorkeeper.cluster.transactions.states import BY_ID, TransactionState
from doorkeeper.errors import RecordError
from doorkeeper.wire.coordinator_records import CoordinatorRecord
from doorkeeper.wire.transaction_records import PartitionsSchema, TransactionLogKey, TransactionLogValue


def tombstone(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id))


def to_record(metadata: TransactionMetadata, transaction_version: int) -> CoordinatorRecord:
    """The record, as the cluster's transaction version lets it be written; before 1 it has no tagged fields."""
    tagged = transaction_version >= TV_1
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        previous_producer_id=metadata.previous_producer_id if tagged else NO_PRODUCER_ID,
        next_producer_id=metadata.next_producer_id if tagged else NO_PRODUCER_ID,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state.id,
        transaction_partitions=_partitions_by_topic(metadata),
        transaction_last_update_timestamp_ms=metadata.last_update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
        client_transaction_version=metadata.client_transaction_version if tagged else TV_0,
    )
    return CoordinatorRecord(TransactionLogKey(transactional_id=metadata.transactional_id), value, int(tagged))


def _partitions_by_topic(metadata: TransactionMetadata) -> tuple[PartitionsSchema, ...] | None:
    if metadata.state is TransactionState.EMPTY:
        return None
    by_topic = groupby(sorted(metadata.partitions), key=attrgetter("topic"))
    return tuple(
        PartitionsSchema(topic=topic, partition_ids=tuple(one.partition for one in partitions))
        for topic, partitions in by_topic
    )


def from_value(transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
    """What a record says; RecordError if it names a state that does not exist."""
    state = BY_ID.get(value.transaction_status)
    if state is None:
        raise RecordError(f"unknown transaction state {value.transaction_status} of {transactional_id!r}")
    topics = () if state is TransactionState.EMPTY else value.transaction_partitions or ()
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(TopicPartition(one.topic, number) for one in topics for number in one.partition_ids),
        start_ms=value.transaction_start_timestamp_ms,
        last_update_ms=value.transaction_last_update_timestamp_ms,
        client_transaction_version=value.client_transaction_version,
    )
