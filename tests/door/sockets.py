"""Requests of any version, ours included, over a socket: what is sent is not checked, what comes back is decoded."""

from __future__ import annotations

import socket
import struct
from typing import Any, Self

from doorkeeper.wire.codec import decode_response, encode_request

SECONDS = 20


class ClosedByServerError(Exception):
    """The server has closed the connection instead of an answer."""


class Client:
    """One connection; connects again after the server has closed it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, body: Any, client_id: str | None = "test") -> Any:
        """Send a request and read its answer at the same version, codes as plain numbers.

        :raises ClosedByServerError: when there is none.
        """
        self.send(body, client_id)
        api_key, version = type(body).__api_key__, type(body).__version__
        (size,) = struct.unpack(">i", self._read(4))
        return decode_response(api_key, version, self._read(size))

    def send(self, body: Any, client_id: str | None = "test") -> None:
        """Send a request that gets no answer."""
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=SECONDS)
        frame = encode_request(body, 7, client_id)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def is_closed_by_server(self) -> bool:
        """Whether the server closes now without another byte."""
        try:
            self._read(1)
        except ClosedByServerError:
            return True
        return False

    def _read(self, size: int) -> bytes:
        assert self._socket is not None
        data = b""
        while len(data) < size:
            try:
                chunk = self._socket.recv(size - len(data))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                self.close()
                raise ClosedByServerError
            data += chunk
        return data
