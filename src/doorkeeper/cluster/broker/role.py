"""The broker of a node: what the handlers of its door talk to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, Protocol

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.channel import ControllerChannel
from doorkeeper.cluster.broker.data_plane import DataPlane
from doorkeeper.cluster.broker.forwarding import Forwarder
from doorkeeper.cluster.broker.internal_topics import internal_topic
from doorkeeper.cluster.broker.lifecycle import BrokerLifecycle
from doorkeeper.cluster.broker.producer_ids import ProducerIds
from doorkeeper.cluster.door import DoorService
from doorkeeper.cluster.handlers.table import handlers_for
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.loggers import NodeLoggers
from doorkeeper.cluster.metering import NodeMeter
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.errors import NetworkError, ProtocolError
from doorkeeper.rules.names import check_topic_name
from doorkeeper.wire.registry import Door, Registry, VersionRange

LOGGER: Final = logging.getLogger("doorkeeper.broker")

CREATE_TOPICS: Final = 19
CREATE_TOPICS_VERSIONS: Final = VersionRange(4, 7)
USE_DEFAULT: Final = -1


class ImageSource(Protocol):
    """Where a broker's image comes from: the quorum of its own node, or a follower of another's."""

    @property
    def image(self) -> MetadataImage: ...

    def subscribe(self, publish: Callable[[MetadataImage], None]) -> None: ...


class BrokerRole:
    """One broker."""

    def __init__(
        self,
        config: NodeConfig,
        cluster_id: str,
        source: ImageSource,
        channel: ControllerChannel,
        registry: Registry,
        loggers: NodeLoggers,
        meter: NodeMeter,
    ) -> None:
        """:param channel: the way to the controller for changes that are sent on."""
        self.meter = meter
        self.config = config
        self.cluster_id = cluster_id
        self.registry = registry
        self.loggers = loggers
        self.lifecycle: BrokerLifecycle | None = None
        """Set once the broker's addresses are known."""
        self._data: DataPlane | None = None
        self._timeout = config.seconds("request.timeout.ms")
        self.forwarder = Forwarder(channel, self._timeout)
        self.producer_ids = ProducerIds(config.node_id, channel, self._timeout, self._epoch)
        self.door: DoorService[BrokerRole] = DoorService(self, registry, handlers_for(Door.BROKER), self._gate)
        self._source = source
        self._channel = channel
        self._started = asyncio.Event()
        self._being_created: dict[str, asyncio.Task[None]] = {}
        self._said_not_created: set[str] = set()

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def image(self) -> MetadataImage:
        """The newest metadata that this broker knows."""
        return self._source.image

    @property
    def data(self) -> DataPlane:
        """What the broker keeps for its clients; there before any request is let in."""
        assert self._data is not None
        return self._data

    @property
    def data_if_serving(self) -> DataPlane | None:
        """The same, or None while the broker starts."""
        return self._data

    def start_serving(self, data: DataPlane) -> None:
        """The broker has been unfenced for the first time, and knows it: let requests in."""
        self._data = data
        self._source.subscribe(data.follow)
        self._started.set()

    def _epoch(self) -> int:
        return -1 if self.lifecycle is None else self.lifecycle.epoch

    def _gate(self) -> Awaitable[None] | None:
        return None if self._started.is_set() else self._to_be_started()

    async def _to_be_started(self) -> None:
        await self._started.wait()

    def create_topics(self, names: Iterable[str]) -> None:
        """Have topics made that a client named, if `auto.create.topics.enable` says so; the client asks again."""
        if not self.config.flag("auto.create.topics.enable"):
            return
        for name in names:
            if check_topic_name(name) is None:
                self.create_topic(name)

    def create_topic(self, name: str) -> asyncio.Task[None]:
        """Have a topic made as the broker sees fit; the task ends when the controller has answered."""
        task = self._being_created.get(name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._create_topic(name))
            self._being_created[name] = task
            task.add_done_callback(partial(self._created, name))
        return task

    def _created(self, name: str, _task: asyncio.Task[None]) -> None:
        del self._being_created[name]

    async def _create_topic(self, name: str) -> None:
        topic = internal_topic(self.config, name) or {"num_partitions": USE_DEFAULT, "replication_factor": USE_DEFAULT}
        try:
            response = await self._channel.ask(
                CREATE_TOPICS, CREATE_TOPICS_VERSIONS, {"topics": [{"name": name, **topic}]}, timeout=self._timeout
            )
        except (NetworkError, ProtocolError) as error:
            LOGGER.warning("a topic was not created: %s", error)
            return
        answer = response.topics[0]
        if answer.error_code and answer.error_code != ErrorCode.topic_already_exists:
            self._say_not_created(name, answer.error_message or ErrorCode(answer.error_code).name)

    def _say_not_created(self, name: str, reason: str) -> None:
        """Without an internal topic no group or transaction ever begins: that is said aloud, once."""
        aloud = internal_topic(self.config, name) is not None and name not in self._said_not_created
        if aloud:
            self._said_not_created.add(name)
        LOGGER.log(logging.WARNING if aloud else logging.INFO, "topic %r was not created: %s", name, reason)

    def stop_waiting(self) -> None:
        """Answer the requests that wait for something to happen: the broker is about to stop."""
        if self._data is not None:
            self._data.stop_waiting()

    def stop(self) -> None:
        """Create nothing more, and have everything on the disk."""
        if self._data is not None:
            self._data.close(self._epoch())
        for task in self._being_created.values():
            task.cancel()
