"""IncrementalAlterConfigs (44) (KIP-339): see `config_changes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers import config_changes
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(44, 0, 1, frozenset(Door))


async def at_broker(broker: BrokerRole, call: Call) -> Any:
    return await config_changes.at_broker(broker, call, legacy=False)


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    return await config_changes.at_controller(controller, call, legacy=False)
