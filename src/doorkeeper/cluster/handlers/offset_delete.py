"""OffsetDelete (47): forget where a group is (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import ask_coordinator
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(47, 0, 0, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import OffsetDeleteRequest
    from doorkeeper.cluster.groups.translation import read_request

    request = read_request(OffsetDeleteRequest, call.body)
    return ask_coordinator(
        broker, call, lambda coordinator, token, now: coordinator.delete_offsets(request, token, now)
    )
