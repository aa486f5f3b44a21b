"""ListPartitionReassignments (46): there are never any, since partitions stay where they were made (KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(46, 0, 0, frozenset(Door))
at_broker: Final = forward


def at_controller(_controller: ControllerRole, call: Call) -> Any:
    return call.answer({"error_code": ErrorCode.none, "error_message": None, "topics": []})
