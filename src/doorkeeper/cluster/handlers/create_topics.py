"""CreateTopics (19)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide_charged, forward
from doorkeeper.wire.registry import Door, Served
from doorkeeper.wire.uuids import random_uuid

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(19, 2, 7, frozenset(Door))
FIRST_STRICT: Final = 6
"""The first version that knows THROTTLING_QUOTA_EXCEEDED."""
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.create_topics import CreateTopicsRequest, decide_create_topics

    return await decide_charged(
        controller,
        call,
        CreateTopicsRequest,
        FIRST_STRICT,
        lambda image, request, charge: decide_create_topics(
            image, request, controller.node, new_id=random_uuid, charge=charge
        ),
    )
