"""One connection to one node: ApiVersions, SASL if asked for, then one request at a time.

Promised: a call either returns the decoded answer or raises; after anything but an answer the connection is closed, so
an answer is never taken for another request's.
"""

from __future__ import annotations

import asyncio
import secrets
import struct
from typing import TYPE_CHECKING, Any, Final

from doorkeeper import __version__
from doorkeeper.client import messages, sasl
from doorkeeper.client.errors import NetworkError, RequestTimedOutError, UnsupportedVersionError, raise_for
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.codec import decode_response, encode_request, read_correlation_id
from doorkeeper.wire.framing import MAX_FRAME_BYTES, frame
from doorkeeper.wire.messages import api_name, message_classes, newest_version, oldest_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.client.settings import ClientSettings

SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
SASL_AUTHENTICATE: Final = 36
_API_VERSIONS_VERSION: Final = 3
_MARKERS: Final = (19, 32, 37, 44)  # CreateTopics, DescribeConfigs, CreatePartitions, IncrementalAlterConfigs
_read_size: Final = struct.Struct(">i").unpack


class Channel:
    """See the module's docstring. Made by `connect`."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, settings: ClientSettings, name: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._settings = settings
        self._name = name
        self._turn = asyncio.Lock()
        self._correlation_id = 0
        self._versions: dict[int, int] = {API_VERSIONS: _API_VERSIONS_VERSION}
        self.closed = False

    def version_of(self, api_key: int) -> int:
        """The version that requests of this API have on this connection.

        :raises UnsupportedVersionError: when the node does not offer one that we speak.
        """
        version = self._versions.get(api_key)
        if version is None:
            raise UnsupportedVersionError(f"The node at {self._name} does not support {api_name(api_key)}")
        return version

    async def request(self, api_key: int, values: Mapping[str, Any]) -> Any:
        """Send a request and return its answer, whose error codes are plain numbers.

        :raises ResourceIdentifierTooLargeError: for a string that no request can carry; nothing is sent.
        :raises NetworkError: when the connection is lost; :raises RequestTimedOutError: when no answer comes in time.
        """
        version = self.version_of(api_key)
        body = messages.build(message_classes(api_key, version).request, values)
        messages.require_fits(body)
        return await self._exchange(api_key, version, body)

    async def _exchange(self, api_key: int, version: int, body: Any) -> Any:
        answered = False
        try:
            async with self._turn, asyncio.timeout(self._settings.request_timeout):
                if self.closed:
                    raise NetworkError(f"The connection to {self._name} was closed")
                self._correlation_id += 1
                self._writer.write(frame(encode_request(body, self._correlation_id, self._settings.client_id)))
                await self._writer.drain()
                answer = await self._read_frame()
                if read_correlation_id(answer) != self._correlation_id:
                    raise NetworkError(f"{self._name} answered another request than the one sent")
            answered = True
            return _decode(api_key, version, answer, self._name)
        except TimeoutError:
            seconds = self._settings.request_timeout
            raise RequestTimedOutError(
                f"{self._name} did not answer {api_name(api_key)} within {seconds:g} s"
            ) from None
        except (OSError, EOFError) as error:
            raise NetworkError(f"The connection to {self._name} was lost: {error!r}") from error
        finally:
            if not answered:
                self.close()

    async def _read_frame(self) -> bytes:
        (size,) = _read_size(await self._reader.readexactly(4))
        if not 4 <= size <= MAX_FRAME_BYTES:
            raise NetworkError(f"{self._name} sent a frame of {size} bytes: it does not speak Kafka's protocol here")
        return await self._reader.readexactly(size)

    def close(self) -> None:
        """Close at once; what is under way fails with NetworkError."""
        self.closed = True
        self._writer.close()

    async def wait_closed(self) -> None:
        """Close, and wait for the transport to be gone."""
        self.close()
        try:
            await self._writer.wait_closed()
        except (OSError, asyncio.CancelledError):
            return

    async def negotiate(self) -> None:
        """Learn the node's versions, then log in."""
        software = {"client_software_name": "doorkeeper", "client_software_version": __version__}
        answer = await self.request(API_VERSIONS, software)
        if answer.error_code == UnsupportedVersionError.code:  # KIP-511: the node answers in version 0 what it knows
            self._versions[API_VERSIONS] = 0
            answer = await self.request(API_VERSIONS, {})
        raise_for(answer.error_code)
        self._versions = choose_versions({one.api_key: (one.min_version, one.max_version) for one in answer.api_keys})
        if self._settings.sasl is not None:
            await self._authenticate()

    async def _authenticate(self) -> None:
        credentials = self._settings.sasl
        assert credentials is not None
        answer = await self.request(SASL_HANDSHAKE, {"mechanism": credentials.mechanism})
        offered = ", ".join(answer.mechanisms)
        raise_for(answer.error_code, f"The server offers {offered}, not {credentials.mechanism}")
        dialogue = sasl.exchange(credentials, secrets.token_urlsafe(24))
        message = next(dialogue)
        while True:
            answer = await self.request(SASL_AUTHENTICATE, {"auth_bytes": message})
            raise_for(answer.error_code, answer.error_message)
            try:
                message = dialogue.send(answer.auth_bytes)
            except StopIteration:
                return


def _decode(api_key: int, version: int, answer: bytes, name: str) -> Any:
    """The answer; an ApiVersions answer to a version that the node does not know comes in version 0."""
    if api_key == API_VERSIONS and version > 0 and answer[4:6] == b"\0\x23":
        version = 0
    try:
        return decode_response(api_key, version, answer)
    except RemoteProtocolError as error:
        raise NetworkError(f"{name} answered {api_name(api_key)} with what can't be read: {error}") from error


def choose_versions(offered: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """The version to use of each API: the newest that both sides know.

    The versions that KIP-1233 adds are used with a node that offers them all along: a later Kafka may give one of these
    numbers another meaning, but hardly all.
    """
    known = {api_key: _known(api_key) for api_key in offered}
    ours = all(api_key in offered and offered[api_key][1] == newest_version(api_key) + 1 for api_key in _MARKERS)
    chosen: dict[int, int] = {}
    for api_key, span in known.items():
        if span is None:
            continue
        low, high = offered[api_key]
        bumped = ours and high == span[1] + 1 and api_key != API_VERSIONS
        version = high if bumped else min(high, span[1])
        if version >= max(low, span[0]):
            chosen[api_key] = version
    return chosen


def _known(api_key: int) -> tuple[int, int] | None:
    from doorkeeper.wire.messages import API_KEYS

    return (oldest_version(api_key), newest_version(api_key)) if api_key in API_KEYS else None


async def connect(host: str, port: int, settings: ClientSettings) -> Channel:
    """Open a connection that is ready for requests.

    :raises NetworkError: when nobody answers there; :raises SaslAuthenticationError: when we are not let in.
    """
    name = f"{host}:{port}"
    try:
        async with asyncio.timeout(settings.request_timeout):
            reader, writer = await asyncio.open_connection(
                host, port, ssl=settings.tls, server_hostname=host if settings.tls else None
            )
    except TimeoutError:
        raise NetworkError(f"{name} did not accept a connection within {settings.request_timeout:g} s") from None
    except OSError as error:
        raise NetworkError(f"Can't connect to {name}: {error.strerror or error}") from error
    channel = Channel(reader, writer, settings, name)
    try:
        await channel.negotiate()
    except BaseException:
        channel.close()
        raise
    return channel
