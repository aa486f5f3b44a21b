"""ConsumerGroupHeartbeat (68): all that a member of the consumer protocol says and hears (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import ask_coordinator, context_of
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(68, 0, 1, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import ConsumerGroupHeartbeatRequest
    from doorkeeper.cluster.groups.translation import read_request

    request = read_request(ConsumerGroupHeartbeatRequest, call.body)
    context = context_of(call)
    return ask_coordinator(
        broker, call, lambda coordinator, token, now: coordinator.consumer_group_heartbeat(context, request, token, now)
    )
