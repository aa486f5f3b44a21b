"""DeleteTopics (20)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide_charged, forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(20, 1, 6, frozenset(Door))
FIRST_STRICT: Final = 5
"""The first version that knows THROTTLING_QUOTA_EXCEEDED."""
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.delete_topics import DeleteTopicsRequest, decide_delete_topics

    enabled = controller.config.flag("delete.topic.enable")
    return await decide_charged(
        controller,
        call,
        DeleteTopicsRequest,
        FIRST_STRICT,
        lambda image, request, charge: decide_delete_topics(image, request, enabled=enabled, charge=charge),
    )
