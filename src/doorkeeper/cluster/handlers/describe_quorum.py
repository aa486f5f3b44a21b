"""DescribeQuorum (55): who keeps the metadata log: one voter, and the brokers that follow it (KIP-595, KIP-853)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.decided import forward
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(55, 0, 2, frozenset(Door))
at_broker: Final = forward


def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.cluster_description import (
        DescribeQuorumRequest,
        QuorumStatus,
        ReplicaState,
        describe_quorum,
    )

    log = controller.quorum.log
    now = controller.now_ms()
    registration = controller.image.cluster.controllers.get(controller.node_id)
    status = QuorumStatus(
        leader=ReplicaState(controller.node_id, controller.directory_id, log.end_offset, now, now),
        leader_epoch=log.epoch,
        high_watermark=log.end_offset,
        listeners={} if registration is None else registration.listeners,
        observers=tuple(
            ReplicaState(node_id, None, offset, fetched, fetched if offset >= log.end_offset else -1)
            for node_id, (offset, fetched) in sorted(controller.observers.items())
        ),
    )
    return call.reshaped(describe_quorum(reshape(call.body, DescribeQuorumRequest), status))
