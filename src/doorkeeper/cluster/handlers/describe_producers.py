"""DescribeProducers (61): who writes to partitions, and since where in a transaction (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.rules.names import check_topic_name
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.log.producer_state import ProducerEntry

SERVED: Final = Served(61, 0, 0, frozenset((Door.BROKER,)))
UNKNOWN_TOPIC: Final = "This server does not host this topic-partition."


def at_broker(broker: BrokerRole, call: Call) -> Any:
    topics = [
        {"name": topic.name, "partitions": [_describe(broker, str(topic.name), one) for one in topic.partition_indexes]}
        for topic in call.body.topics
    ]
    return call.answer({"topics": topics})


def _describe(broker: BrokerRole, topic: str, partition: int) -> dict[str, Any]:
    values: dict[str, Any] = {"partition_index": partition, "active_producers": ()}
    violation = check_topic_name(topic)
    if violation is not None:
        return values | {"error_code": ErrorCode.invalid_topic_exception, "error_message": violation.message}
    led = broker.data.logs.find(topic, partition)
    if isinstance(led, ErrorCode):
        known = topic in broker.image.topics.by_name
        text = None if known else UNKNOWN_TOPIC
        return values | {"error_code": led, "error_message": text}
    producers = led.log.producers.entries.values()
    return values | {"error_code": ErrorCode.none, "active_producers": [_producer(one) for one in producers]}


def _producer(entry: ProducerEntry) -> dict[str, Any]:
    return {
        "producer_id": entry.producer_id,
        "producer_epoch": entry.epoch,
        "last_sequence": entry.last_sequence,
        "last_timestamp": entry.last_timestamp,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_start_offset": entry.transaction_start,
    }
