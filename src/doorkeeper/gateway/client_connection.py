"""One client's connection and the connection upstream that belongs to it: two asyncio protocols around a passage.

    Waiting ──upstream is there──> Open ──drain──> Draining ──all answered──> Closed
       └───────upstream can't be reached, a fault, the end of either side──────^

Back-pressure: while one side does not take bytes, the other is not read. The end of the client's bytes is handed on
after them; the end of upstream's bytes closes the client's connection after them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from time import monotonic
from typing import Final, Protocol, cast

from doorkeeper.errors import DoorkeeperError, RemoteProtocolError
from doorkeeper.gateway.gatekeeper import Gatekeeper
from doorkeeper.gateway.gathering import GATHER_BYTES, GATHER_FROM, GATHER_SECONDS, Pace
from doorkeeper.gateway.limits import GatewayLimits
from doorkeeper.gateway.outcomes import Pending, Settled
from doorkeeper.gateway.plans import Plans
from doorkeeper.gateway.request_stream import RequestStream
from doorkeeper.gateway.response_stream import ResponseStream

LOGGER: Final = logging.getLogger("doorkeeper.gateway")


class Counts(Protocol):
    """Bytes received, of all connections."""

    from_clients: int
    from_upstream: int


class Reception(Protocol):
    """What receives connections: one door of the gateway."""

    @property
    def plans(self) -> Plans:
        """What is done with requests."""

    @property
    def limits(self) -> GatewayLimits:
        """How much is taken."""

    @property
    def observed(self) -> bool:
        """Whether every request is noted."""

    def route(self, connection: ClientConnection) -> Reception:
        """Which door the connection is for, itself or another, by the name that the client asked for.

        :raises DoorkeeperError: when there is none.
        """

    @property
    def population(self) -> Counts:
        """What is counted."""

    def admit(self, connection: ClientConnection) -> str | None:
        """Let a connection in, or say why not."""

    def leave(self, connection: ClientConnection) -> None:
        """A client is gone."""

    def forget(self, connection: ClientConnection) -> None:
        """Both sides of a connection are gone."""

    def gatekeeper(self, connection: ClientConnection) -> Gatekeeper:
        """One for this connection; its transport is there."""

    async def connect(self, protocol: UpstreamConnection) -> None:
        """Open a connection to the node behind the door.

        :raises DoorkeeperError: when there is none to be had.
        """


class UpstreamConnection(asyncio.Protocol):
    """The side towards Kafka; all it gets goes to its client's connection."""

    def __init__(self, client: ClientConnection) -> None:
        self._client = client
        self.transport: asyncio.Transport | None = None
        # One call less for every chunk that comes.
        self.data_received = client.receive_upstream  # type: ignore[method-assign]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=self._client.limits.write_buffer_bytes)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._client.upstream_is_full = True
        self._client.regulate()

    def resume_writing(self) -> None:
        self._client.upstream_is_full = False
        self._client.regulate()

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self._client.lose_upstream()


