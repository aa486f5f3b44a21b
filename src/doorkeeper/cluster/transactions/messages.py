"""Requests and responses of the coordinator, one class for all versions of each; what a version lacks has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

NONE: Final = ErrorCode.none
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1

TV_0: Final = 0
TV_1: Final = 1
"""Records of the log may have tagged fields."""
TV_2: Final = 2
"""Every transaction ends with another epoch (KIP-890)."""

FIRST_BROKER_VERSION: Final = 4  # of AddPartitionsToTxn: from here on only brokers ask, for clients at TV_2
FIRST_END_TXN_VERSION_OF_TV_2: Final = 5


class TopicPartition(NamedTuple):
    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdRequest:
    transactional_id: str | None
    transaction_timeout_ms: int = 0
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    enable_two_pc: bool = False
    keep_prepared_txn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdResponse:
    error_code: ErrorCode = NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnRequest:
    """One transaction of an AddPartitionsToTxn request; before version 4 there is only one in a request."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    verify_only: bool = False
    refused: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)
    """Partitions that the broker itself turns down: not there, or not this client's to write to."""


PartitionCodes = dict[TopicPartition, ErrorCode]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxnRequest:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    offsets_partition: TopicPartition
    """The partition of `__consumer_offsets` that keeps the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxnRequest:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxnResponse:
    """Who the producer is from now on, where a transaction ends with another epoch; else nobody."""

    error_code: ErrorCode = NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnMarker:
    """Write this outcome into these partitions (WriteTxnMarkers)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransaction:
    """DescribeTransactions, one transactional id."""

    transactional_id: str
    error_code: ErrorCode = NONE
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    partitions: tuple[TopicPartition, ...] = ()
    """While markers are being written: those that have none yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactionsRequest:
    state_filters: tuple[str, ...] = ()
    producer_id_filters: tuple[int, ...] = ()
    duration_filter: int = -1
    """Milliseconds; negative for none."""
    transactional_id_pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    transactional_id: str
    producer_id: int
    transaction_state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactionsResponse:
    error_code: ErrorCode = NONE
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: tuple[ListedTransaction, ...] = ()
