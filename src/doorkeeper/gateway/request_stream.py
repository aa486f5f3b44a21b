"""The client's bytes: every frame's header is looked at, and what nobody judges goes on as it came, uncopied.

    chunk ──> frame, frame, frame, half a frame
              └─ plan: identifiers read in place ─> on it goes, with its neighbours in one write
                 or: examined as a whole frame   ─> passed, replaced, answered, or the end

What can't be decided yet waits (`_rest`), bounded by the largest frame that is let in. Clients repeat themselves: a
frame with the bytes of the last one that was let pass, as far as those decided that, passes without another look.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, Protocol

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.outcomes import Answer, Close, Defer, Outcome, Pass, Pending, Replace, Settled
from doorkeeper.gateway.plans import Plan, Plans
from doorkeeper.gateway.responses import Responder, Token
from doorkeeper.wire.framing import SIZE_BYTES

HEADER_BYTES: Final = 14
"""Size, API key, version, correlation id and the client id's length."""
MAX_TOKEN_BYTES: Final = 524_288
"""Kafka's default of `sasl.server.max.receive.size`."""
FIRST_LOOK_BYTES: Final = 4096
"""How much of a frame is awaited before a second look; then twice as much each time."""
CORRELATION_AT: Final = 8
CLIENT_ID_AT: Final = 12
MAX_REMEMBERED_BYTES: Final = 1024
"""How much of a frame is kept to know its like by."""
_NOTHING: Final = b"\xff" * CORRELATION_AT
"""How no frame begins: a size is positive."""
ACKS_BYTES: Final = 2
NO_ACKS: Final = b"\0\0"
_read_header = struct.Struct(">ihhih").unpack_from
_read_size = struct.Struct(">i").unpack_from
_write_size = struct.Struct(">i").pack


class _Nowhere(list[Any]):
    """A list that keeps nothing: where walks note what nobody asks for."""

    def append(self, item: Any) -> None:
        """Do nothing."""

    extend = append


_NOWHERE: Final = _Nowhere()


class _Passed:
    """The last frame that passed: as much of it as decided that."""

    __slots__ = ("awaited", "decided", "head", "length", "responder")

    def __init__(self) -> None:
        self.head = _NOTHING
        """Size, API key and version."""
        self.decided = b""
        """From the client id's length to the last byte that was looked at."""
        self.length = 0
        """Of the whole frame, with its size."""
        self.awaited = True
        """Whether an answer comes."""
        self.responder: Responder | None = None


class Examiner(Protocol):
    """Looks into one request with care."""

    def examine(self, api_key: int, version: int, frame: bytes, plan: Plan | None) -> Outcome:
        """What is done with a whole frame; `plan` is None for an API or version that is not let in."""

    def observe(self, frame: bytes) -> None:
        """Take note of a request that passes; the frame may be its beginning alone."""

    def take_token(self, frame: bytes) -> Token | None:
        """A frame where a bare SASL message is expected; None when it is a request after all."""


