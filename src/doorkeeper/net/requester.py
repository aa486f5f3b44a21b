"""An outgoing connection: requests out, futures of responses back. Reconnecting is its caller's business."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Self, cast

from doorkeeper.errors import LocalProtocolError, NetworkError, RemoteProtocolError
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.api_versions import SERVED as API_VERSIONS_RANGE
from doorkeeper.wire.api_versions import common_version
from doorkeeper.wire.codec import decode_response
from doorkeeper.wire.connection import ClientConnection, Closed
from doorkeeper.wire.events import ProtocolViolation
from doorkeeper.wire.framing import MAX_FRAME_BYTES, NEED_DATA, Frame
from doorkeeper.wire.messages import API_VERSIONS, api_name, message_classes
from doorkeeper.wire.registry import VersionRange

CONNECT_SECONDS: Final = 10.0
"""Kafka's `socket.connection.setup.timeout.ms`."""
REQUEST_SECONDS: Final = 30.0
"""Kafka's `request.timeout.ms`."""
MAX_AWAITED: Final = 1000
"""Requests that may await their response on one connection."""


class Requester(asyncio.Protocol):
    """One connection to one server. Responses come in the order of the requests; error codes in them are numbers."""

    def __init__(self, client_id: str | None, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Use `Requester.connect`."""
        self.address = ""
        self.versions: Mapping[int, VersionRange] = MappingProxyType({})
        """What the server serves, once `negotiate` has asked."""
        self._connection = ClientConnection(client_id, max_frame_bytes=max_frame_bytes)
        self._futures: dict[int, asyncio.Future[Frame]] = {}
        self._transport: asyncio.Transport | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        *,
        client_id: str | None = None,
        timeout: float = CONNECT_SECONDS,
        tls: ssl.SSLContext | None = None,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> Self:
        """Open a connection.

        :raises NetworkError: when there is none to be had within the time-out.
        """
        loop = asyncio.get_running_loop()
        address = f"{host}:{port}"
        try:
            async with asyncio.timeout(timeout):
                _, made = await loop.create_connection(
                    lambda: cls(client_id, max_frame_bytes=max_frame_bytes), host, port, ssl=tls
                )
        except TimeoutError:
            raise NetworkError(f"{address}: no connection within {timeout:g} s") from None
        except OSError as error:
            raise NetworkError(f"{address}: {error.strerror or error}") from error
        made.address = address
        return made

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and not isinstance(self._connection.state, Closed)

    async def send(self, body: Any, *, timeout: float = REQUEST_SECONDS) -> Any:
        """Send a request and read its response. A time-out closes the connection, for its order is lost to us.

        :raises NetworkError: when the connection ends or the time is up.
        :raises LocalProtocolError: when the request can't be written.
        :raises RemoteProtocolError: when the response can't be read.
        """
        frame = await self.send_frame(body, timeout=timeout)
        return decode_response(body.__api_key__, body.__version__, frame)

    async def send_frame(self, body: Any, *, timeout: float = REQUEST_SECONDS) -> Frame:
        """Like `send`, but leave the response undecoded."""
        try:
            async with asyncio.timeout(timeout):
                await self._may_write.wait()
                return await self.start(body)
        except TimeoutError:
            name = api_name(body.__api_key__)
            self._end(f"no response to {name} within {timeout:g} s")
            raise NetworkError(f"{self.address}: no response to {name} within {timeout:g} s") from None

    def start(self, body: Any) -> asyncio.Future[Frame]:
        """Send a request now; the future is its response, undecoded.

        :raises LocalProtocolError: when it can't be written, or too many responses are awaited.
        :raises NetworkError: when the connection has ended.
        """
        transport = self._writable()
        if len(self._futures) >= MAX_AWAITED:
            raise LocalProtocolError(f"{MAX_AWAITED} responses are awaited already")
        correlation_id, encoded = self._connection.send_request(body)
        future: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._futures[correlation_id] = future
        transport.write(encoded)
        return future

    def post(self, body: Any) -> None:
        """Send a request that gets no response (Produce with acks=0)."""
        transport = self._writable()
        _, encoded = self._connection.send_request(body, expects_response=False)
        transport.write(encoded)

    async def negotiate(
        self, software_name: str, software_version: str, *, timeout: float = REQUEST_SECONDS
    ) -> Mapping[int, VersionRange]:
        """Ask the server what it serves, at the highest version that it understands (KIP-511).

        :raises RemoteProtocolError: when it refuses even that.
        """
        version = API_VERSIONS_RANGE.highest
        code, ranges = await self._ask_versions(version, software_name, software_version, timeout)
        if code == ErrorCode.UNSUPPORTED_VERSION and version > 0:
            ours = VersionRange(API_VERSIONS_RANGE.lowest, API_VERSIONS_RANGE.highest)
            version = common_version(ours, ranges.get(API_VERSIONS)) or 0
            code, ranges = await self._ask_versions(version, software_name, software_version, timeout)
        if code != ErrorCode.NONE:
            raise RemoteProtocolError(f"{self.address}: ApiVersions answered error {code}")
        self.versions = MappingProxyType(ranges)
        return self.versions

    async def _ask_versions(
        self, version: int, name: str, software_version: str, timeout: float
    ) -> tuple[int, dict[int, VersionRange]]:
        request = message_classes(API_VERSIONS, version).request
        named = {"client_software_name": name, "client_software_version": software_version} if version >= 3 else {}
        frame = await self.send_frame(request(**named), timeout=timeout)
        # UNSUPPORTED_VERSION is always said in version 0; the code stands first in every version.
        refused = bytes(frame[4:6]) == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
        body = decode_response(API_VERSIONS, 0 if refused else version, frame)
        return body.error_code, {one.api_key: VersionRange(one.min_version, one.max_version) for one in body.api_keys}

    def version_for(self, api_key: int, ours: VersionRange) -> int:
        """The version to ask an API at, after `negotiate`.

        :raises RemoteProtocolError: when there is none that both speak.
        """
        version = common_version(ours, self.versions.get(api_key))
        if version is None:
            raise RemoteProtocolError(
                f"{self.address} does not serve {api_name(api_key)} version {ours.lowest} to {ours.highest}",
                ErrorCode.UNSUPPORTED_VERSION,
            )
        return version

    async def close(self) -> None:
        """Close, and wait until it is."""
        self._end("closed")
        if self._transport is not None:
            await asyncio.shield(self._gone)

    def _writable(self) -> asyncio.Transport:
        if self._transport is None or isinstance(self._connection.state, Closed):
            raise NetworkError(f"{self.address}: the connection is closed")
        return self._transport

    def _end(self, reason: str) -> None:
        self._connection.close(reason)
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.done():
                future.set_exception(NetworkError(f"{self.address}: {reason}"))
                # An abandoned future is no news: whoever awaited it has been told.
                future.exception()
        if self._transport is not None:
            self._transport.close()

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast("asyncio.Transport", transport)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        self._connection.receive_data(data)
        while (event := self._connection.next_event()) is not NEED_DATA:
            if isinstance(event, ProtocolViolation):
                self._end(event.reason)
                return
            future = self._futures.pop(event.correlation_id)
            if not future.done():
                future.set_result(event.frame)

    def connection_lost(self, error: Exception | None) -> None:
        self._end("the server closed the connection" if error is None else str(error))
        self._transport = None
        self._may_write.set()
        if not self._gone.done():
            self._gone.set_result(None)
