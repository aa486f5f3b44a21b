"""One gateway process: opens the doors, follows the cluster, and drains at the end. The only place tasks start."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from doorkeeper.errors import DoorkeeperError, InputError, NetworkError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.addresses import Address, Locate
from doorkeeper.gateway.cluster_reader import ClusterReader
from doorkeeper.gateway.config_judge import ConfigJudge
from doorkeeper.gateway.doors import SWEEPS_PER_IDLE_TIME, WILDCARDS, GatewayDoor, Population, bind
from doorkeeper.gateway.gatekeeper import DoorFacts, House
from doorkeeper.gateway.judging import Judge
from doorkeeper.gateway.node_ranks import NodePorts
from doorkeeper.gateway.offered import Offered
from doorkeeper.gateway.plans import Plans
from doorkeeper.gateway.settings import GatewaySettings
from doorkeeper.gateway.topology import Topology
from doorkeeper.gateway.upstream import Opener, describe_nodes
from doorkeeper.wire.registry import Door

LOGGER: Final = logging.getLogger("doorkeeper.gateway")
SHORTEST_SWEEP_SECONDS: Final = 0.1
_OPTIONS: Final = {NodeKind.BROKER: "--node-ports", NodeKind.CONTROLLER: "--controller-ports"}


@dataclass(frozen=True, slots=True)
class OpenDoor:
    """A door, for the start-up card."""

    kind: NodeKind
    node_id: int | None
    host: str
    port: int


class GatewayProcess:
    """`start`, then `stop`; `doors` says where it listens."""

    def __init__(self, settings: GatewaySettings, *, reuse_port: bool = False) -> None:
        self.settings = settings
        self._reuse_port = reuse_port
        plans = Plans(settings.modes, unstable_versions=settings.unstable_versions, pass_unknown=settings.pass_unknown)
        self.judge = Judge(settings.modes, lambda record: LOGGER.info("%s", record.to_json()), time.time)
        self._opener = Opener(settings.client_id)
        self.configs: ConfigJudge | None = None
        if settings.modes.judges_configs:
            reader = ClusterReader(self._opener, lambda: self._candidates(NodeKind.BROKER, None))
            self.configs = ConfigJudge(self.judge, reader)
        self.house = House(plans, self.judge, Offered(plans), self.configs)
        self.topology = Topology(self._open_node)
        self.population = Population(settings.limits)
        self.is_ready = False
        self._sides = {NodeKind.BROKER: settings.brokers}
        if settings.controllers is not None:
            self._sides[NodeKind.CONTROLLER] = settings.controllers
        self._ports = {
            kind: NodePorts(kind, settings.state, side.node_ports, _OPTIONS[kind]) for kind, side in self._sides.items()
        }
        self._doors: dict[tuple[NodeKind, int | None], GatewayDoor] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._turn = 0

    @property
    def doors(self) -> list[OpenDoor]:
        """Where it listens: the bootstrap addresses first."""
        return [
            OpenDoor(kind, node_id, self._sides[kind].listen[0], door.port)
            for (kind, node_id), door in sorted(
                self._doors.items(), key=lambda one: (one[0][0], -1 if one[0][1] is None else one[0][1])
            )
        ]

    async def start(self) -> None:
        """Open the bootstrap doors, then ask the cluster for its nodes and open theirs.

        :raises OSError: when an address can't be bound.
        :raises InputError: when the ports don't suffice for the nodes.
        """
        for kind in self._sides:
            await self._open_bootstrap(kind)
        await self.refresh()
        for error in self.topology.unreachable.values():
            if isinstance(error, InputError):
                raise error
        self._spawn(self._keep_refreshing())
        self._spawn(self._keep_sweeping())

    async def stop(self) -> None:
        """Take no more connections and requests, let what was asked be answered, close."""
        for task in self._tasks:
            task.cancel()
        for door in self._doors.values():
            door.close()
        left = await self.population.drain(self.settings.limits.drain_seconds)
        if left:
            LOGGER.warning("%d connections did not drain in %g s", left, self.settings.limits.drain_seconds)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- doors

    async def _open_bootstrap(self, kind: NodeKind) -> None:
        host, port = self._sides[kind].listen
        door = self._make_door(kind, None)
        await door.serve(self._bind(host, port))

    def _make_door(self, kind: NodeKind, node_id: int | None) -> GatewayDoor:
        name = f"{kind}s" if node_id is None else f"{kind} {node_id}"
        facts = DoorFacts(Door(kind), name, node_id)
        door = GatewayDoor(
            self.house, facts, lambda: self._candidates(kind, node_id), self._locate_for, self.population
        )
        self._doors[kind, node_id] = door
        return door

    def _bind(self, host: str, port: int) -> socket.socket:
        return bind(host, port, backlog=self.settings.limits.backlog, reuse_port=self._reuse_port)

    def _open_node(self, kind: NodeKind, node_id: int) -> Address:
        """Bind a node's port now, and accept as soon as the loop comes to it."""
        if kind not in self._sides:
            return "", 0
        side = self._sides[kind]
        bound: list[socket.socket] = []

        def is_free(port: int) -> bool:
            try:
                bound.append(self._bind(side.listen[0], port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                return False
            return True

        port = self._ports[kind].assign(node_id, self._doors[kind, None].port, is_free)
        listening = bound.pop() if bound else self._bind(side.listen[0], port)
        door = self._make_door(kind, node_id)
        door.port = port
        self._spawn(door.serve(listening))
        return "", port

    # -- addresses

    def _locate_for(self, local: str) -> Locate:
        """Where nodes are for a client that came to this address of ours."""
        learn = self.topology.learn
        own = self.settings.advertised_host

        def locate(kind: NodeKind, node_id: int, host: str, port: int) -> Address:
            told_host, told_port = learn(kind, node_id, host, port)
            if told_host or not told_port:
                return told_host, told_port
            return self._told_host(kind, local) if own is None else own, told_port

        return locate

    def _told_host(self, kind: NodeKind, local: str) -> str:
        listening = self._sides[kind].listen[0]
        return local if listening in WILDCARDS else listening

    def _candidates(self, kind: NodeKind, node_id: int | None) -> Iterable[Address]:
        if node_id is not None:
            node = self.topology.find(kind, node_id)
            return () if node is None else ((node.host, node.port),)
        self._turn += 1
        given = self._sides[kind].upstream
        turn = self._turn % len(given)
        known = [(one.host, one.port) for one in self.topology.nodes.values() if one.kind is kind]
        return dict.fromkeys([*given[turn:], *given[:turn], *known])

    # -- following the cluster

    async def refresh(self) -> None:
        """Ask the cluster for its nodes; what can't be asked is learnt from the responses that pass."""
        ready = True
        for kind in self._sides:
            try:
                nodes = await self._describe(kind)
            except DoorkeeperError as error:
                LOGGER.warning("the cluster's %ss can't be asked for: %s", kind, error)
                ready = False
                continue
            for node_id, host, port in nodes:
                self.topology.learn(kind, node_id, host, port)
        self.is_ready = ready

    async def _describe(self, kind: NodeKind) -> list[tuple[int, str, int]]:
        faults = []
        for host, port in self._candidates(kind, None):
            try:
                requester = await self._opener(host, port)
            except DoorkeeperError as error:
                faults.append(str(error))
                continue
            try:
                return await describe_nodes(kind, requester)
            except DoorkeeperError as error:
                faults.append(str(error))
            finally:
                await requester.close()
        raise NetworkError("; ".join(faults))

    async def _keep_refreshing(self) -> None:
        while True:
            await asyncio.sleep(self.settings.refresh_seconds)
            await self.refresh()

    async def _keep_sweeping(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            delay = max(self.settings.limits.idle_seconds / SWEEPS_PER_IDLE_TIME, SHORTEST_SWEEP_SECONDS)
            await asyncio.sleep(delay)
            self.population.close_idle(loop.time())
