"""BrokerHeartbeat (63): a broker is there, has caught up, or wants to go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.heartbeat import BrokerHeartbeatRequest
from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(63, 0, 2, frozenset((Door.CONTROLLER,)))


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    return call.reshaped(await controller.heartbeat(reshape(call.body, BrokerHeartbeatRequest)))
