"""Clusters whose coordinators are there before a test begins: internal topics are made when somebody asks for one."""

from __future__ import annotations

from time import monotonic

from tests.cluster.running import RunningCluster
from tests.door.sockets import SECONDS, Client

from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.registry import Door

FIND_COORDINATOR = 10
GROUP, TRANSACTION = 0, 1


def have_coordinators(cluster: RunningCluster) -> None:
    """Ask for the coordinator of a group and of a transaction until there is one."""
    deadline = monotonic() + SECONDS
    with Client(cluster.address(Door.BROKER)) as client:
        for key_type in (GROUP, TRANSACTION):
            asked = build(
                message_classes(FIND_COORDINATOR, 4).request, {"key_type": key_type, "coordinator_keys": ("any",)}
            )
            while client.ask(asked).coordinators[0].error_code:
                assert monotonic() < deadline
