"""All doors of a gateway process, and who is told which: one address or one TLS name for each node of the cluster."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Final

from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.addresses import Address, Locate
from doorkeeper.gateway.doors import WILDCARDS, CanNotListenError, DoorWays, GatewayDoor, Population, bind
from doorkeeper.gateway.gatekeeper import DoorFacts, House
from doorkeeper.gateway.node_ranks import NodePorts
from doorkeeper.gateway.settings import GatewaySettings, Side
from doorkeeper.gateway.topology import HIDDEN, Topology
from doorkeeper.wire.registry import Door

_OPTIONS: Final = {NodeKind.BROKER: "--node-ports", NodeKind.CONTROLLER: "--controller-ports"}
BOOTSTRAP: Final = "bootstrap"
RESERVE_ATTEMPTS: Final = 20
RESERVE_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class OpenDoor:
    """A door, for the start-up card."""

    kind: NodeKind
    node_id: int | None
    """None for the bootstrap address."""
    host: str
    port: int


def sides_of(settings: GatewaySettings) -> dict[NodeKind, Side]:
    """The kinds of nodes that the gateway stands before."""
    sides = {NodeKind.BROKER: settings.brokers}
    if settings.controllers is not None:
        sides[NodeKind.CONTROLLER] = settings.controllers
    return sides


class Street:
    """Opens doors: the bootstrap ones at the start, a node's as soon as anybody mentions it."""

    def __init__(
        self,
        settings: GatewaySettings,
        house: House,
        population: Population,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        tls: ssl.SSLContext | None,
        *,
        reuse_port: bool,
    ) -> None:
        """:param reuse_port: whether other processes may listen at the same addresses."""
        self.topology = Topology(self._open_node, self._close_node)
        self._settings = settings
        self._sides = sides_of(settings)
        self._house = house
        self._population = population
        self._spawn = spawn
        self._tls = tls
        self._reuse_port = reuse_port
        self._ports = {
            kind: NodePorts(kind, settings.state, side.node_ports, _OPTIONS[kind]) for kind, side in self._sides.items()
        }
        self._doors: dict[tuple[NodeKind, int | None], GatewayDoor] = {}
        self._reserved: dict[tuple[NodeKind, int], socket.socket] = {}
        """The ports of nodes that are gone."""
        self._turn = 0

    @property
    def kinds(self) -> tuple[NodeKind, ...]:
        """The kinds of nodes that it has doors for."""
        return tuple(self._sides)

    @property
    def doors(self) -> list[OpenDoor]:
        """The bootstrap doors first, then by node."""
        found = [
            OpenDoor(kind, node_id, self._shown_host(kind, node_id), door.port)
            for (kind, node_id), door in self._doors.items()
        ]
        return sorted(found, key=lambda one: (one.kind, -1 if one.node_id is None else one.node_id))

    def _shown_host(self, kind: NodeKind, node_id: int | None) -> str:
        domain = self._settings.sni_domain
        if domain is None:
            return self._sides[kind].listen[0]
        return f"{BOOTSTRAP}.{domain}" if node_id is None else node_name(kind, node_id, domain)

    async def open(self) -> None:
        """Open the bootstrap doors.

        :raises CanNotListenError: when an address can't be had.
        """
        for kind, side in self._sides.items():
            await self._make_door(kind, None).serve(self._bind(*side.listen))

    def close(self) -> None:
        """Take no more connections."""
        for door in self._doors.values():
            door.close()
        for reserved in self._reserved.values():
            reserved.close()

    def change(self, settings: GatewaySettings) -> None:
        """Take other upstream addresses and another advertised host."""
        self._settings = settings
        sides = sides_of(settings)
        self._sides = {kind: sides.get(kind, side) for kind, side in self._sides.items()}

    @staticmethod
    def unchangeable(before: GatewaySettings, after: GatewaySettings) -> list[str]:
        """What is new in the settings and takes a restart."""
        old, new = sides_of(before), sides_of(after)
        names = [] if old.keys() == new.keys() else ["upstream_controllers"]
        for kind in old.keys() & new.keys():
            names += [f"{kind}: listen"] if old[kind].listen != new[kind].listen else []
            names += [f"{kind}: ports"] if old[kind].node_ports != new[kind].node_ports else []
        return names

    # -- doors

    def _make_door(self, kind: NodeKind, node_id: int | None) -> GatewayDoor:
        name = f"{kind}s" if node_id is None else f"{kind} {node_id}"
        by_name = None if self._settings.sni_domain is None or node_id is not None else self._route_of(kind)
        ways = DoorWays(
            (lambda: self.bootstrap_addresses(kind)) if node_id is None else (lambda: self._node(kind, node_id)),
            self._locate_for,
            by_name,
        )
        door = self._doors[kind, node_id] = GatewayDoor(
            self._house,
            DoorFacts(Door(kind), name, node_id),
            ways,
            self._population,
            tls=self._tls,
            upstream_tls=self._settings.security.tls,
            proxy_protocol=self._settings.proxy_protocol,
        )
        return door

    def _bind(self, host: str, port: int) -> Any:
        return bind(host, port, backlog=self._settings.limits.backlog, reuse_port=self._reuse_port)

    def _is_free(self, host: str, port: int) -> bool:
        """Whether nobody listens there, not even a worker of ours."""
        try:
            bind(host, port, backlog=1, reuse_port=False).close()
        except CanNotListenError:
            return False
        return True

    def _open_node(self, kind: NodeKind, node_id: int) -> Address:
        """Bind a node's port now, and accept as soon as the loop comes to it."""
        side = self._sides.get(kind)
        if side is None:
            return HIDDEN
        own = self._doors[kind, None].port
        if self._settings.sni_domain is not None:
            self._make_door(kind, node_id).port = own
            return node_name(kind, node_id, self._settings.sni_domain), own
        host = side.listen[0]
        reserved = self._reserved.pop((kind, node_id), None)
        if reserved is not None:
            reserved.close()
        port = self._ports[kind].assign(node_id, own, lambda one: self._is_free(host, one))
        listening = self._bind(host, port)
        door = self._make_door(kind, node_id)
        door.port = port
        self._spawn(door.serve(listening))
        return "", port

    def _close_node(self, kind: NodeKind, node_id: int) -> None:
        """Who still tries a node that is gone is refused, as by the node itself; its port stays its own."""
        door = self._doors.pop((kind, node_id))
        door.close()
        if self._settings.sni_domain is None:
            self._spawn(self._reserve(kind, node_id, door.port))

    async def _reserve(self, kind: NodeKind, node_id: int, port: int) -> None:
        """Hold a port without listening, so that nobody else takes it while its node is away."""
        for _ in range(RESERVE_ATTEMPTS):
            await asyncio.sleep(RESERVE_SECONDS)  # the door's own socket closes a moment later
            if (kind, node_id) in self._doors:
                return
            try:
                host = self._sides[kind].listen[0]
                self._reserved[kind, node_id] = bind(host, port, backlog=None, reuse_port=self._reuse_port)
            except CanNotListenError:
                continue
            return

    def _route_of(self, kind: NodeKind) -> Callable[[str | None], GatewayDoor | None]:
        def route(name: str | None) -> GatewayDoor | None:
            domain = self._settings.sni_domain or ""
            if name is None or name in (domain, f"{BOOTSTRAP}.{domain}"):
                return self._doors.get((kind, None))
            label = name.removesuffix(f".{domain}")
            number = label.removeprefix(f"{kind}-")
            known = number.isascii() and number.isdigit() and node_name(kind, int(number), domain) == name
            return self._doors.get((kind, int(number))) if known else None

        return route

    # -- addresses

    def _locate_for(self, local: str) -> Locate:
        """Where nodes are for a client that came to this address of ours."""
        learn = self.topology.learn

        def locate(kind: NodeKind, node_id: int, host: str, port: int) -> Address:
            told = learn(kind, node_id, host, port)
            if told[0] or told == HIDDEN:
                return told
            listening = self._sides[kind].listen[0]
            own = self._settings.advertised_host or (local if listening in WILDCARDS else listening)
            return own, told[1]

        return locate

    def _node(self, kind: NodeKind, node_id: int) -> Iterable[Address]:
        node = self.topology.find(kind, node_id)
        return () if node is None else ((node.host, node.port),)

    def bootstrap_addresses(self, kind: NodeKind) -> Iterable[Address]:
        """Real addresses of any node of a kind: those given, in turn, then those known."""
        self._turn += 1
        given = self._sides[kind].upstream
        turn = self._turn % len(given)
        known = [(one.host, one.port) for one in self.topology.nodes.values() if one.kind is kind]
        return dict.fromkeys([*given[turn:], *given[:turn], *known])


def node_name(kind: NodeKind, node_id: int, domain: str) -> str:
    """What a node is called in TLS: `broker-1.kafka.example.com`."""
    return f"{kind}-{node_id}.{domain}"
