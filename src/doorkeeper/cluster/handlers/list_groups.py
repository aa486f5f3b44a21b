"""ListGroups (16): the groups that this broker coordinates. A control plane has none; Kafka's tools ask anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(16, 0, 5, frozenset((Door.BROKER,)))


def at_broker(_broker: BrokerRole, call: Call) -> Any:
    return call.answer({"error_code": ErrorCode.none, "groups": ()})
