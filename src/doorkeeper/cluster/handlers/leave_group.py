"""LeaveGroup (13): members leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import ask_coordinator
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(13, 0, 5, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.groups.translation import read_leave_group, write_leave_group

    request = read_leave_group(call.body)
    return ask_coordinator(
        broker,
        call,
        lambda coordinator, token, now: coordinator.leave_group(request, token, now),
        write_leave_group,
    )