class ClientConnection(asyncio.Protocol):
    """The side towards the client, which owns the pair."""

    def __init__(self, reception: Reception) -> None:
        self.loop = asyncio.get_running_loop()
        self.limits = reception.limits
        self.transport: asyncio.Transport | None = None
        self.address = ""
        self.last_active = self.loop.time()
        self.upstream_is_full = False
        self._reception = reception
        self._counts = reception.population
        self._pending: Pending = deque()
        self._upstream: UpstreamConnection | None = None
        self._requests: RequestStream | None = None
        self._responses: ResponseStream | None = None
        self._early = bytearray()
        """What came before upstream was there."""
        self._admitted = False
        self._client_is_full = False
        self._reading = True
        self._reading_upstream = True
        self._client_ended = False
        self._draining = False
        self._opening: asyncio.Task[None] | None = None
        self._judging: asyncio.Task[None] | None = None
        self._pace = Pace()
        self._gathering: asyncio.TimerHandle | None = None
        """While upstream's answers gather in its socket."""

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=self.limits.write_buffer_bytes)
        if not self.address:
            self.address = str((transport.get_extra_info("peername") or ("",))[0])
        try:
            self._reception = self._reception.route(self)
            refusal = self._reception.admit(self)
        except DoorkeeperError as error:
            refusal = str(error)
        if refusal is not None:
            LOGGER.info("refused a connection from %s: %s", self.address, refusal)
            self.abort()
            return
        self._admitted = True
        self.regulate()
        self._opening = self.loop.create_task(self._open())

    def data_received(self, data: bytes) -> None:
        self.last_active = self.loop.time()
        self._counts.from_clients += len(data)
        requests = self._requests
        if requests is None:
            # uvloop begins to read after `connection_made`, whatever that has said.
            self._early += data
            if self.transport is not None:
                self.transport.pause_reading()
            return
        try:
            requests.feed(data)
        except RemoteProtocolError as error:
            self.close(error.reason)
            return
        self._after_requests(requests)

    def eof_received(self) -> bool:
        self._client_ended = True
        self._end_requests()
        transport = self.transport
        # TLS has no half-closed connections: asyncio closes it whatever is said here, and warns of another wish.
        return transport is not None and not transport.is_closing() and transport.can_write_eof()

    def pause_writing(self) -> None:
        self._client_is_full = True
        self.regulate()

    def resume_writing(self) -> None:
        self._client_is_full = False
        self.regulate()

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        for task in (self._opening, self._judging):
            if task is not None:
                task.cancel()
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        upstream = self._upstream
        if upstream is not None and upstream.transport is not None:
            upstream.transport.close()
        if self._admitted:
            self._reception.leave(self)
            self._forget_if_gone()

    def _forget_if_gone(self) -> None:
        is_upstream_gone = self._upstream is None or self._upstream.transport is None
        if self._admitted and self.transport is None and is_upstream_gone:
            self._admitted = False
            self._reception.forget(self)

    # -- opening

    async def _open(self) -> None:
        upstream = UpstreamConnection(self)
        try:
            await self._reception.connect(upstream)
        except DoorkeeperError as error:
            self.close(str(error))
            return
        if self.transport is None or self.transport.is_closing() or upstream.transport is None:
            if upstream.transport is not None:
                upstream.transport.abort()
            self.close("upstream has gone")
            return
        self._upstream = upstream
        gatekeeper = self._reception.gatekeeper(self)
        responses = ResponseStream(
            self._pending, gatekeeper, self.transport.write, max_frame_bytes=self.limits.max_frame_bytes
        )
        requests = RequestStream(
            self._reception.plans,
            gatekeeper,
            self._pending,
            upstream.transport.write,
            responses.answer,
            max_frame_bytes=self.limits.max_frame_bytes,
            observed=self._reception.observed,
        )
        gatekeeper.on_token = requests.expect_tokens
        self._responses, self._requests = responses, requests
        if self._draining:
            self.drain()
        elif self._early:
            early, self._early = bytes(self._early), bytearray()
            self._counts.from_clients -= len(early)
            self.data_received(early)
        self._end_requests()
        self.regulate()

    # -- requests

    def _after_requests(self, requests: RequestStream) -> None:
        if requests.deferred is not None and self._judging is None:
            self._judging = self.loop.create_task(self._wait_for_verdict(requests))
        if requests.closing is not None:
            self.close_when_answered(requests.closing)
        if len(self._pending) >= self.limits.max_pipelined or requests.deferred is not None:
            self.regulate()

    async def _wait_for_verdict(self, requests: RequestStream) -> None:
        while requests.deferred is not None:
            outcome: Settled = await requests.deferred.verdict
            try:
                requests.settle(outcome)
            except RemoteProtocolError as error:
                self.close(error.reason)
                return
        self._judging = None
        self._after_requests(requests)
        self._end_requests()
        self.regulate()
        self._close_if_drained()

    def _end_requests(self) -> None:
        """Hand the end of the client's bytes on, once all of them have been."""
        requests, upstream = self._requests, self._upstream
        if not self._client_ended or requests is None or requests.deferred is not None:
            return
        if upstream is None or upstream.transport is None:
            return
        if upstream.transport.can_write_eof():
            upstream.transport.write_eof()
        else:
            self.close_when_answered("the client has ended")

    # -- responses

    def receive_upstream(self, data: bytes) -> None:
        """Bytes from upstream."""
        self.last_active = self.loop.time()
        self._counts.from_upstream += len(data)
        responses = self._responses
        if responses is None or self.transport is None:
            return
        before = len(self._pending)
        try:
            responses.feed(data)
        except RemoteProtocolError as error:
            LOGGER.warning("%s: upstream sent what can't be passed on: %s", self.address, error.reason)
            self.close(error.reason)
            return
        left = len(self._pending)
        if before >= self.limits.max_pipelined > left:
            self.regulate()
        if left >= GATHER_FROM and len(data) < GATHER_BYTES:
            self._gather(before - left, left)
        if self._draining:
            self._close_if_drained()

    def _gather(self, answered: int, left: int) -> None:
        """Leave upstream unread for a moment, if it is busy for longer than that."""
        if self._pace.is_busy(answered, left, monotonic()) and self._gathering is None:
            self._gathering = self.loop.call_later(GATHER_SECONDS, self._end_gathering)
            self.regulate()

    def _end_gathering(self) -> None:
        self._gathering = None
        self.regulate()

    def lose_upstream(self) -> None:
        """Upstream has closed: the client gets what has come, then the end."""
        self.close("upstream has closed")
        self._forget_if_gone()

    # -- the sockets

    def regulate(self) -> None:
        """Read each side, or leave it unread, as the other side's buffer says."""
        requests = self._requests
        wanted = (
            requests is not None
            and not self.upstream_is_full
            and not self._client_is_full
            and requests.deferred is None
            and len(self._pending) < self.limits.max_pipelined
        )
        if wanted != self._reading and self.transport is not None and not self.transport.is_closing():
            self._reading = wanted
            if wanted:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()
        self._regulate_upstream()

    def _regulate_upstream(self) -> None:
        wanted = not self._client_is_full and self._gathering is None
        upstream = None if self._upstream is None else self._upstream.transport
        if wanted != self._reading_upstream and upstream is not None and not upstream.is_closing():
            self._reading_upstream = wanted
            if wanted:
                upstream.resume_reading()
            else:
                upstream.pause_reading()

    # -- the end

    @property
    def is_waiting(self) -> bool:
        """Whether a response is to come: upstream takes what is asked, and has not answered all of it."""
        return bool(self._pending) and not self.upstream_is_full

    @property
    def is_closing(self) -> bool:
        """Whether it is over but for bytes that a side has yet to take."""
        return self.transport is None or self.transport.is_closing()

    def drain(self) -> None:
        """Take no more requests; close once all is answered."""
        self._draining = True
        if self._requests is not None:
            self._requests.draining = True
        self._close_if_drained()

    def close_when_answered(self, reason: str) -> None:
        """Take no more requests, let the answers to earlier ones through, close."""
        if self._pending:
            LOGGER.info("%s: closing when all is answered: %s", self.address, reason)
        self.drain()

    def _close_if_drained(self) -> None:
        requests, responses = self._requests, self._responses
        if not self._draining:
            return
        if requests is None or responses is None:
            if self._upstream is None:
                self.close("drained before it was open")
            return
        if not self._pending and requests.is_between_frames and responses.is_between_frames:
            self.close(requests.closing or "drained")

    def close(self, reason: str) -> None:
        """Close both sides; what has been written to the client still goes out."""
        LOGGER.debug("%s: closed: %s", self.address, reason)
        upstream = None if self._upstream is None else self._upstream.transport
        if upstream is not None:
            upstream.close()
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Close both sides now."""
        upstream = None if self._upstream is None else self._upstream.transport
        if upstream is not None:
            upstream.abort()
        if self.transport is not None:
            self.transport.abort()
