"""One connection without I/O: the server's and the client's role.

    conn.receive_data(chunk)
    while (event := conn.next_event()) is not NEED_DATA: ...
    to_write = conn.send_response(event.slot, payload)

Kafka's order holds: responses leave in the order of their requests, whoever finishes first. States and their exits:

    Open ──to_draining──> Draining ──to_closed──> Closed
      └──────────────────to_closed───────────────────┘
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from doorkeeper.errors import LocalProtocolError, RemoteProtocolError
from doorkeeper.wire.codec import encode_request, read_correlation_id, read_request_header
from doorkeeper.wire.events import PAUSED, Paused, ProtocolViolation, RequestReceived, ResponseReceived, TokenReceived
from doorkeeper.wire.framing import MAX_FRAME_BYTES, NEED_DATA, FrameReader, NeedData, frame
from doorkeeper.wire.messages import API_VERSIONS, api_name
from doorkeeper.wire.registry import Registry

ONE_AT_A_TIME: Final = 1
"""Requests in flight per connection. Kafka leaves a channel unread until its request is answered, and idempotent
producers and admin tools rely on the order of *effects* which that gives."""

READ_AHEAD_BYTES: Final = 256 * 1024
"""How much may be received beyond the requests in flight before the socket should be left unread."""

MAX_CORRELATION_ID: Final = 2**31 - 1

Chunks: TypeAlias = list[bytes | memoryview]


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing more comes in or goes out."""

    reason: str


@dataclass(frozen=True, slots=True)
class Draining:
    """Requests in flight are answered; no other is taken."""

    def to_closed(self, reason: str) -> Closed:
        return Closed(reason)


@dataclass(frozen=True, slots=True)
class Open:
    """Requests and responses flow."""

    def to_draining(self) -> Draining:
        return Draining()

    def to_closed(self, reason: str) -> Closed:
        return Closed(reason)


OPEN: Final = Open()
State: TypeAlias = Open | Draining | Closed


class ServerConnection:
    """Requests in, responses out, in order."""

    def __init__(
        self,
        registry: Registry,
        *,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        max_in_flight: int = ONE_AT_A_TIME,
        read_ahead_bytes: int = READ_AHEAD_BYTES,
    ) -> None:
        self.state: State = OPEN
        self._registry = registry
        self._reader = FrameReader(max_frame_bytes)
        self._max_in_flight = max_in_flight
        self._limits = (max_frame_bytes, max_in_flight)
        self.expects_token = False
        """Whether the next frame is a bare message of a SASL mechanism."""
        self._read_ahead_bytes = read_ahead_bytes
        self._next_slot = 0
        self._next_to_send = 0
        self._finished: dict[int, Chunks] = {}
        """Responses that wait for an earlier one."""
        self._muted = False

    @property
    def in_flight(self) -> int:
        """Requests handed out whose response has not been handed back, or waits for its turn."""
        return self._next_slot - self._next_to_send

    @property
    def wants_data(self) -> bool:
        """False while there is enough to do: the socket should be left unread (back-pressure)."""
        if self.state is not OPEN:
            return False
        if not self._muted and self.in_flight < self._max_in_flight:
            return True
        return self._reader.buffered_bytes < self._read_ahead_bytes

    @property
    def is_finished(self) -> bool:
        """Whether a draining connection has answered all it took."""
        return self.state is not OPEN and self.in_flight == 0

    def receive_data(self, chunk: bytes) -> None:
        """Take bytes of the stream; a connection that takes no more requests ignores them."""
        if self.state is OPEN:
            self._reader.receive_data(chunk)

    def next_event(
        self,
    ) -> RequestReceived | TokenReceived | ProtocolViolation | Literal[NeedData.NEED_DATA] | Literal[Paused.PAUSED]:
        """The next thing that happened. An ApiVersions request is handed out whatever its version (KIP-511)."""
        if self.state is not OPEN:
            return NEED_DATA
        if self._muted or self._next_slot - self._next_to_send >= self._max_in_flight:
            return PAUSED
        try:
            found = self._reader.next_frame()
            if found is NEED_DATA:
                return NEED_DATA
            if self.expects_token:
                self._next_slot += 1
                return TokenReceived(self._next_slot - 1, found)
            header = read_request_header(found)
        except RemoteProtocolError as error:
            return self._violation(error.reason)
        api_key = header.api_key
        if not self._registry.serves(api_key, header.api_version) and api_key != API_VERSIONS:
            name = f"{api_key} ({api_name(api_key)})"
            return self._violation(
                f"Received request for disabled api with key {name} and version {header.api_version}"
            )
        slot = self._next_slot
        self._next_slot += 1
        return RequestReceived(slot, header, found)

    def begin_login(self, max_frame_bytes: int) -> None:
        """Until `end_login` take one request at a time, and none above this size."""
        self._reader.max_bytes = max_frame_bytes
        self._max_in_flight = ONE_AT_A_TIME

    def end_login(self) -> None:
        """The peer is known: take requests as on any connection."""
        self._reader.max_bytes, self._max_in_flight = self._limits
        self.expects_token = False

    def _violation(self, reason: str) -> ProtocolViolation:
        self.close(reason)
        return ProtocolViolation(reason)

    def send_response(self, slot: int, *parts: bytes | memoryview) -> Chunks:
        """Hand back the response to a request (without its size; nothing at all for one that gets no response).

        Returns what may be written now: this response, later ones that waited for it, or nothing yet.

        :raises LocalProtocolError: for a request that is unknown or has been answered.
        """
        if isinstance(self.state, Closed):
            return []
        chunks: Chunks = _framed(parts) if parts else []
        if slot == self._next_to_send and slot < self._next_slot:
            self._next_to_send += 1
            return self._release(chunks) if self._finished else chunks
        if not self._next_to_send < slot < self._next_slot or slot in self._finished:
            raise LocalProtocolError(f"request {slot} does not await a response")
        self._finished[slot] = chunks
        return []

    def _release(self, chunks: Chunks) -> Chunks:
        while (following := self._finished.pop(self._next_to_send, None)) is not None:
            chunks.extend(following)
            self._next_to_send += 1
        return chunks

    def mute(self) -> None:
        """Hand out no request until `unmute`: how a client is throttled (KIP-219)."""
        self._muted = True

    def unmute(self) -> None:
        """End a `mute`."""
        self._muted = False

    def drain(self) -> None:
        """Take no more requests; what is in flight may still be answered."""
        if isinstance(self.state, Open):
            self.state = self.state.to_draining()

    def close(self, reason: str) -> None:
        """End it; responses that come later are dropped."""
        if not isinstance(self.state, Closed):
            self.state = self.state.to_closed(reason)
            self._finished.clear()


