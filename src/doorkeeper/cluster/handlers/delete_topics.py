"""DeleteTopics (20)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide, forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(20, 1, 6, frozenset(Door))
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.delete_topics import DeleteTopicsRequest, decide_delete_topics

    enabled = controller.config.flag("delete.topic.enable")
    return await decide(
        controller,
        call,
        DeleteTopicsRequest,
        lambda image, request: decide_delete_topics(image, request, enabled=enabled),
    )
