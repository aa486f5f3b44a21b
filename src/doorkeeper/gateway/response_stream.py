"""Upstream's bytes: each response is matched with its request, and passes as it came unless somebody rewrites it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.addresses import Cursor, TailStream
from doorkeeper.gateway.outcomes import Pending
from doorkeeper.gateway.responses import AddressedAtEnd, Surroundings, Token
from doorkeeper.wire.framing import SIZE_BYTES

HEADER_BYTES: Final = 8
"""Size and correlation id."""
_read_header = struct.Struct(">ii").unpack_from
_read_size = struct.Struct(">i").unpack_from
_write_size = struct.Struct(">i").pack


class _Following:
    """A response that passes while it arrives, and whose end is rewritten."""

    __slots__ = ("cursor", "end", "missing", "responder", "stream")

    def __init__(self, responder: AddressedAtEnd, chunk: bytes, position: int, missing: int) -> None:
        self.responder = responder
        self.cursor, self.stream = responder.begin(chunk, position + SIZE_BYTES)
        self.missing = missing
        """Bytes of the response that are not in the cursor's chunk."""
        self.end: bytearray | None = None
        """The end, as far as it is here, once it has begun."""


class ResponseStream:
    """One connection's responses; they leave through `forward`."""

    def __init__(
        self,
        pending: Pending,
        around: Surroundings,
        forward: Callable[[bytes | memoryview], None],
        *,
        max_frame_bytes: int,
    ) -> None:
        self._pending = pending
        self._around = around
        self._forward = forward
        self._max_frame_bytes = max_frame_bytes
        self._skip = 0
        self._rest = bytearray()
        self._wanted = 0
        self._following: _Following | None = None

    @property
    def is_between_frames(self) -> bool:
        """Whether no response has been passed on in part."""
        return not self._skip and self._following is None

    @property
    def held_bytes(self) -> int:
        """Bytes that are here and have not been passed on."""
        return len(self._rest)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of upstream.

        :raises RemoteProtocolError: when they answer nothing that was asked: close the connection.
        """
        skip = self._skip
        if skip:
            if len(data) < skip:
                self._skip = skip - len(data)
                self._forward(data)
                return
            self._skip = 0
            if len(data) == skip:
                self._forward(data)
                self.flush_own()
                return
            self._scan(data, skip)
        elif self._following is not None:
            self._follow(self._following, data)
        elif self._rest:
            self._rest += data
            if len(self._rest) >= self._wanted:
                data = bytes(self._rest)
                self._rest.clear()
                self._scan(data, 0)
        else:
            self._scan(data, 0)

    def answer(self, framed: bytes) -> None:
        """Send an answer of the gateway's own, after all that was asked before."""
        if self._pending or not self.is_between_frames:
            self._pending.append((None, framed))
        else:
            self._forward(framed)

    def flush_own(self) -> None:
        """Send the gateway's own answers whose turn it is."""
        pending = self._pending
        while pending and type(pending[0][1]) is bytes:
            self._forward(pending.popleft()[1])

    def _scan(self, data: bytes, position: int, begin: int = 0) -> None:
        end, pending = len(data), self._pending
        while end - position >= HEADER_BYTES:
            size, correlation_id = _read_header(data, position)
            if pending and type(pending[0][1]) is bytes:
                self._pass(data, begin, position)
                begin = position
                self.flush_own()
            if not pending:
                raise RemoteProtocolError("a response to nothing that was asked")
            expected, action = pending[0]
            if (expected is not None and correlation_id != expected) or not 0 <= size <= self._max_frame_bytes:
                raise RemoteProtocolError(f"response {correlation_id} of {size} bytes, where {expected} was expected")
            stop = position + SIZE_BYTES + size
            if action is None:
                pending.popleft()
                if stop > end:
                    self._skip = stop - end
                    self._pass(data, begin, end)
                    return
                position = stop
                continue
            done = self._act(data, begin, position, stop, action)
            if done < 0:
                return
            if done:
                begin = stop
            position = stop
        self._pass(data, begin, position)
        self.flush_own()
        if position < end:
            self._scan_short(data, position)

    def _scan_short(self, data: bytes, position: int) -> None:
        """Less than a header: a bare SASL message may be as short as its size alone."""
        waiting = self._pending[0][1] if self._pending else None
        if len(data) - position >= SIZE_BYTES and isinstance(waiting, Token):
            (size,) = _read_size(data, position)
            stop = position + SIZE_BYTES + size
            if stop <= len(data):
                self._pending.popleft()
                waiting.rewrite(data[position + SIZE_BYTES : stop], self._around)
                self._forward(data[position:stop])
                self.flush_own()
                position = stop
        self._rest += memoryview(data)[position:]
        self._wanted = len(self._rest) + 1

    def _act(self, data: bytes, begin: int, position: int, stop: int, action: Any) -> int:
        """Let the responder look at a response. -1: it goes on arriving; 0: it passes as it came; 1: it was sent."""
        if stop > len(data):
            self._pass(data, begin, position)
            if action.streams:
                self._pending.popleft()
                self._follow(_Following(action, data, position, stop - len(data)), data, position)
            else:
                self._rest += memoryview(data)[position:]
                self._wanted = stop - position
            return -1
        self._pending.popleft()
        start = position + SIZE_BYTES
        rewritten = None
        if not action.streams or action.speaks(data, start, stop):
            rewritten = action.rewrite(data[start:stop], self._around)
        if rewritten is None:
            return 0
        self._pass(data, begin, position)
        self._forward(_write_size(len(rewritten)) + rewritten)
        return 1

    def _follow(self, following: _Following, data: bytes, position: int | None = None) -> None:
        """Pass on what has arrived of a response, all but its end.

        :param position: where the response begins, when it begins in this chunk.
        """
        begin = position
        if begin is None:
            begin = 0
            following.cursor.position -= len(following.cursor.chunk)
            following.cursor.chunk = data
            following.missing -= len(data)
        stop = len(data) + min(following.missing, 0)
        if following.end is None:
            begin = self._advance(following, following.stream, following.cursor, data, begin, stop)
        if following.end is not None:
            following.end += memoryview(data)[begin:stop]
        if following.missing > 0:
            self._following = following
            return
        self._following = None
        if following.end is None:
            raise RemoteProtocolError("a response that ends before its last field")
        self._forward(following.responder.fit(bytes(following.end), self._around))
        self.flush_own()
        if stop < len(data):
            self._scan(data, stop, stop)

    def _advance(
        self, following: _Following, stream: TailStream, cursor: Cursor, data: bytes, begin: int, stop: int
    ) -> int:
        """Pass on what is before the end; returns where the rest begins."""
        try:
            next(stream)
        except StopIteration:
            if cursor.position >= stop:
                raise RemoteProtocolError("a response that ends before its last field") from None
            following.end = bytearray()
            stop = cursor.position
        self._pass(data, begin, stop)
        return stop

    def _pass(self, data: bytes, begin: int, end: int) -> None:
        if end - begin == len(data):
            self._forward(data)
        elif begin < end:
            self._forward(memoryview(data)[begin:end])
