"""The record of `__transaction_state`, as data and as bytes.

Schemas: `common/message/` in Kafka 4.3.1's kafka-transaction-coordinator jar. The framing is that of every coordinator
record, so `coordinator_records.write_coordinator_record` writes it; only the table of record types is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from doorkeeper.wire.coordinator_records import (
    CoordinatorRecord,
    RecordKey,
    UnknownCoordinatorRecord,
    read_coordinator_record,
)
from doorkeeper.wire.metadata.schema import FieldSpec, Message, Struct, array, integer, kafka_field, string


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogKey(RecordKey):
    api_key: ClassVar[int] = 0
    transactional_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsSchema(Struct):
    """TransactionLogValue.PartitionsSchema: partitions of one topic."""

    topic: str = string()
    partition_ids: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogValue(Message):
    """What is kept of a transactional id; its partitions are null before the first transaction."""

    api_key: ClassVar[int] = 0
    highest_version: ClassVar[int] = 1
    flexible_since: ClassVar[int] = 1
    producer_id: int = integer("int64")
    previous_producer_id: int = integer("int64", since=1, tag=0, default=-1)
    next_producer_id: int = integer("int64", since=1, tag=1, default=-1)
    producer_epoch: int = integer("int16")
    next_producer_epoch: int = integer("int16", since=1, tag=3, default=-1)
    transaction_timeout_ms: int = integer("int32")
    transaction_status: int = integer("int8")
    transaction_partitions: tuple[PartitionsSchema, ...] | None = kafka_field(
        (), FieldSpec("struct", nullable=True, is_array=True, struct=PartitionsSchema)
    )
    transaction_last_update_timestamp_ms: int = integer("int64")
    transaction_start_timestamp_ms: int = integer("int64")
    client_transaction_version: int = integer("int16", since=1, tag=2)


RECORD_TYPES: Final = {TransactionLogKey.api_key: (TransactionLogKey, TransactionLogValue)}


def read_transaction_record(key: bytes, value: bytes | None) -> CoordinatorRecord | UnknownCoordinatorRecord:
    """Read a record of `__transaction_state`; RecordError if its bytes are not what its type and version say."""
    return read_coordinator_record(key, value, RECORD_TYPES)
