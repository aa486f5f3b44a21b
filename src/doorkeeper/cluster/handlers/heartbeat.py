"""Heartbeat (12): a classic member is alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import ask_coordinator
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(12, 0, 4, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import HeartbeatRequest
    from doorkeeper.cluster.groups.translation import read_request

    request = read_request(HeartbeatRequest, call.body)
    return ask_coordinator(broker, call, lambda coordinator, token, now: coordinator.heartbeat(request, token, now))
