"""CreatePartitions (37)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import decide_charged, forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(37, 0, 3, frozenset(Door))
FIRST_STRICT: Final = 3
"""The first version that knows THROTTLING_QUOTA_EXCEEDED."""
at_broker: Final = forward


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.create_partitions import CreatePartitionsRequest, decide_create_partitions

    return await decide_charged(
        controller,
        call,
        CreatePartitionsRequest,
        FIRST_STRICT,
        lambda image, request, charge: decide_create_partitions(image, request, charge=charge),
    )
