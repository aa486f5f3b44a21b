"""DeleteRecords (21): move the start of logs. From KafkaApis.handleDeleteRecordsRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.partitions import INTERNAL_TOPICS
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(21, 0, 2, frozenset((Door.BROKER,)))
NO_LOW_WATERMARK: Final = -1


def at_broker(broker: BrokerRole, call: Call) -> Any:
    topics = [
        {"name": topic.name, "partitions": [_delete(broker, str(topic.name), one) for one in topic.partitions]}
        for topic in call.body.topics
    ]
    return call.answer({"topics": topics})


def _delete(broker: BrokerRole, topic: str, asked: Any) -> dict[str, Any]:
    outcome = _outcome(broker, topic, asked)
    code, low = (outcome, NO_LOW_WATERMARK) if isinstance(outcome, ErrorCode) else (ErrorCode.none, outcome)
    return {"partition_index": asked.partition_index, "low_watermark": low, "error_code": code}


def _outcome(broker: BrokerRole, topic: str, asked: Any) -> int | ErrorCode:
    if broker.data.logs.registration(topic, asked.partition_index) is None:
        return ErrorCode.unknown_topic_or_partition
    if topic in INTERNAL_TOPICS:
        return ErrorCode.invalid_topic_exception
    led = broker.data.logs.find(topic, asked.partition_index)
    if isinstance(led, ErrorCode):
        return led
    start = led.log.delete_records(asked.offset)
    return ErrorCode(start.code) if isinstance(start, Refusal) else start
