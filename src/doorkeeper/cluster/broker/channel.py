"""Connections to other nodes that are made anew whenever they are lost.

To another broker a request is sent once, and whoever asks decides what a failure means (InterBrokerSendThread). For
the controller it waits up to its time-out, and is sent again when the connection breaks under it
(NodeToControllerChannelManagerImpl). Each user has a channel of its own, so that a heartbeat never waits behind a
change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from doorkeeper import __version__
from doorkeeper.cluster.messages import Values, make_request
from doorkeeper.errors import NetworkError
from doorkeeper.net.requester import Requester
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import VersionRange

LOGGER: Final = logging.getLogger("doorkeeper.broker")

FIRST_BACKOFF_SECONDS: Final = 0.05
LONGEST_BACKOFF_SECONDS: Final = 1.0
CONNECT_SECONDS: Final = 5.0
SOFTWARE: Final = "doorkeeper-broker"
"""By this name the controller knows its brokers, whose connections carry many clients' requests."""


class NodeChannel:
    """One user's way to a node."""

    def __init__(self, name: str, node_id: int, locate: Callable[[], tuple[str, int]]) -> None:
        """:param locate: where the node listens; asked before every connection. NetworkError if nobody knows."""
        self._client_id = f"{name}-{node_id}"
        self._locate = locate
        self._requester: Requester | None = None
        self._opening: asyncio.Task[Requester] | None = None
        self._closed = False

    async def ask_once(self, api_key: int, versions: VersionRange, values: Values, *, timeout: float) -> Any:
        """Send a request at the highest version that both sides speak, and read its response.

        :raises NetworkError: when the node can't be reached or does not answer within the time-out.
        :raises RemoteProtocolError: when it does not speak the API.
        """
        requester = await self._connected()
        version = requester.version_for(api_key, versions)
        return await requester.send(make_request(api_key, version, values), timeout=timeout)

    async def _connected(self) -> Requester:
        """The open connection; all who ask while it is being opened wait for the same one."""
        if self._closed:
            raise NetworkError("the broker is shutting down")
        if self._requester is not None and self._requester.is_open:
            return self._requester
        if self._opening is None or self._opening.done():
            self._opening = asyncio.get_running_loop().create_task(self._open())
        return await asyncio.shield(self._opening)

    async def _open(self) -> Requester:
        host, port = self._locate()
        requester = await Requester.connect(host, port, client_id=self._client_id, timeout=CONNECT_SECONDS)
        try:
            await requester.negotiate(SOFTWARE, __version__, timeout=CONNECT_SECONDS)
        except BaseException:
            await requester.close()
            raise
        self._requester = requester
        return requester

    async def close(self) -> None:
        """Answer nobody any more."""
        self._closed = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._requester is not None:
            await self._requester.close()


class ControllerChannel(NodeChannel):
    """One user's way to the controller."""

    async def ask(self, api_key: int, versions: VersionRange, values: Values, *, timeout: float) -> Any:
        """Like `ask_once`, and again until the time-out.

        :raises NetworkError: when the controller has not answered within the time-out.
        :raises RemoteProtocolError: when it does not speak the API.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            try:
                left = max(deadline - loop.time(), FIRST_BACKOFF_SECONDS)
                return await self.ask_once(api_key, versions, values, timeout=left)
            except NetworkError as error:
                if self._closed or loop.time() + backoff > deadline:
                    raise NetworkError(f"the controller did not answer {api_name(api_key)}: {error}") from error
                LOGGER.debug("%s: %s, trying again", self._client_id, error)
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)
