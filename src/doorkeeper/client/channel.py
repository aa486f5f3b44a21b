"""One connection to one node: ApiVersions, SASL if asked for, then requests at the versions that the node speaks."""

from __future__ import annotations

import secrets
import ssl
from typing import TYPE_CHECKING, Any, Final

from doorkeeper import __version__, errors
from doorkeeper.client import messages, sasl
from doorkeeper.client.errors import NetworkError, TlsHandshakeError, UnsupportedVersionError, raise_for
from doorkeeper.net.requester import Requester
from doorkeeper.wire.messages import (
    API_KEYS,
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    api_name,
    message_classes,
    newest_version,
    oldest_version,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.client.settings import ClientSettings
    from doorkeeper.wire.registry import VersionRange

_MARKERS: Final = (19, 32, 37, 44)  # CreateTopics, DescribeConfigs, CreatePartitions, IncrementalAlterConfigs


class Channel:
    """A connection that is ready for requests; made by `connect`. Requests may overlap."""

    def __init__(self, requester: Requester, settings: ClientSettings) -> None:
        self._requester = requester
        self._settings = settings
        self._versions: dict[int, int] = {}

    @property
    def closed(self) -> bool:
        """Whether a new connection is needed."""
        return not self._requester.is_open

    def version_of(self, api_key: int) -> int:
        """The version that requests of this API have on this connection.

        :raises UnsupportedVersionError: when the node does not offer one that we speak.
        """
        version = self._versions.get(api_key)
        if version is None:
            raise UnsupportedVersionError(f"The node at {self._requester.address} does not support {api_name(api_key)}")
        return version

    async def request(self, api_key: int, values: Mapping[str, Any]) -> Any:
        """Send a request and return its answer, whose error codes are plain numbers.

        :raises ResourceIdentifierTooLargeError: for a string that no request can carry; nothing is sent.
        :raises NetworkError: when the connection is lost, no answer comes in time, or it can't be read.
        """
        version = self.version_of(api_key)
        body = messages.build(message_classes(api_key, version).request, values)
        messages.require_fits(body)
        try:
            return await self._requester.send(body, timeout=self._settings.request_timeout)
        except (errors.NetworkError, errors.RemoteProtocolError) as error:
            await self.close()
            raise NetworkError(str(error)) from error

    async def close(self) -> None:
        """Close; what is under way fails with NetworkError."""
        await self._requester.close()

    async def negotiate(self) -> None:
        """Learn the node's versions, then log in."""
        seconds = self._settings.request_timeout
        self._versions = choose_versions(await self._requester.negotiate("doorkeeper", __version__, timeout=seconds))
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


def choose_versions(offered: Mapping[int, VersionRange]) -> dict[int, int]:
    """The version to use of each API: the newest that both sides know.

    The versions that KIP-1233 adds are used with a node that offers them all along: a later Kafka may give one of these
    numbers another meaning, but hardly all.
    """
    ours = all(api_key in offered and offered[api_key].highest == newest_version(api_key) + 1 for api_key in _MARKERS)
    chosen: dict[int, int] = {}
    for api_key in API_KEYS.intersection(offered):
        lowest, highest = offered[api_key]
        newest = newest_version(api_key)
        bumped = ours and highest == newest + 1 and api_key != API_VERSIONS
        version = highest if bumped else min(highest, newest)
        if version >= max(lowest, oldest_version(api_key)):
            chosen[api_key] = version
    return chosen


async def connect(host: str, port: int, settings: ClientSettings) -> Channel:
    """Open a connection that is ready for requests.

    :raises NetworkError: when nobody answers there.
    :raises TlsHandshakeError, SaslAuthenticationError: when one of the two does not trust the other.
    """
    try:
        requester = await Requester.connect(
            host, port, client_id=settings.client_id, timeout=settings.connect_timeout, tls=settings.tls
        )
    except errors.NetworkError as error:
        if isinstance(error.__cause__, ssl.SSLError):
            raise TlsHandshakeError(f"{host}:{port}: {error.__cause__}") from error
        raise NetworkError(str(error)) from error
    channel = Channel(requester, settings)
    try:
        await channel.negotiate()
    except (errors.NetworkError, errors.RemoteProtocolError) as error:
        await channel.close()
        raise NetworkError(str(error)) from error
    except BaseException:
        await channel.close()
        raise
    return channel
