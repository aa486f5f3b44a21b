"""The controller of a node: decisions with the controller's context, the brokers' sessions, and their static configs.

From org.apache.kafka.controller.QuorumController and ClusterControlManager. The tracker of sessions and the static
configs of brokers that the log can't hold live in memory; both change only after a decision is on disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar
from uuid import uuid4

from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.controller.features import SUPPORTED_FEATURES
from doorkeeper.cluster.controller.heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    UnregisterBrokerResponse,
    decide_broker_heartbeat,
    decide_fence_broker,
    decide_unregister_broker,
)
from doorkeeper.cluster.controller.registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    RegisteredFeature,
    RegisteredListener,
    decide_register_broker,
    decide_register_controller,
)
from doorkeeper.cluster.controller.session_clock import SessionClock
from doorkeeper.cluster.controller.sessions import HeartbeatTracker
from doorkeeper.cluster.door import DoorService
from doorkeeper.cluster.exchange import Watcher
from doorkeeper.cluster.handlers.table import handlers_for
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.log_dir import LogDirectory
from doorkeeper.cluster.loggers import NodeLoggers
from doorkeeper.cluster.metering import NodeMeter
from doorkeeper.cluster.quorum import MetadataQuorum
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.wire.registry import Door, Registry

LOGGER: Final = logging.getLogger("doorkeeper.controller")

Response = TypeVar("Response")


class ControllerRole:
    """What the handlers of the controller's door talk to."""

    def __init__(
        self,
        config: NodeConfig,
        quorum: MetadataQuorum,
        directory: LogDirectory,
        registry: Registry,
        loggers: NodeLoggers,
        meter: NodeMeter,
    ) -> None:
        self.config = config
        self.meter = meter
        self.quorum = quorum
        self.cluster_id = directory.properties.cluster_id
        self.directory_id = directory.properties.directory_id
        self.registry = registry
        self.loggers = loggers
        self.node = ControllerNode(config.node_id, config.static)
        self.door: DoorService[ControllerRole] = DoorService(self, registry, handlers_for(Door.CONTROLLER), self._gate)
        self._active = asyncio.Event()
        self._directory = directory
        self.watchers: dict[str, Watcher] = {}
        """By listener: who keeps a record of requests, those in an Envelope too."""
        self.tracker = HeartbeatTracker(config.number("broker.session.timeout.ms"))
        self.remembered_configs: dict[int, Mapping[str, str | None]] = {}
        """Static configs of brokers, where the metadata.version keeps them out of the log."""
        self.observers: dict[int, tuple[int, int]] = {}
        """Followers of the log: (next offset, time of the last fetch in ms) by node id; for DescribeQuorum."""
        self._clock = SessionClock(self.tracker.session_timeout_ms, self._steady_ms())
        self._timer: asyncio.TimerHandle | None = None
        self._fencing: asyncio.Task[None] | None = None

    @property
    def image(self) -> MetadataImage:
        """What is on disk."""
        return self.quorum.image

    @property
    def node_id(self) -> int:
        return self.config.node_id

    def now_ms(self) -> int:
        return self.quorum.now_ms()

    def _steady_ms(self) -> int:
        """A clock that nobody sets."""
        return int(asyncio.get_running_loop().time() * 1000)

    def _session_ms(self) -> int:
        """The time that counts for sessions."""
        return self._clock.read(self._steady_ms())

    async def decide(self, decide: Callable[[MetadataImage], Decision[Response]]) -> Response:
        """See `MetadataQuorum.decide`."""
        return await self.quorum.decide(decide)

    # --- becoming active -----------------------------------------------------------------------------------------

    async def activate(self, own_brokers: Collection[int], listeners: Mapping[str, tuple[str, int]]) -> None:
        """Begin: found a new cluster if there is none, register this controller, and start to watch the brokers.

        :param own_brokers: brokers whose directories this process holds. What ran under their ids before is gone, so
            they need not wait for their sessions to end.
        """
        if self.image.features.metadata_version is None:
            records = tuple(self._directory.bootstrap_records())
            await self.decide(lambda _image: Decision(records, None))
            level = self.image.features.require_metadata_version()
            LOGGER.info("a new cluster begins: %s at metadata.version %s", self.cluster_id, level.text)
        tracker = HeartbeatTracker.for_image(self.image, self.tracker.session_timeout_ms, self._session_ms())
        sessions = {
            broker_id: replace(session, last_contact_ms=None) if broker_id in own_brokers else session
            for broker_id, session in tracker.sessions.items()
        }
        self.tracker = replace(tracker, sessions=sessions)
        self._watch()
        if self.image.features.require_metadata_version().has_controller_registration:
            request = ControllerRegistrationRequest(
                controller_id=self.node_id,
                incarnation_id=uuid4(),
                listeners=tuple(RegisteredListener(name, host, port, 0) for name, (host, port) in listeners.items()),
                features=tuple(
                    RegisteredFeature(name, int(one.lowest), int(one.highest))
                    for name, one in SUPPORTED_FEATURES.items()
                ),
            )
            await self.decide(lambda image: decide_register_controller(image, request))
        self._active.set()

    def _gate(self) -> Awaitable[None] | None:
        """What requests wait for while the controller starts."""
        return None if self._active.is_set() else self._become_active()

    async def _become_active(self) -> None:
        await self._active.wait()

    # --- brokers -------------------------------------------------------------------------------------------------

    async def register_broker(self, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
        response = await self.decide(
            lambda image: decide_register_broker(
                image,
                request,
                cluster_id=self.cluster_id,
                next_offset=image.provenance.offset + 1,
                tracker=self.tracker,
                now_ms=self._session_ms(),
            )
        )
        if response.error_code:
            LOGGER.warning("broker %d may not register: %s", request.broker_id, response.error_message)
            return response
        self.tracker = self.tracker.registered(request.broker_id, response.broker_epoch, self.image.provenance.offset)
        self.remember_configs({request.broker_id: response.static_configs})
        if response.dropped_configs:
            LOGGER.warning("broker %d sent configs that nobody reads: %s", request.broker_id, response.dropped_configs)
        LOGGER.info("broker %d is registered, epoch %d", request.broker_id, response.broker_epoch)
        return response

    def remember_configs(self, static_configs: Mapping[int, Mapping[str, str | None]]) -> None:
        """Keep static configs in memory where the log can't hold them, and nowhere else."""
        in_log = self.image.features.require_metadata_version().has_static_configs
        for broker_id, configs in static_configs.items():
            self.remembered_configs.pop(broker_id, None)
            if configs and not in_log:
                self.remembered_configs[broker_id] = configs

    async def heartbeat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        broker_id = request.broker_id
        self.tracker = self.tracker.touched(
            broker_id, request.broker_epoch, request.current_metadata_offset, self._session_ms()
        )
        response = await self.decide(lambda image: decide_broker_heartbeat(image, request, self.tracker))
        if response.in_controlled_shutdown and broker_id in self.tracker.sessions:
            self.tracker = self.tracker.shutting_down(broker_id, self.image.provenance.offset)
        elif response.is_fenced and not response.error_code and broker_id in self.tracker.sessions:
            self.tracker = self.tracker.fenced(broker_id)
        self._watch()
        return response

    async def unregister_broker(self, broker_id: int) -> UnregisterBrokerResponse:
        response = await self.decide(lambda image: decide_unregister_broker(image, broker_id))
        if not response.error_code:
            self.tracker = self.tracker.removed(broker_id)
            self.remembered_configs.pop(broker_id, None)
            self._watch()
        return response

    def _watch(self) -> None:
        """Wake when the next session ends, and before that as often as the clock has to be read."""
        if self._timer is not None:
            self._timer.cancel()
        deadline = self.tracker.next_deadline_ms
        if deadline is None:
            self._timer = None
            return
        pause_ms = min(deadline - self._session_ms(), self._clock.tick_ms)
        self._timer = asyncio.get_running_loop().call_later(max(0, pause_ms) / 1000, self._end_sessions)

    def _end_sessions(self) -> None:
        late, self.tracker = self.tracker.expire(self._session_ms())
        if late:
            self._fencing = asyncio.get_running_loop().create_task(self._fence(late))
        self._watch()

    async def _fence(self, broker_ids: Collection[int]) -> None:
        for broker_id in broker_ids:
            if await self.decide(partial(decide_fence_broker, broker_id=broker_id)):
                LOGGER.warning("broker %d is fenced: its session has ended", broker_id)
                if broker_id in self.tracker.sessions:
                    self.tracker = self.tracker.fenced(broker_id)

    def stop(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()
        self.quorum.stop()
