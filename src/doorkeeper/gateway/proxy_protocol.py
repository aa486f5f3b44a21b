"""The PROXY protocol, version 2 (HAProxy's proxy-protocol.txt): who the client is, told by a load balancer in front.

    signature (12 bytes), version and command (1), family and transport (1), length of the rest (2), the rest

Version 1, which is text, is refused: it is read by nobody who can't read version 2.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.client_connection import ClientConnection

LOGGER: Final = logging.getLogger("doorkeeper.gateway")
SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"
FIXED_BYTES: Final = 16
MAX_BYTES: Final = 4096
"""Addresses take 36 bytes; the rest are notes of the load balancer's."""
HEADER_SECONDS: Final = 10.0
_LOCAL, _PROXY = 0x20, 0x21
_ADDRESS_SIZES: Final = {1: 4, 2: 16}
"""AF_INET and AF_INET6: bytes of an address."""


class Source(NamedTuple):
    """The client behind the load balancer."""

    address: str
    port: int


def rest_size(fixed: bytes) -> int:
    """How many bytes follow the first 16.

    :raises RemoteProtocolError: when these begin no header of version 2.
    """
    if fixed[:12] != SIGNATURE or fixed[12] not in (_LOCAL, _PROXY):
        raise RemoteProtocolError("a connection that does not begin with a PROXY protocol header of version 2")
    size = int.from_bytes(fixed[14:16], "big")
    if size > MAX_BYTES:
        raise RemoteProtocolError(f"a PROXY protocol header of {size} bytes")
    return size


def source_of(fixed: bytes, rest: bytes) -> Source | None:
    """The client's address; None when the load balancer speaks for itself (health checks), or of another family.

    :raises RemoteProtocolError: when the addresses are cut off.
    """
    family = fixed[13] >> 4
    size = _ADDRESS_SIZES.get(family)
    if fixed[12] == _LOCAL or size is None:
        return None
    if len(rest) < 2 * size + 4:
        raise RemoteProtocolError("a PROXY protocol header without its addresses")
    address = ipaddress.ip_address(rest[:size])
    return Source(str(address), int.from_bytes(rest[2 * size : 2 * size + 2], "big"))


class ProxyHeaderReader(asyncio.BufferedProtocol):
    """Reads the header, not one byte more, and hands the connection on: to TLS, if there is to be any."""

    def __init__(self, make: Callable[[], ClientConnection], tls: ssl.SSLContext | None) -> None:
        self._make = make
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray(FIXED_BYTES)
        self._filled = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._handing: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._deadline = self._loop.call_later(HEADER_SECONDS, self._transport.abort)

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._filled < len(self._buffer):
            return
        try:
            if len(self._buffer) == FIXED_BYTES:
                # A new one: uvloop still holds the old one, which so can't grow.
                self._buffer = bytearray(self._buffer + bytes(rest_size(bytes(self._buffer))))
                if len(self._buffer) > FIXED_BYTES:
                    return
            source = source_of(bytes(self._buffer[:FIXED_BYTES]), bytes(self._buffer[FIXED_BYTES:]))
        except RemoteProtocolError as error:
            self._refuse(error.reason)
            return
        self._hand_on(source)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def _refuse(self, reason: str) -> None:
        assert self._transport is not None
        LOGGER.warning("refused %s: %s", self._transport.get_extra_info("peername"), reason)
        self._transport.abort()

    def _hand_on(self, source: Source | None) -> None:
        assert self._transport is not None
        assert self._deadline is not None
        self._deadline.cancel()
        connection = self._make()
        if source is not None:
            connection.address = source.address
        if self._tls is None:
            self._transport.set_protocol(connection)
            connection.connection_made(self._transport)
        else:
            self._transport.pause_reading()
            self._handing = self._loop.create_task(self._start_tls(connection, self._transport, self._tls))

    async def _start_tls(self, connection: ClientConnection, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            secure = await self._loop.start_tls(transport, connection, tls, server_side=True)
        except (OSError, ssl.SSLError) as error:
            LOGGER.info("%s: no TLS: %s", connection.address, error)
            transport.abort()
            return
        if secure is not None:
            connection.connection_made(secure)
