"""OffsetForLeaderEpoch (23): where an epoch ends (KIP-320). From ReplicaManager.lastOffsetForLeaderEpoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import ANY_EPOCH
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(23, 2, 4, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    topics = [
        {"topic": topic.topic, "partitions": [_end(broker, str(topic.topic), one) for one in topic.partitions]}
        for topic in call.body.topics
    ]
    return call.answer({"topics": topics})


def _end(broker: BrokerRole, topic: str, asked: Any) -> dict[str, Any]:
    led = broker.data.logs.find(topic, asked.partition, getattr(asked, "current_leader_epoch", ANY_EPOCH))
    if isinstance(led, ErrorCode):
        return {"error_code": led, "partition": asked.partition}
    end = led.log.epoch_end_offset(asked.leader_epoch)
    return {
        "error_code": ErrorCode.none,
        "partition": asked.partition,
        "leader_epoch": end.epoch,
        "end_offset": end.end_offset,
    }
