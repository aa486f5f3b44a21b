"""ListGroups (16): the groups that this broker coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import response_class
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(16, 0, 5, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    groups = []
    for partition in broker.data.groups:
        code = partition.check_ready()
        if code is not ErrorCode.none:
            return call.answer({"error_code": code, "groups": ()})
        states = getattr(call.body, "states_filter", ())
        groups += partition.coordinator.list_groups(states, getattr(call.body, "types_filter", ()))
    if not groups:
        return call.answer({"error_code": ErrorCode.none, "groups": ()})
    from doorkeeper.cluster.groups.translation import write_listing

    return write_listing(response_class(call), "groups", groups)
