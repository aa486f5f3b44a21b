"""The gateway's doors: the bootstrap address of each kind of node, and one address for each node."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from doorkeeper.errors import InputError, NetworkError
from doorkeeper.gateway.addresses import Address, Locate
from doorkeeper.gateway.callers import Client
from doorkeeper.gateway.client_connection import ClientConnection, UpstreamConnection
from doorkeeper.gateway.gatekeeper import DoorFacts, Gatekeeper, House
from doorkeeper.gateway.limits import GatewayLimits
from doorkeeper.gateway.plans import Plans
from doorkeeper.gateway.proxy_protocol import ProxyHeaderReader
from doorkeeper.gateway.tls import asked_name, principal_of
from doorkeeper.rules.javatext import escape_for_display

LOGGER: Final = logging.getLogger("doorkeeper.gateway")
WILDCARDS: Final = frozenset(("", "0.0.0.0", "::"))  # noqa: S104 - recognised, not bound
SWEEPS_PER_IDLE_TIME: Final = 4


class CanNotListenError(InputError):
    """An address that can't be listened at."""


def bind(host: str, port: int, *, backlog: int | None, reuse_port: bool) -> socket.socket:
    """A socket that listens already, so that nobody who is told the address comes too early.

    :param backlog: None to take the address and not listen.

    :raises CanNotListenError: when the address can't be had.
    """
    try:
        return _bind(host, port, backlog, reuse_port)
    except OSError as error:
        raise CanNotListenError(f"{host}:{port} can't be listened at: {error.strerror or error}") from error


def _bind(host: str, port: int, backlog: int | None, reuse_port: bool) -> socket.socket:
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # A name may have addresses of both families; clients that are told it try IPv4 too.
    family, kind, protocol, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
        if backlog is not None:
            made.listen(backlog)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


class Population:
    """All connections of a process, counted."""

    def __init__(self, limits: GatewayLimits) -> None:
        self.limits = limits
        self.connections: set[ClientConnection] = set()
        self._leaving: set[ClientConnection] = set()
        """Clients that are gone while what they asked still goes upstream."""
        self.accepted = 0
        self.refused = 0
        self.from_clients = self.from_upstream = 0
        """Bytes received."""
        self._per_address: Counter[str] = Counter()
        self._gone = asyncio.Event()

    def admit(self, connection: ClientConnection) -> str | None:
        """Let a connection in, or say why not."""
        address = connection.address
        if len(self.connections) >= self.limits.max_connections:
            self.refused += 1
            return f"{len(self.connections)} connections are open, the limit (max.connections)"
        if self._per_address[address] >= self.limits.max_connections_per_ip:
            self.refused += 1
            return f"it has {self._per_address[address]} open, the limit (max.connections.per.ip)"
        self.connections.add(connection)
        self._per_address[address] += 1
        self.accepted += 1
        return None

    def leave(self, connection: ClientConnection) -> None:
        """A client is gone."""
        self.connections.discard(connection)
        self._per_address[connection.address] -= 1
        if not self._per_address[connection.address]:
            del self._per_address[connection.address]
        self._leaving.add(connection)

    def forget(self, connection: ClientConnection) -> None:
        """Both sides of a connection are gone."""
        self._leaving.discard(connection)
        if not self.connections and not self._leaving:
            self._gone.set()

    def close_idle(self, now: float) -> int:
        """Close the connections that have been silent for too long; returns how many.

        Those that were closed by then, and whose other side takes no byte, are cut off.
        """
        silent = [one for one in self.connections | self._leaving if now - one.last_active > self.limits.idle_seconds]
        idle = [one for one in silent if one.is_closing or not one.is_waiting]
        for one in idle:
            if one.is_closing:
                one.abort()
            else:
                one.close("idle")
        return len(idle)

    async def drain(self, seconds: float) -> int:
        """Let connections answer what was asked and close; returns how many had to be cut off."""
        for one in list(self.connections):
            one.drain()
        if not self.connections and not self._leaving:
            return 0
        self._gone.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._gone.wait()
        except TimeoutError:
            left = self.connections | self._leaving
            for one in left:
                one.abort()
            await self._gone.wait()
            return len(left)
        return 0


