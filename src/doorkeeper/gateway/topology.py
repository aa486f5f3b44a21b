"""Where the nodes are: their real addresses, as responses tell them, and the gateway's own, which clients are told."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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


GONE_AFTER_SURVEYS: Final = 10
"""How often a node must be missing before its door closes: a restart takes less (5 minutes by default)."""

Opened = Callable[[NodeKind, int], Address]
"""Opens a door for a node that is new, and says where."""
Closed = Callable[[NodeKind, int], None]
"""Closes the door of a node that is gone."""


class Topology:
    """All nodes by kind and id. Learns from every response that tells an address; forgets who is missing for long."""

    def __init__(self, open_door: Opened, close_door: Closed) -> None:
        self._open_door = open_door
        self._close_door = close_door
        self._missed: Counter[tuple[NodeKind, int]] = Counter()
        """How often in a row a node was missing."""
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

    def survey(self, kind: NodeKind, nodes: Iterable[tuple[int, str, int]]) -> None:
        """Take note of all nodes of a kind that there are, by id, host and port; close the doors of those long gone."""
        there = set()
        for node_id, host, port in sorted(nodes):
            self.learn(kind, node_id, host, port)
            there.add((kind, node_id))
            del self._missed[kind, node_id]
        missing = {key for key in self._nodes if key[0] is kind} - there
        self._missed.update(missing)
        for key in missing:
            if self._missed[key] >= GONE_AFTER_SURVEYS:
                del self._nodes[key], self._missed[key]
                self._close_door(*key)
                LOGGER.info("%s %d is gone, and its door closed", *key)

    def _open(self, kind: NodeKind, node_id: int) -> Address:
        try:
            told = self._open_door(kind, node_id)
        except DoorkeeperError as error:
            if (kind, node_id) not in self.unreachable:
                LOGGER.warning("%s %d can't be reached through the gateway: %s", kind, node_id, error)
            self.unreachable[kind, node_id] = error
            return HIDDEN
        self.unreachable.pop((kind, node_id), None)
        return told
