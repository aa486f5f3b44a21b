"""SyncGroup (14): what the members of a classic group are to read; answered when the leader has said it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import ask_coordinator
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(14, 0, 5, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import SyncGroupRequest
    from doorkeeper.cluster.groups.translation import read_request

    request = read_request(SyncGroupRequest, call.body)
    return ask_coordinator(broker, call, lambda coordinator, token, now: coordinator.sync_group(request, token, now))
