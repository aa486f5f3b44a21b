"""OffsetCommit (8): a group keeps where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import ask_coordinator, context_of
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(8, 2, 10, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.messages import OffsetCommitRequest
    from doorkeeper.cluster.groups.translation import read_request

    request = read_request(OffsetCommitRequest, call.body)
    context = context_of(call)
    return ask_coordinator(
        broker, call, lambda coordinator, token, now: coordinator.commit_offsets(context, request, token, now)
    )
