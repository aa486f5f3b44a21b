"""What a log answers when it does not do as asked: Kafka's code, and the sentence that clients see."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class LogError(IntEnum):
    """The codes of org.apache.kafka.common.protocol.Errors that a log can answer with."""

    UNKNOWN_SERVER_ERROR = -1
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    MESSAGE_TOO_LARGE = 10
    RECORD_LIST_TOO_LARGE = 18
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    TRANSACTION_COORDINATOR_FENCED = 52
    KAFKA_STORAGE_ERROR = 56
    UNSUPPORTED_COMPRESSION_TYPE = 76
    INVALID_RECORD = 87


class RecordRefusal(NamedTuple):
    """One record of a batch, by its place in it, and why it is refused (Produce v8+: `record_errors`)."""

    batch_index: int
    message: str


class Refusal(NamedTuple):
    """Nothing was done."""

    code: LogError
    message: str
    records: tuple[RecordRefusal, ...] = ()