@dataclass(frozen=True, slots=True)
class DoorWays:
    """How one door is connected to the rest of the gateway."""

    candidates: Callable[[], Iterable[Address]]
    """Where its connections go: real addresses, the best first."""
    locate: Callable[[str], Locate]
    """(local address of a connection) -> where nodes are for that client."""
    route: Callable[[str | None], GatewayDoor | None] | None = None
    """(name asked for by TLS) -> the door of that name; None where doors have ports of their own."""


class GatewayDoor:
    """One address, or one name at an address (`client_connection.Reception`)."""

    def __init__(
        self,
        house: House,
        facts: DoorFacts,
        ways: DoorWays,
        population: Population,
        *,
        tls: ssl.SSLContext | None = None,
        upstream_tls: ssl.SSLContext | None = None,
        proxy_protocol: bool = False,
    ) -> None:
        self.house = house
        self.facts = facts
        self.population = population
        self.port = 0
        self._ways = ways
        self._tls = tls
        self._upstream_tls = upstream_tls
        self._proxy_protocol = proxy_protocol
        self._server: asyncio.Server | None = None

    @property
    def plans(self) -> Plans:
        return self.house.plans

    @property
    def limits(self) -> GatewayLimits:
        return self.population.limits

    @property
    def observed(self) -> bool:
        return self.house.observer is not None

    async def serve(self, listening: socket.socket) -> None:
        """Accept what comes to a socket that listens."""
        self.port = listening.getsockname()[1]
        loop = asyncio.get_running_loop()
        if self._proxy_protocol:
            self._server = await loop.create_server(self._read_header, sock=listening)
        else:
            self._server = await loop.create_server(self._make_connection, sock=listening, ssl=self._tls)

    def _make_connection(self) -> ClientConnection:
        return ClientConnection(self)

    def _read_header(self) -> ProxyHeaderReader:
        return ProxyHeaderReader(self._make_connection, self._tls)

    def close(self) -> None:
        """Accept no more."""
        if self._server is not None:
            self._server.close()

    def route(self, connection: ClientConnection) -> GatewayDoor:
        assert connection.transport is not None
        if self._ways.route is None:
            return self
        name = asked_name(connection.transport.get_extra_info("ssl_object"))
        door = self._ways.route(name)
        if door is None:
            raise NetworkError(f"nobody is called {escape_for_display(name or '')} here")
        return door

    def admit(self, connection: ClientConnection) -> str | None:
        return self.population.admit(connection)

    def leave(self, connection: ClientConnection) -> None:
        self.population.leave(connection)

    def forget(self, connection: ClientConnection) -> None:
        self.population.forget(connection)

    def gatekeeper(self, connection: ClientConnection) -> Gatekeeper:
        assert connection.transport is not None
        local = str((connection.transport.get_extra_info("sockname") or ("",))[0])
        client = Client(connection.address, self.facts.listener, self.facts.door)
        client.certificate = principal_of(connection.transport.get_extra_info("peercert"))
        return Gatekeeper(self.house, self.facts, client, self._ways.locate(local))

    async def connect(self, protocol: UpstreamConnection) -> None:
        loop = asyncio.get_running_loop()
        faults = []
        for host, port in self._ways.candidates():
            try:
                async with asyncio.timeout(self.limits.connect_seconds):
                    await loop.create_connection(lambda: protocol, host, port, ssl=self._upstream_tls)
            except TimeoutError:
                faults.append(f"{host}:{port}: no connection within {self.limits.connect_seconds:g} s")
            except OSError as error:
                faults.append(f"{host}:{port}: {error.strerror or error}")
            else:
                return
        raise NetworkError("; ".join(faults) or f"no address of {self.facts.listener} is known")
