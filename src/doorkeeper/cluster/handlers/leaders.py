"""Telling a client that asks the wrong broker who leads (KIP-951: Produce v10, Fetch v16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.partitions import ListenerView

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole


class LeaderHints:
    """Collects the leaders that an answer names, and their addresses, each once."""

    def __init__(self, broker: BrokerRole, call: Call) -> None:
        self._broker = broker
        self._call = call
        self._endpoints: dict[int, dict[str, Any]] = {}

    def add(self, topic: str, partition: int) -> dict[str, Any]:
        """What an answer says of a partition that is led elsewhere."""
        registration = self._broker.data.logs.registration(topic, partition)
        if registration is None:
            return {}
        if registration.leader not in self._endpoints:
            brokers = ListenerView(self._broker.image, self._call.peer.listener).brokers()
            self._endpoints.update((one["node_id"], one) for one in brokers if one["node_id"] == registration.leader)
        leader = {"leader_id": registration.leader, "leader_epoch": registration.leader_epoch}
        return {"current_leader": leader}

    def endpoints(self) -> list[dict[str, Any]]:
        return list(self._endpoints.values())


MOVED = frozenset((ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch))
"""After these a client has to look for the leader anew."""
