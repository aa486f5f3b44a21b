"""A door on the network: accepts connections, counts them, sweeps idle ones, drains them at the end."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from doorkeeper.net.authentication import Authentication
from doorkeeper.net.limits import Limits
from doorkeeper.net.server_protocol import LOGGER, Refusal, ServerProtocol
from doorkeeper.net.service import Peer, Service

SWEEPS_PER_IDLE_TIME: Final = 4
"""An idle connection is closed at most a quarter of the idle time too late."""
SHORTEST_SWEEP_SECONDS: Final = 0.1


class Listener:
    """One address that serves one service.

    `start` binds; `stop` closes the port, lets requests in flight finish, and closes the rest.
    """

    def __init__(
        self,
        host: str,
        port: int,
        service: Service,
        *,
        name: str = "PLAINTEXT",
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        authentication: Authentication | None = None,
        reuse_port: bool = False,
        connection_rate: Callable[[str], float] | None = None,
    ) -> None:
        """:param port: 0 for a free one, see `port` afterwards.
        :param connection_rate: told of each new connection's address; returns after how many seconds a connection that
            comes too soon is to be closed, or 0.
        :param authentication: how clients say who they are; without it everybody is let in as nobody.
        """
        self.name = name
        self.host = host
        self.port = port
        self._service = service
        self._limits = limits or Limits()
        self._tls = tls
        self._authentication = authentication
        self._reuse_port = reuse_port
        self._connection_rate = connection_rate
        self._server: asyncio.Server | None = None
        self._protocols: set[ServerProtocol] = set()
        self._per_address: Counter[str] = Counter()
        self._sweep: asyncio.TimerHandle | None = None
        self._all_gone = asyncio.Event()

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._protocols)

    def change_limits(self, limits: Limits) -> None:
        """Take other limits from now on: numbers of connections and the idle time count at once, the rest for new
        connections, and the backlog not before the next start."""
        self._limits = limits

    def change_authentication(self, authentication: Authentication) -> None:
        """Let new connections log in in another way; those that have stay."""
        self._authentication = authentication

    async def start(self) -> None:
        """Bind and accept.

        :raises OSError: when the address can't be bound.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._make_protocol,
            self.host,
            self.port,
            ssl=self._tls,
            backlog=self._limits.backlog,
            reuse_port=self._reuse_port or None,
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._schedule_sweep(loop)

    def _make_protocol(self) -> ServerProtocol:
        return ServerProtocol(self._service, self.name, self._limits, self._admit, self._leave, self._authentication)

    async def stop(self, grace_seconds: float = 30.0) -> None:
        """Take no more connections and requests, answer what is in flight, close; after the grace, abort."""
        if self._sweep is not None:
            self._sweep.cancel()
        if self._server is not None:
            self._server.close()
        for protocol in list(self._protocols):
            protocol.drain()
        if self._protocols:
            self._all_gone.clear()
            try:
                async with asyncio.timeout(grace_seconds):
                    await self._all_gone.wait()
            except TimeoutError:
                LOGGER.warning("%s: %d connections did not drain in %.1f s", self.name, self.connections, grace_seconds)
                await self._abort_all()
        if self._server is not None:
            await self._server.wait_closed()

    async def _abort_all(self) -> None:
        for protocol in list(self._protocols):
            protocol.abort()
        if self._protocols:
            await self._all_gone.wait()

    def close_idle(self, now: float) -> int:
        """Close the connections that have been silent for longer than the limit; returns how many."""
        idle = [
            protocol
            for protocol in self._protocols
            if protocol.connection.in_flight == 0 and now - protocol.last_active > self._limits.idle_seconds
        ]
        for protocol in idle:
            protocol.close("idle")
        return len(idle)

    def _schedule_sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        delay = max(self._limits.idle_seconds / SWEEPS_PER_IDLE_TIME, SHORTEST_SWEEP_SECONDS)
        self._sweep = loop.call_later(delay, self._run_sweep, loop)

    def _run_sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self.close_idle(loop.time())
        self._schedule_sweep(loop)

    def peers(self) -> Iterator[Peer]:
        """Who is connected."""
        return (protocol.peer for protocol in self._protocols)

    def _admit(self, protocol: ServerProtocol) -> Refusal | None:
        address = protocol.peer.address
        delay = 0.0 if self._connection_rate is None else self._connection_rate(address)
        if delay:
            return Refusal("it connects too often (connection_creation_rate)", delay)
        reason = self._check_numbers(address)
        if reason is not None:
            return Refusal(reason)
        self._protocols.add(protocol)
        self._per_address[address] += 1
        return None

    def _check_numbers(self, address: str) -> str | None:
        if len(self._protocols) >= self._limits.max_connections:
            return f"{len(self._protocols)} connections are open, the limit (max.connections)"
        overrides = self._limits.max_connections_per_ip_overrides
        if self._per_address[address] >= overrides.get(address, self._limits.max_connections_per_ip):
            return f"it has {self._per_address[address]} open, the limit (max.connections.per.ip)"
        return None

    def _leave(self, protocol: ServerProtocol) -> None:
        self._protocols.discard(protocol)
        address = protocol.peer.address
        self._per_address[address] -= 1
        if self._per_address[address] == 0:
            del self._per_address[address]
        if not self._protocols:
            self._all_gone.set()
