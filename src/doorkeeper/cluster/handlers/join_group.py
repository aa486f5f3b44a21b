"""JoinGroup (11): become a member of a classic group; answered when the group has met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import ask_coordinator, context_of
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(11, 0, 9, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.translation import read_join_group, write_join_group

    request = read_join_group(call.body)
    context = context_of(call)
    return ask_coordinator(
        broker,
        call,
        lambda coordinator, token, now: coordinator.join_group(context, request, token, now),
        write_join_group,
    )
