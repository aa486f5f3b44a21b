"""The other brokers of the cluster, as one of them reaches them: through the listener that is for brokers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from doorkeeper.cluster.broker.channel import NodeChannel
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.messages import Values
from doorkeeper.errors import NetworkError
from doorkeeper.wire.registry import VersionRange


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
        if broker is None or broker.fenced or self._listener not in broker.listeners:
            raise NetworkError(f"broker {broker_id} is not there")
        found = broker.listeners[self._listener]
        return found.host, found.port

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()
