"""One accepted connection: carries bytes between a transport and a `ServerConnection`, and requests to the service."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.net.authentication import Authentication
from doorkeeper.net.limits import Limits
from doorkeeper.net.service import DECODE, Answer, Peer, Service
from doorkeeper.wire.answers import error_response, fault_code
from doorkeeper.wire.api_versions import check_request, unsupported_version_response
from doorkeeper.wire.codec import Request, decode_request, encode_response, response_header
from doorkeeper.wire.connection import Chunks, Closed, ServerConnection
from doorkeeper.wire.events import PAUSED, ProtocolViolation, RequestReceived, TokenReceived
from doorkeeper.wire.framing import NEED_DATA
from doorkeeper.wire.messages import API_VERSIONS, api_name
from doorkeeper.wire.sasl_login import Outcome, SaslLogin

LOGGER: Final = logging.getLogger("doorkeeper.net")
_CONNECTION_NUMBERS: Final = itertools.count()


class Refusal(NamedTuple):
    """Why a connection is not wanted, and how long it is left unread before it is closed."""

    reason: str
    delay_seconds: float = 0.0


class ServerProtocol(asyncio.Protocol):
    """Asyncio's side of one connection."""

    def __init__(
        self,
        service: Service,
        listener: str,
        limits: Limits,
        admit: Callable[[ServerProtocol], Refusal | None],
        leave: Callable[[ServerProtocol], None],
        authentication: Authentication | None = None,
    ) -> None:
        """:param admit: told of the connection once its address is known.
        :param authentication: how the peer says who it is, if it has to.
        """
        self.loop = asyncio.get_running_loop()
        self.connection = ServerConnection(
            service.registry,
            max_frame_bytes=limits.max_frame_bytes,
            max_in_flight=limits.max_in_flight,
            read_ahead_bytes=limits.read_ahead_bytes,
        )
        self.peer = Peer("", 0, listener, self.mute_for)
        self.last_active = self.loop.time()
        self._service = service
        self._limits = limits
        self._admit = admit
        self._leave = leave
        self._transport: asyncio.Transport | None = None
        self._admitted = False
        self._out: Chunks = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading = True
        self._writable = True
        self._pumping = False
        self._at_end = False
        """Whether the peer has sent its last byte."""
        self._muted_until = 0.0
        self._authentication = authentication
        self._login: SaslLogin | None = None
        """There until the peer is known."""
        if authentication is not None:
            self._login = SaslLogin(authentication.mechanisms)
            self.connection.begin_login(authentication.max_frame_bytes)

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._limits.write_buffer_bytes)
        address = transport.get_extra_info("peername") or ("", 0)
        self.peer.address, self.peer.port = str(address[0]), int(address[1])
        host, port = (transport.get_extra_info("sockname") or ("", 0))[:2]
        number = next(_CONNECTION_NUMBERS)
        self.peer.connection_id = f"{host}:{port}-{self.peer.address}:{self.peer.port}-0-{number}"
        refusal = self._admit(self)
        if refusal is not None:
            LOGGER.info("refused a connection from %s: %s", self.peer.address, refusal.reason)
            if not refusal.delay_seconds:
                self.abort()
                return
            self.connection.close(refusal.reason)
            self._regulate()
            self.loop.call_later(refusal.delay_seconds, self.abort)
            return
        self._admitted = True

    def data_received(self, data: bytes) -> None:
        self.last_active = self.loop.time()
        self.connection.receive_data(data)
        self._pump()

    def eof_received(self) -> bool:
        """The peer sends no more: answer all it has sent (a producer with acks=0 leaves like this), then close."""
        self._at_end = True
        self.peer.leave()
        self._pump()
        return not isinstance(self.connection.state, Closed)

    def pause_writing(self) -> None:
        self._writable = False
        self._regulate()

    def resume_writing(self) -> None:
        self._writable = True
        self._pump()

    def connection_lost(self, error: Exception | None) -> None:
        self.connection.close("the connection is gone")
        for task in self._tasks:
            task.cancel()
        self._transport = None
        if self._admitted:
            self._admitted = False
            self._leave(self)

    # -- called by the listener and by services

    def drain(self) -> None:
        """Take no more requests; close once those in flight are answered."""
        self.connection.drain()
        self._close_if_finished()

    def close(self, reason: str) -> None:
        """Close now; what has been written still goes out."""
        self.connection.close(reason)
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close now and drop what has not gone out."""
        self.connection.close("aborted")
        if self._transport is not None:
            self._transport.abort()

    def mute_for(self, seconds: float) -> None:
        """Leave the connection unread for a while; the longest of several holds."""
        until = self.loop.time() + seconds
        if until <= self._muted_until:
            return
        self._muted_until = until
        self.connection.mute()
        self.loop.call_at(until, self._unmute, until)

    def _unmute(self, until: float) -> None:
        if until == self._muted_until:
            self.connection.unmute()
            self._pump()

    # -- requests

    def _pump(self) -> None:
        """Hand out every request that may be handled now, then write what has been answered."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._writable:
                event = self.connection.next_event()
                if event is NEED_DATA or event is PAUSED:
                    if self._at_end and event is NEED_DATA:
                        self.connection.drain()
                    break
                if isinstance(event, ProtocolViolation):
                    LOGGER.warning("closed the connection from %s: %s", self.peer.address, event.reason)
                    self.close(event.reason)
                    break
                if self._authentication is not None and self._login is not None:
                    self._log_in(self._authentication, self._login, event)
                elif isinstance(event, RequestReceived):
                    self._dispatch(event)
        finally:
            self._pumping = False
        self._flush()

    def _dispatch(self, event: RequestReceived) -> None:
        _, header, frame = event
        request: Request | None = None
        try:
            registry = self._service.registry
            if header.api_key == API_VERSIONS and not registry.serves(API_VERSIONS, header.api_version):
                self._send(event, unsupported_version_response(registry), version=0)
                return
            answer = self._service.handle_opaque(header, frame, self.peer)
            if answer is DECODE:
                request = decode_request(frame, header)
                self._note_versions(request)
                answer = self._service.handle(request, self.peer)
            if not hasattr(type(answer), "__await__"):
                self._send(event, answer)
                return
        except Exception as error:
            self._fail(event, request, error)
            return
        self._spawn(self._finish(event, request, answer))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, event: RequestReceived, request: Request | None, awaitable: Awaitable[Answer]) -> None:
        try:
            self._send(event, await awaitable)
        except asyncio.CancelledError:
            # Without an answer the responses after it could never leave.
            self.close("a request was cancelled")
            raise
        except Exception as error:
            self._fail(event, request, error)
        self._pump()

    def _send(self, event: RequestReceived, answer: Answer, version: int | None = None) -> None:
        slot, header, _ = event
        if answer is None:
            self._out += self.connection.send_response(slot)
            return
        asked = header.api_version if version is None else version
        if isinstance(answer, bytes | memoryview):
            answer = (answer,)
        if isinstance(answer, tuple):
            lead = response_header(header.api_key, asked, header.correlation_id)
            self._out += self.connection.send_response(slot, lead, *answer)
            return
        encoded = encode_response(header.api_key, asked, header.correlation_id, answer)
        self._out += self.connection.send_response(slot, encoded)

    def _fail(self, event: RequestReceived, request: Request | None, error: Exception) -> None:
        """A request that can't be answered as it should: the peer's fault or ours."""
        header = event.header
        ours = not isinstance(error, RemoteProtocolError)
        if ours:
            LOGGER.error("%s version %d failed", api_name(header.api_key), header.api_version, exc_info=error)
            with suppress(RemoteProtocolError):
                request = request or decode_request(event.frame, header)
        answer = None
        if request is not None and (ours or error_code_hint(error) is not None):
            message = None if ours else str(error)
            answer = error_response(header.api_key, header.api_version, request.body, fault_code(error), message)
        if answer is None:
            self._break(error, ours=ours)
            return
        self._send(event, answer)

    def _break(self, error: Exception, *, ours: bool) -> None:
        reason = "a fault of ours" if ours else str(error)
        LOGGER.warning("closed the connection from %s: %s", self.peer.address, reason)
        self._flush()
        self.close(reason)

    def _note_versions(self, request: Request) -> None:
        """Remember who the client says it is (KIP-511), and that it has been told the versions."""
        if request.api_key != API_VERSIONS or check_request(request.body):
            return
        if self._login is not None:
            self._login.note_versions()
        if request.api_version >= 3:
            body = request.body
            self.peer.software_name, self.peer.software_version = (
                body.client_software_name,
                body.client_software_version,
            )

    # -- the login

    def _log_in(self, authentication: Authentication, login: SaslLogin, event: RequestReceived | TokenReceived) -> None:
        """Let the peer say who it is; the first ApiVersions alone goes on to the service."""
        if isinstance(event, RequestReceived) and login.asks_for_versions(event.header.api_key):
            self._dispatch(event)
            return
        closed = authentication.gate()
        if closed is not None:
            self._spawn(self._log_in_after(closed, authentication, login, event))
            return
        try:
            outcome = _outcome(authentication, login, event, self.peer)
        except Exception as error:
            ours = not isinstance(error, RemoteProtocolError)
            if ours:
                LOGGER.exception("a login failed")
            self._break(error, ours=ours)
            return
        if outcome.refusal is not None:
            LOGGER.info("refused %s at %s: %s", self.peer.address, self.peer.listener, outcome.refusal)
            self.connection.drain()
            self.loop.call_later(authentication.failure_delay_seconds, self._refuse, event, outcome.answer)
            return
        self._answer_login(event, outcome.answer)
        self.connection.expects_token = login.expects_token
        if outcome.principal is not None:
            self.peer.log_in(outcome.principal)
            self._login = None
            self.connection.end_login()

    async def _log_in_after(
        self,
        closed: Awaitable[None],
        authentication: Authentication,
        login: SaslLogin,
        event: RequestReceived | TokenReceived,
    ) -> None:
        await closed
        self._log_in(authentication, login, event)
        self._pump()

    def _refuse(self, event: RequestReceived | TokenReceived, answer: Answer) -> None:
        """Say so, late enough to make guessing slow; the connection is drained, and closes with it."""
        self._answer_login(event, answer)
        self._flush()

    def _answer_login(self, event: RequestReceived | TokenReceived, answer: Answer) -> None:
        if isinstance(event, RequestReceived):
            self._send(event, answer)
        else:
            self._out += self.connection.send_response(event.slot, *(() if answer is None else (answer,)))

    # -- the socket

    def _flush(self) -> None:
        transport = self._transport
        if transport is None:
            self._out.clear()
            return
        if self._out:
            out, self._out = self._out, []
            self.last_active = self.loop.time()
            if len(out) == 1:
                transport.write(out[0])
            else:
                transport.writelines(out)
        self._regulate()
        self._close_if_finished()

    def _regulate(self) -> None:
        """Read, or leave unread, as the connection and the write buffer say."""
        transport = self._transport
        wanted = self._writable and self.connection.wants_data
        if transport is None or wanted == self._reading or transport.is_closing():
            return
        self._reading = wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def _close_if_finished(self) -> None:
        if self.connection.is_finished and not isinstance(self.connection.state, Closed):
            self.close("drained")


def error_code_hint(error: Exception) -> int | None:
    """The code that a peer's fault is to be answered with."""
    return error.error_code_hint if isinstance(error, RemoteProtocolError) else None


def _outcome(
    authentication: Authentication, login: SaslLogin, event: RequestReceived | TokenReceived, peer: Peer
) -> Outcome:
    if not isinstance(event, RequestReceived):
        return login.receive_token(bytes(event.frame))
    login.require_expected(event.header.api_key)
    request = decode_request(event.frame, event.header)
    refused = authentication.refuse(request, peer)
    return login.receive(request) if refused is None else Outcome(refused, refusal="the door does not let it in")
