"""ListOffsets (2): offsets by time, and the special ones. From ReplicaManager.fetchOffset."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import ANY_EPOCH
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.log.reading import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    MAX_TIMESTAMP,
    Isolation,
)
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(2, 1, 11, frozenset((Door.BROKER,)))
FIRST_VERSIONS: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
"""From which version on a special timestamp means something (ReplicaManager.timestampMinSupportedVersion)."""
LOWEST_TIMESTAMP: Final = -2
"""What every version knows: earliest, latest, and times."""
CONSUMER: Final = -1
"""The replica id of a client; others see records of open transactions."""


def at_broker(broker: BrokerRole, call: Call) -> Any:
    body = call.body
    asked = Counter((topic.name, one.partition_index) for topic in body.topics for one in topic.partitions)
    committed = getattr(body, "isolation_level", 0) == 1 and body.replica_id == CONSUMER
    isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED
    topics = []
    for topic in body.topics:
        partitions = []
        for one in topic.partitions:
            is_twice = asked[topic.name, one.partition_index] > 1
            found = ErrorCode.invalid_request if is_twice else _find(broker, call, str(topic.name), one, isolation)
            values = {"error_code": found} if isinstance(found, ErrorCode) else {"error_code": ErrorCode.none, **found}
            partitions.append({"partition_index": one.partition_index, **values})
        topics.append({"name": topic.name, "partitions": partitions})
    return call.answer({"topics": topics})


def _find(broker: BrokerRole, call: Call, topic: str, asked: Any, isolation: Isolation) -> dict[str, Any] | ErrorCode:
    if asked.timestamp < LOWEST_TIMESTAMP and call.version < FIRST_VERSIONS.get(asked.timestamp, call.version + 1):
        return ErrorCode.unsupported_version
    led = broker.data.logs.find(topic, asked.partition_index, getattr(asked, "current_leader_epoch", ANY_EPOCH))
    if isinstance(led, ErrorCode):
        return led
    found = led.log.offset_for_time(asked.timestamp, isolation)
    if isinstance(found, Refusal):
        return ErrorCode(found.code)
    return {} if found is None else found._asdict()
