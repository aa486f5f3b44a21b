"""ListConfigResources (74): which resources have configs (KIP-1142)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(74, 0, 1, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.config_resources import list_config_resources

    types = tuple(getattr(call.body, "resource_types", ()))
    return call.reshaped(list_config_resources(broker.image, types, api_version=call.version))
