"""FindCoordinator (10): which broker keeps a group or a transaction. From KafkaApis.handleFindCoordinatorRequest.

The topic that keeps them is made when it is first asked for. Kafka then answers COORDINATOR_NOT_AVAILABLE, and the
client asks again; here it is worth waiting the moment that it takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.coordinated_topic import coordinator_partition
from doorkeeper.cluster.broker.internal_topics import GROUPS, TRANSACTIONS
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.partitions import ListenerView
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(10, 0, 6, frozenset((Door.BROKER,)))
FIRST_WITH_KEYS: Final = 4
CREATION_SECONDS: Final = 5.0
NO_NODE: Final = {"node_id": -1, "host": "", "port": -1}
TOPICS: Final = (GROUPS, TRANSACTIONS)
"""By key type; share groups (2) are not served."""
NO_ERROR_TEXT: Final = "NONE"
"""What Kafka says below version 4 where nothing is wrong."""
UNAVAILABLE_TEXT: Final = "The coordinator is not available."
INVALID_TEXT: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)


def at_broker(broker: BrokerRole, call: Call) -> Any | Awaitable[Any]:
    key_type = getattr(call.body, "key_type", 0)
    if not 0 <= key_type < len(TOPICS):
        return _answer(call, dict.fromkeys(_keys(call), (ErrorCode.invalid_request, NO_NODE)))
    topic = TOPICS[key_type]
    if topic not in broker.image.topics.by_name and _keys(call):
        return _answer_later(broker, call, topic)
    return _answer(call, _find_all(broker, call, topic))


async def _answer_later(broker: BrokerRole, call: Call, topic: str) -> Any:
    await asyncio.wait((broker.create_topic(topic),), timeout=CREATION_SECONDS)
    return _answer(call, _find_all(broker, call, topic))


def _keys(call: Call) -> list[str]:
    return list(call.body.coordinator_keys) if call.version >= FIRST_WITH_KEYS else [call.body.key]


def _find_all(broker: BrokerRole, call: Call, topic: str) -> dict[str, tuple[ErrorCode, dict[str, Any]]]:
    known = broker.image.topics.by_name.get(topic)
    if known is None:
        return dict.fromkeys(_keys(call), (ErrorCode.coordinator_not_available, NO_NODE))
    brokers = {one["node_id"]: one for one in ListenerView(broker.image, call.peer.listener).brokers()}
    found = {}
    for key in _keys(call):
        leader = known.partitions[coordinator_partition(key, len(known.partitions))].leader
        node = brokers.get(leader)
        found[key] = (ErrorCode.coordinator_not_available, NO_NODE) if node is None else (ErrorCode.none, node)
    return found


def _answer(call: Call, found: dict[str, tuple[ErrorCode, dict[str, Any]]]) -> Any:
    if call.version >= FIRST_WITH_KEYS:
        coordinators = [
            {"key": key, "error_code": code, "error_message": "", **node} for key, (code, node) in found.items()
        ]
        return call.answer({"coordinators": coordinators})
    ((code, node),) = found.values()
    texts = {ErrorCode.none: NO_ERROR_TEXT, ErrorCode.coordinator_not_available: UNAVAILABLE_TEXT}
    return call.answer({"error_code": code, "error_message": texts.get(code, INVALID_TEXT), **node})
