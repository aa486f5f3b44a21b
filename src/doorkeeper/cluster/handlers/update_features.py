"""UpdateFeatures (57): finalized features, `metadata.version` among them (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.features import UpdateFeaturesRequest, decide_update_features
from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(57, 0, 2, frozenset(Door))
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    request = reshape(call.body, UpdateFeaturesRequest)
    response = await controller.decide(lambda image: decide_update_features(image, request, controller.node))
    if response.static_configs is not None:
        controller.remember_configs(response.static_configs)
    return call.reshaped(response)
