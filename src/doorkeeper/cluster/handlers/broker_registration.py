"""BrokerRegistration (62), version 0 to 6: a broker joins; from version 6 on with its static configs (KAFKA-19931)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.registration import BrokerRegistrationRequest
from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(62, 0, 6, frozenset((Door.CONTROLLER,)))


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    return call.reshaped(await controller.register_broker(reshape(call.body, BrokerRegistrationRequest)))
