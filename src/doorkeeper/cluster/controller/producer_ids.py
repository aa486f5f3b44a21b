"""Blocks of producer ids for brokers (KIP-730). From ProducerIdControlManager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import Decision, Failure
from doorkeeper.cluster.controller.heartbeat import check_broker_epoch
from doorkeeper.cluster.image.metadata import NO_PRODUCER_IDS, MetadataImage
from doorkeeper.rules.javatext import LONG_MAX
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import ProducerIdsRecord

BLOCK_SIZE: Final = 1000  # producer ids; ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsRequest:
    broker_id: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = None
    """For our own log: no version carries it."""
    producer_id_start: int = 0
    producer_id_len: int = 0


def decide_allocate_producer_ids(
    image: MetadataImage, request: AllocateProducerIdsRequest
) -> Decision[AllocateProducerIdsResponse]:
    """Give a broker the next block; no id is ever given twice."""
    broker = check_broker_epoch(image, request.broker_id, request.broker_epoch)
    if isinstance(broker, Failure):
        return Decision((), AllocateProducerIdsResponse(broker.code, broker.message))
    first = 0 if image.next_producer_id == NO_PRODUCER_IDS else image.next_producer_id
    if first > LONG_MAX - BLOCK_SIZE:
        message = "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit"
        return Decision((), AllocateProducerIdsResponse(ErrorCode.unknown_server_error, message))
    record = ProducerIdsRecord(
        broker_id=request.broker_id, broker_epoch=request.broker_epoch, next_producer_id=first + BLOCK_SIZE
    )
    response = AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
    return Decision((VersionedRecord(record, 0),), response)
