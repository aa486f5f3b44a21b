"""AlterPartitionReassignments (45): other replicas for partitions (KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(45, 0, 1, frozenset(Door))
at_broker: Final = forward


def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.reassign_partitions import (
        AlterPartitionReassignmentsRequest,
        alter_partition_reassignments,
    )

    asked = reshape(call.body, AlterPartitionReassignmentsRequest)
    return call.reshaped(alter_partition_reassignments(controller.image, asked))
