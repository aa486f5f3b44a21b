"""The other brokers of the cluster, as one of them reaches them.

Brokers do not log in to each other: where the listener between brokers asks for that, another without is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from doorkeeper.cluster.broker.channel import NodeChannel
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.messages import Values
from doorkeeper.errors import NetworkError
from doorkeeper.wire.registry import VersionRange

PLAINTEXT: Final = 0
"""Kafka's number (SecurityProtocol)."""


class BrokerPeers:
    """Channels to brokers, each opened with the first question."""

    def __init__(self, node_id: int, listener: str, image: Callable[[], MetadataImage], timeout: float) -> None:
        """:param listener: `inter.broker.listener.name`.
        :param timeout: `request.timeout.ms`, in seconds.
        """
        self._node_id = node_id
        self._listener = listener
        self._image = image
        self._timeout = timeout
        self._channels: dict[int, NodeChannel] = {}

    async def ask(self, broker_id: int, api_key: int, versions: VersionRange, values: Values) -> Any:
        """Ask a broker, once.

        :raises NetworkError: when it can't be reached.
        :raises RemoteProtocolError: when it does not speak the API.
        """
        channel = self._channels.get(broker_id)
        if channel is None:
            channel = NodeChannel("transactions", self._node_id, partial(self._locate, broker_id))
            self._channels[broker_id] = channel
        return await channel.ask_once(api_key, versions, values, timeout=self._timeout)

    def _locate(self, broker_id: int) -> tuple[str, int]:
        broker = self._image().cluster.brokers.get(broker_id)
        if broker is None or broker.fenced:
            raise NetworkError(f"broker {broker_id} is not there")
        plain = {name: one for name, one in broker.listeners.items() if one.security_protocol == PLAINTEXT}
        found = plain.get(self._listener) or next(iter(plain.values()), None)
        if found is None:
            raise NetworkError(f"broker {broker_id} has no listener that asks for no login")
        return found.host, found.port

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()
