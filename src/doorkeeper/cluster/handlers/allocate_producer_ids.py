"""AllocateProducerIds (67): a block of producer ids for a broker (KIP-730)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(67, 0, 0, frozenset((Door.CONTROLLER,)))


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.producer_ids import AllocateProducerIdsRequest, decide_allocate_producer_ids

    return await decide(controller, call, AllocateProducerIdsRequest, decide_allocate_producer_ids)