def _framed(parts: tuple[bytes | memoryview, ...]) -> Chunks:
    if len(parts) == 1:
        return [frame(parts[0])]
    size = sum(map(len, parts))
    return [size.to_bytes(4, "big"), *parts]


class ClientConnection:
    """Requests out, responses in, matched in order."""

    def __init__(self, client_id: str | None = None, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self.state: State = OPEN
        self._client_id = client_id
        self._reader = FrameReader(max_frame_bytes)
        self._correlation_id = 0
        self._awaited: deque[tuple[int, int, int]] = deque()

    @property
    def in_flight(self) -> int:
        """Requests that await their response."""
        return len(self._awaited)

    def send_request(self, body: Any, *, expects_response: bool = True) -> tuple[int, bytes]:
        """(correlation id, bytes to write) of a request; a Produce with acks=0 expects no response.

        :raises LocalProtocolError: when it can't be written, or the connection is closing.
        """
        if self.state is not OPEN:
            raise LocalProtocolError("the connection takes no more requests")
        correlation_id = self._correlation_id
        encoded = frame(encode_request(body, correlation_id, self._client_id))
        self._correlation_id = 0 if correlation_id == MAX_CORRELATION_ID else correlation_id + 1
        if expects_response:
            self._awaited.append((correlation_id, body.__api_key__, body.__version__))
        return correlation_id, encoded

    def receive_data(self, chunk: bytes) -> None:
        """Take bytes of the stream."""
        if not isinstance(self.state, Closed):
            self._reader.receive_data(chunk)

    def next_event(self) -> ResponseReceived | ProtocolViolation | Literal[NeedData.NEED_DATA]:
        """The next response, or the end."""
        if isinstance(self.state, Closed):
            return NEED_DATA
        try:
            found = self._reader.next_frame()
            if found is NEED_DATA:
                return NEED_DATA
            correlation_id = read_correlation_id(found)
        except RemoteProtocolError as error:
            return self._violation(error.reason)
        if not self._awaited or self._awaited[0][0] != correlation_id:
            awaited = self._awaited[0][0] if self._awaited else "none"
            return self._violation(f"Response with correlation id {correlation_id} where {awaited} was awaited")
        _, api_key, api_version = self._awaited.popleft()
        return ResponseReceived(correlation_id, api_key, api_version, found)

    def _violation(self, reason: str) -> ProtocolViolation:
        self.close(reason)
        return ProtocolViolation(reason)

    def drain(self) -> None:
        """Send no more requests; responses may still come."""
        if isinstance(self.state, Open):
            self.state = self.state.to_draining()

    def close(self, reason: str) -> None:
        """End it; nothing is awaited any more."""
        if not isinstance(self.state, Closed):
            self.state = self.state.to_closed(reason)
            self._awaited.clear()
