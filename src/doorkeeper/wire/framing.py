"""Length-prefixed frames: int32 size, then that many bytes (org.apache.kafka.common.network.NetworkReceive).

A frame that arrives inside one chunk is handed on without being copied; one that spans chunks is gathered once.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import Final, Literal, TypeAlias

from doorkeeper.errors import RemoteProtocolError

MEBIBYTES: Final = 1024 * 1024
MAX_FRAME_BYTES: Final = 100 * MEBIBYTES
"""Kafka's default of `socket.request.max.bytes`."""

SMALL_FRAME_BYTES: Final = 4096
"""Up to here a frame is a `bytes` of its own: copying it costs less than a view does, and reading it is faster."""

SIZE_BYTES: Final = 4
_read_size = struct.Struct(">i").unpack_from
_write_size = struct.Struct(">i").pack

Frame: TypeAlias = bytes | memoryview
"""The bytes of one message without its size; a read-only view when it is large."""


class NeedData(Enum):
    """The type of `NEED_DATA`."""

    NEED_DATA = "NEED_DATA"

    def __repr__(self) -> str:
        return "NEED_DATA"


NEED_DATA: Final = NeedData.NEED_DATA
"""There is no whole frame (or event) yet: feed more bytes."""


def frame(*parts: bytes | memoryview) -> bytes:
    """One frame around the given parts."""
    return b"".join((_write_size(sum(map(len, parts))), *parts))


class FrameReader:
    """Chunks in, frames out; bytes that belong to no whole frame yet wait inside."""

    __slots__ = ("_chunk", "_gathering", "_missing", "_position", "max_bytes")

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self.max_bytes = max_bytes
        """The fence; counts for frames whose size has not been looked at."""
        self._chunk: bytes | bytearray = b""
        self._position = 0
        self._gathering: bytearray | None = None
        """The beginning of a frame, when the chunk it began in has ended."""
        self._missing = 0
        """How many bytes `_gathering` lacks to be worth a look."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes received and not yet handed out."""
        gathered = 0 if self._gathering is None else len(self._gathering)
        return len(self._chunk) - self._position + gathered

    def receive_data(self, chunk: bytes) -> None:
        """Take the next bytes of the stream. Views of earlier frames stay valid."""
        if self._position < len(self._chunk):
            self._wait(0)
        gathering = self._gathering
        if gathering is None:
            self._chunk = chunk
            self._position = 0
            return
        gathering += chunk
        self._missing -= len(chunk)
        if self._missing <= 0:
            self._chunk = gathering
            self._position = 0
            self._gathering = None

    def next_frame(self) -> Frame | Literal[NeedData.NEED_DATA]:
        """The next whole frame.

        :raises RemoteProtocolError: for a size that is negative or above the fence; Kafka closes the connection.
        """
        chunk, start = self._chunk, self._position
        available = len(chunk) - start
        if available < SIZE_BYTES:
            return self._wait(SIZE_BYTES - available) if available else NEED_DATA
        (size,) = _read_size(chunk, start)
        if not 0 <= size <= self.max_bytes:
            raise RemoteProtocolError(self._refusal(size))
        end = start + SIZE_BYTES + size
        if end > len(chunk):
            return self._wait(end - len(chunk))
        self._position = end
        start += SIZE_BYTES
        if size <= SMALL_FRAME_BYTES:
            found: Frame = bytes(chunk[start:end])
        else:
            found = memoryview(chunk).toreadonly()[start:end]
        if end == len(chunk):
            self._chunk = b""
            self._position = 0
        return found

    def _refusal(self, size: int) -> str:
        if size < 0:
            return f"Invalid receive (size = {size})"
        return f"Invalid receive (size = {size} larger than {self.max_bytes})"

    def _wait(self, missing: int) -> Literal[NeedData.NEED_DATA]:
        """Move what is left of the chunk to a buffer that can grow (views of the chunk forbid it to)."""
        self._missing = missing
        self._gathering = bytearray(memoryview(self._chunk)[self._position :])
        self._chunk = b""
        self._position = 0
        return NEED_DATA
