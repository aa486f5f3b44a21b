"""Where the nodes are: their real addresses, as responses tell them, and the gateway's own, which clients are told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from doorkeeper.errors import DoorkeeperError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.addresses import Address

LOGGER: Final = logging.getLogger("doorkeeper.gateway")
HIDDEN: Final[Address] = ("", 0)
"""What is told of nodes that can't be reached through the gateway."""


class Node(NamedTuple):
    """A node of the cluster."""

    kind: NodeKind
    node_id: int
    host: str
    port: int
    """Its real address."""
    told: Address
    """Host, empty for the listener's own, and port at the gateway."""


Opened = Callable[[NodeKind, int], Address]
"""Opens a door for a node that is new, and says where."""


class Topology:
    """All nodes by kind and id. Learns from every response that tells an address; never forgets a node's door."""

    def __init__(self, open_door: Opened) -> None:
        self._open_door = open_door
        self._nodes: dict[tuple[NodeKind, int], Node] = {}
        self.unreachable: dict[tuple[NodeKind, int], Exception] = {}
        """Nodes that no door could be opened for, and why."""
        self.moves = 0
        """How often a node was new or had moved."""

    @property
    def nodes(self) -> Mapping[tuple[NodeKind, int], Node]:
        """All that are known."""
        return MappingProxyType(self._nodes)

    def find(self, kind: NodeKind, node_id: int) -> Node | None:
        """A node, if it is known."""
        return self._nodes.get((kind, node_id))

    def at(self, kind: NodeKind, host: str, port: int) -> Node | None:
        """The node with this real address."""
        found = (one for one in self._nodes.values() if (one.kind, one.host, one.port) == (kind, host, port))
        return next(found, None)

    def learn(self, kind: NodeKind, node_id: int, host: str, port: int) -> Address:
        """Take note of a node's real address; returns where clients find it."""
        known = self._nodes.get((kind, node_id))
        if known is not None and known.port == port and known.host == host:
            return known.told
        if node_id < 0 or not host:
            return host, port
        told = known.told if known is not None else self._open(kind, node_id)
        if told == HIDDEN:
            return told
        self._nodes[kind, node_id] = Node(kind, node_id, host, port, told)
        self.moves += 1
        LOGGER.info("%s %d is at %s:%d, and for clients at port %d", kind, node_id, host, port, told[1])
        return told

    def _open(self, kind: NodeKind, node_id: int) -> Address:
        try:
            return self._open_door(kind, node_id)
        except DoorkeeperError as error:
            if (kind, node_id) not in self.unreachable:
                LOGGER.warning("%s %d can't be reached through the gateway: %s", kind, node_id, error)
            self.unreachable[kind, node_id] = error
            return HIDDEN
