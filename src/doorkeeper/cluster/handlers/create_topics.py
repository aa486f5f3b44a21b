"""CreateTopics (19)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide, forward
from doorkeeper.wire.registry import Door, Served
from doorkeeper.wire.uuids import random_uuid

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(19, 2, 7, frozenset(Door))
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.create_topics import CreateTopicsRequest, decide_create_topics

    return await decide(
        controller,
        call,
        CreateTopicsRequest,
        lambda image, request: decide_create_topics(image, request, controller.node, new_id=random_uuid),
    )