class RequestStream:
    """One connection's requests. Lawful bytes leave through `forward`; `pending` learns which answers are to come."""

    def __init__(
        self,
        plans: Plans,
        examiner: Examiner,
        pending: Pending,
        forward: Callable[[bytes | memoryview], None],
        answer: Callable[[bytes], None],
        *,
        max_frame_bytes: int,
        observed: bool = False,
    ) -> None:
        """:param answer: sends an answer of the gateway's own, framed, when its turn comes.
        :param observed: whether the examiner takes note of every request (the identity log)."""
        self._plans = plans
        self._examiner = examiner
        self._pending = pending
        self._forward = forward
        self._answer = answer
        self._max_frame_bytes = max_frame_bytes
        self._observed = observed
        self._edition = plans.edition
        self._key = -1
        """API and version of the last frame."""
        self._passed = _Passed()
        self._skip = 0
        """Bytes of a frame that passes and are still to come."""
        self._rest = bytearray()
        self._wanted = 0
        """How long `_rest` must be for another look."""
        self.expects_token = False
        """Whether the next frame is a bare SASL message."""
        self.deferred: Defer | None = None
        """A request whose verdict is being waited for; `settle` ends that."""
        self.draining = False
        self.closing: str | None = None
        """Why no more requests are taken."""

    @property
    def is_between_frames(self) -> bool:
        """Whether no frame has been passed on in part, and nothing is being judged."""
        return not self._skip and self.deferred is None

    @property
    def held_bytes(self) -> int:
        """Bytes that are here and have not been passed on."""
        return len(self._rest)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the client.

        :raises RemoteProtocolError: when they can't be Kafka's protocol: close the connection.
        """
        skip = self._skip
        if skip:
            if len(data) <= skip:
                self._skip = skip - len(data)
                self._forward(data)
                return
            self._skip = 0
            if self.draining:
                self._forward(data[:skip])
            else:
                self._scan(data, skip)
        elif self.deferred is not None or self._rest:
            self._rest += data
            if self.deferred is None and len(self._rest) >= self._wanted:
                self._scan_rest()
        elif not self.draining and self.closing is None:
            self._scan(data, 0)

    def expect_tokens(self, expected: bool) -> None:
        """Whether the frames to come are bare SASL messages."""
        self.expects_token = expected

    def settle(self, outcome: Settled) -> None:
        """The verdict that was waited for: go on."""
        deferred, self.deferred = self.deferred, None
        assert deferred is not None
        size = SIZE_BYTES + _read_size(self._rest)[0]
        framed = bytes(self._rest[:size])
        del self._rest[:size]
        self._carry_out(framed, outcome)
        if self._rest and self.closing is None:
            self._scan_rest()

    def _scan_rest(self) -> None:
        data = bytes(self._rest)
        self._rest.clear()
        if not self.draining:
            self._scan(data, 0)

    def _scan(self, data: bytes, position: int, begin: int = 0) -> None:
        """Look at every frame from `position` on; what is between `begin` and it belongs to one that passes."""
        end = len(data)
        plans, passed = self._plans, self._passed
        if plans.edition != self._edition:
            self._edition, passed.head = plans.edition, _NOTHING
        while end - position >= HEADER_BYTES and not self.expects_token:
            if data.startswith(passed.head, position):
                repeated = self._repeat(data, position)
                if repeated > position:
                    position = repeated
                    continue
            size, api_key, version, _, client_id = _read_header(data, position)
            key, stop = api_key << 16 | version, position + SIZE_BYTES + size
            plan = plans.get(key) or plans.find(api_key, version)
            after = 0 if plan is None or size > self._max_frame_bytes else _look(plan, data, position, client_id, stop)
            if plan is None or after <= 0 or client_id > plans.longest_client_id:
                self._pass(data, begin, position)
                begin = position = self._examine(data, position, stop, plan)
                if position < 0:
                    return
                continue
            self._let_pass(data, position, after, stop, key, plan)
            position = stop
        if position >= end:
            self._skip = position - end
            position = end
        self._pass(data, begin, position)
        if self.expects_token:
            self._scan_tokens(data, position)
        elif position < end:
            self._wait(data, position, HEADER_BYTES)

    def _let_pass(self, data: bytes, position: int, after: int, stop: int, key: int, plan: Plan) -> None:
        """Take note of a frame that passes: `data[position:stop]`, decided by what is before `after`."""
        if self._observed:
            self._examiner.observe(data[position + SIZE_BYTES : stop])
        if not plan.answers:
            after += ACKS_BYTES
        awaited = plan.answers or data[after - ACKS_BYTES : after] != NO_ACKS
        if awaited:
            self._pending.append((_read_size(data, position + CORRELATION_AT)[0], plan.responder))
        if key == self._key and after <= min(len(data), position + MAX_REMEMBERED_BYTES) and not self._observed:
            passed = self._passed
            passed.head = data[position : position + CORRELATION_AT]
            passed.decided = data[position + CLIENT_ID_AT : after]
            passed.length, passed.awaited, passed.responder = stop - position, awaited, plan.responder
        self._key = key

    def _repeat(self, data: bytes, position: int) -> int:
        """Pass all frames that are like the last; returns where something else begins, or the end of the last frame."""
        passed, append = self._passed, self._pending.append
        head, decided, length, responder = passed.head, passed.decided, passed.length, passed.responder
        is_like = data.startswith
        while is_like(head, position) and is_like(decided, position + CLIENT_ID_AT):
            if passed.awaited:
                append((_read_size(data, position + CORRELATION_AT)[0], responder))
            position += length
        return position

    def _pass(self, data: bytes, begin: int, end: int) -> None:
        if end - begin == len(data):
            self._forward(data)
        elif begin < end:
            self._forward(memoryview(data)[begin:end])

    def _wait(self, data: bytes, position: int, wanted: int) -> None:
        """Keep what is left until there is more of it."""
        left = len(data) - position
        if left >= SIZE_BYTES and not self.expects_token:
            self._require_size(_read_size(data, position)[0])
        self._rest += memoryview(data)[position:]
        self._wanted = wanted

    def _require_size(self, size: int) -> None:
        if not HEADER_BYTES - SIZE_BYTES <= size <= self._max_frame_bytes:
            raise RemoteProtocolError(f"Invalid receive (size = {size}): at most {self._max_frame_bytes} is let in")

    def _examine(self, data: bytes, position: int, stop: int, plan: Plan | None) -> int:
        """Look at one frame with care; returns where the next begins, or -1 when this is all for now."""
        size, api_key, version, _, _ = _read_header(data, position)
        self._require_size(size)
        if stop > len(data):
            held = len(data) - position
            self._wait(data, position, min(SIZE_BYTES + size, max(2 * held, FIRST_LOOK_BYTES)))
            return -1
        outcome = self._examiner.examine(api_key, version, data[position + SIZE_BYTES : stop], plan)
        if isinstance(outcome, Defer):
            self.deferred = outcome
            self._rest += memoryview(data)[position:]
            return -1
        self._carry_out(data[position:stop], outcome)
        return stop if self.closing is None else -1

    def _carry_out(self, framed: bytes, outcome: Settled) -> None:
        """:param framed: the request with its size."""
        correlation_id = _read_header(framed)[3]
        match outcome:
            case Pass(responder, answered):
                if answered:
                    self._pending.append((correlation_id, responder))
                self._forward(framed)
            case Replace(frame, responder, answered):
                if answered:
                    self._pending.append((correlation_id, responder))
                self._forward(_write_size(len(frame)) + frame)
            case Answer(frame):
                self._answer(_write_size(len(frame)) + frame)
            case Close(reason):
                self.closing = reason
                self._rest.clear()

    def _scan_tokens(self, data: bytes, position: int) -> None:
        """Pass bare SASL messages on, whole."""
        while self.expects_token and len(data) - position >= SIZE_BYTES:
            (size,) = _read_size(data, position)
            if not 0 <= size <= MAX_TOKEN_BYTES:
                raise RemoteProtocolError(f"a SASL message of {size} bytes")
            stop = position + SIZE_BYTES + size
            if stop > len(data):
                break
            token = self._examiner.take_token(data[position + SIZE_BYTES : stop])
            if token is None:
                self.expects_token = False
                break
            self._pending.append((None, token))
            self._forward(data[position:stop])
            position = stop
        if not self.expects_token:
            self._scan(data, position, position)
        elif position < len(data):
            self._wait(data, position, len(data) - position + 1)


def _look(plan: Plan, data: bytes, position: int, client_id: int, stop: int) -> int:
    """Read the identifiers in place; the offset after them, or less than 1 when that does not let the frame pass."""
    body = position + HEADER_BYTES + (client_id if client_id > 0 else 0)
    if plan.examined:
        return 0
    if plan.walk is None:
        return body if body <= stop else 0
    try:
        if plan.flexible:
            if data[body]:
                return 0
            body += 1
        after = plan.walk(data, body, _NOWHERE, _NOWHERE)
    except (IndexError, RemoteProtocolError):
        return 0
    return after if after + (0 if plan.answers else 2) <= min(stop, len(data)) else 0
