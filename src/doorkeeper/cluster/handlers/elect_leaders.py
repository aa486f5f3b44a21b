"""ElectLeaders (43): let the preferred replica lead, or any that is left (KIP-460)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(43, 0, 2, frozenset(Door))
at_broker: Final = forward


def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.elect_leaders import ElectLeadersRequest, elect_leaders

    return call.reshaped(elect_leaders(controller.image, reshape(call.body, ElectLeadersRequest)))
