"""One node: its directories, its roles and its doors, wired together. The only place where the roles' tasks start."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Collection, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster import existing
from doorkeeper.cluster.broker.channel import ControllerChannel
from doorkeeper.cluster.broker.data_plane import open_data_plane
from doorkeeper.cluster.broker.follower import MetadataFollower
from doorkeeper.cluster.broker.lifecycle import BrokerLifecycle, Identity
from doorkeeper.cluster.broker.peers import BrokerPeers
from doorkeeper.cluster.broker.role import BrokerRole, ImageSource
from doorkeeper.cluster.controller_role import ControllerRole
from doorkeeper.cluster.directories import NodeDirectories, known_cluster_id, new_cluster_id, open_directories
from doorkeeper.cluster.handlers.table import registry_for
from doorkeeper.cluster.image.configs import ConfigurationsImage
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.live_configs import limits_in_force, rulebook_in_force, sasl_in_force
from doorkeeper.cluster.loggers import NodeLoggers
from doorkeeper.cluster.logins import Logins
from doorkeeper.cluster.metadata_log import MetadataLog
from doorkeeper.cluster.metered_service import MeteredService
from doorkeeper.cluster.metering import NodeMeter, keep_meter
from doorkeeper.cluster.quorum import MetadataQuorum
from doorkeeper.cluster.sasl_config import SASL_PLAINTEXT
from doorkeeper.cluster.server_config import UNSTABLE_VERSIONS, NodeConfig
from doorkeeper.cluster.verdicts import Verdicts
from doorkeeper.cluster.watch import Watch
from doorkeeper.door.judge import Exists
from doorkeeper.errors import InputError
from doorkeeper.net.listener import Listener
from doorkeeper.rules.listener_config import Endpoint
from doorkeeper.rules.static_config import UnknownStaticError, UnlawfulError
from doorkeeper.wire.registry import Door, VersionRange

if TYPE_CHECKING:
    from doorkeeper.cluster.request_log import RequestLog, RequestLogWish

LOGGER: Final = logging.getLogger("doorkeeper.node")

DRAIN_SECONDS: Final = 5.0
"""How long requests in flight may take once the node is told to stop."""
LEAVE_SECONDS: Final = 5.0
"""How long the controller may take to let a broker go."""
PIPELINE: Final = 100
"""Requests of one connection that the controller works on at a time: one broker's connection carries many clients'
changes, and those that wait together share a flush. They are decided in the order in which they came."""
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104  what an empty host in `listeners` asks for
DESCRIBE_CLUSTER: Final = 60
CONTROLLER_ENDPOINT: Final = 2


@dataclass(frozen=True, slots=True)
class OpenDoor:
    """A door that is open: for whoever wants to know where to knock."""

    door: Door
    node_id: int
    listener: str
    host: str
    port: int


class Node:
    """A broker, a controller, or both in one."""

    def __init__(
        self,
        config: NodeConfig,
        *,
        controller_address: tuple[str, int] | None = None,
        verdicts: Verdicts | None = None,
        request_log: RequestLogWish | None = None,
    ) -> None:
        """:param controller_address: where the controller is, if it is in this process on a port nobody chose.
        :param verdicts: where the doors' verdicts on identifiers go.
        """
        self.request_logs: list[RequestLog] = []
        self._request_log_wish = request_log
        self.config = config
        self.verdicts = (verdicts or Verdicts()).of_node()
        self.controller: ControllerRole | None = None
        self.broker: BrokerRole | None = None
        self.doors: list[OpenDoor] = []
        self._controller_address = controller_address
        self._directories: NodeDirectories | None = None
        self._log: MetadataLog | None = None
        self._listeners: dict[Door, list[Listener]] = {Door.BROKER: [], Door.CONTROLLER: []}
        self._channels: list[ControllerChannel | BrokerPeers] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loggers = NodeLoggers()
        self.meter = NodeMeter(config)
        self._logins: dict[str, Logins] = {}
        """By listener, where there is SASL."""
        self._applied_configs: ConfigurationsImage | None = None

    # --- starting ------------------------------------------------------------------------------------------------

    async def start(self, own_brokers: Collection[int] = ()) -> None:
        """Open everything; on return the node serves.

        :param own_brokers: the brokers of this process, see `ControllerRole.activate`.
        """
        try:
            cluster_id = known_cluster_id(self.config) or await self._join_cluster()
            self._directories = open_directories(self.config, cluster_id)
            self._spawn("meter", keep_meter(self.meter))
            if self.config.is_controller:
                await self._start_controller(self._directories, {self.config.node_id, *own_brokers})
            if self.config.is_broker:
                await self._start_broker(self._directories)
        except BaseException:
            await self.stop()
            raise

    async def _join_cluster(self) -> str:
        """The cluster of a node that starts for the first time: a new one, or the controller's."""
        if self.config.is_controller:
            return new_cluster_id()
        channel = self._channel("joining")
        timeout = self.config.seconds("initial.broker.registration.timeout.ms")
        asked = {"endpoint_type": CONTROLLER_ENDPOINT}
        response = await channel.ask(DESCRIBE_CLUSTER, VersionRange(1, 2), asked, timeout=timeout)
        return str(response.cluster_id)

    async def _start_controller(self, directories: NodeDirectories, own_brokers: Collection[int]) -> None:
        config = self.config
        self._log = MetadataLog(directories.metadata.metadata_path, config.node_id)
        quorum = MetadataQuorum(
            self._log, snapshot_bytes=config.number("metadata.log.max.record.bytes.between.snapshots")
        )
        self._log.begin_epoch(quorum.now_ms())
        quorum.subscribe(self.meter.follow)
        registry = registry_for(Door.CONTROLLER, unstable_versions=config.flag(UNSTABLE_VERSIONS))
        self.controller = ControllerRole(config, quorum, directories.metadata, registry, self._loggers, self.meter)
        self._judge(Door.CONTROLLER, self.controller, quorum, lambda named: existing.in_image(quorum.image, named))
        await self._open(Door.CONTROLLER, config.controller_listeners, self.controller, in_flight=PIPELINE)
        self._spawn("quorum", quorum.run())
        advertised = {one.listener: (_told(one.host), one.port) for one in self.doors if one.door is Door.CONTROLLER}
        await self.controller.activate(own_brokers, advertised)
        self._controller_address = self._own_controller_address()

    def _own_controller_address(self) -> tuple[str, int]:
        door = next(one for one in self.doors if one.door is Door.CONTROLLER)
        return _reachable(door.host), door.port

    async def _start_broker(self, directories: NodeDirectories) -> None:
        config = self.config
        registry = registry_for(Door.BROKER, unstable_versions=config.flag(UNSTABLE_VERSIONS))
        source: MetadataQuorum | MetadataFollower
        if self.controller is not None:
            source = self.controller.quorum
        else:
            source = MetadataFollower(config.node_id, directories.cluster_id, self._channel("following"))
            self._spawn("follower", source.run())
            source.subscribe(self.meter.follow)
        broker = BrokerRole(
            config, directories.cluster_id, source, self._channel("forwarding"), registry, self._loggers, self.meter
        )
        self.broker = broker
        self._judge(Door.BROKER, broker, source, partial(existing.at_broker, broker))
        await self._open(Door.BROKER, config.listeners, broker)
        lifecycle = BrokerLifecycle(
            self._identity(directories),
            self._channel("heartbeat"),
            lambda: source.image.provenance.offset,
            heartbeat_seconds=config.seconds("broker.heartbeat.interval.ms"),
            registration_seconds=config.seconds("initial.broker.registration.timeout.ms"),
        )
        broker.lifecycle = lifecycle
        source.subscribe(lambda _image: lifecycle.nudge())
        source.subscribe(self._apply_limits)
        self._spawn("lifecycle", lifecycle.run())
        await self._until_unfenced(broker, lifecycle, source)
        peers = BrokerPeers(
            config.node_id, config.inter_broker_listener, lambda: source.image, config.seconds("request.timeout.ms")
        )
        self._channels.append(peers)
        data = open_data_plane(config, [one.path for one in directories.data], source.image, peers, broker.producer_ids)
        data.start(self._spawn)
        broker.start_serving(data)

    async def _until_unfenced(
        self, broker: BrokerRole, lifecycle: BrokerLifecycle, source: MetadataQuorum | MetadataFollower
    ) -> None:
        """Wait until the controller has let the broker in and the broker has heard of it, or its task has failed."""
        known = asyncio.Event()

        def note(image: MetadataImage) -> None:
            registration = image.cluster.brokers.get(broker.node_id)
            if registration is not None and registration.epoch == lifecycle.epoch and not registration.fenced:
                known.set()

        source.subscribe(note)
        waiting = asyncio.ensure_future(known.wait())
        failing = self._tasks["lifecycle"]
        try:
            await asyncio.wait((waiting, failing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if failing.done():
            failing.result()

    def _identity(self, directories: NodeDirectories) -> Identity:
        config = self.config
        ports = {one.listener: one.port for one in self.doors if one.door is Door.BROKER}
        listeners = {
            one.listener: (_told(one.host), one.port or ports[one.listener], one.protocol) for one in config.advertised
        }
        return Identity(config.node_id, directories.cluster_id, listeners, directories.ids, config.rack, config.static)

    async def _open(
        self, door: Door, endpoints: Collection[Endpoint], role: BrokerRole | ControllerRole, *, in_flight: int = 1
    ) -> None:
        config = self.config
        logins = Logins(config, lambda: role.image, role.door.gate, role.door.refuse_login)
        for endpoint in endpoints:
            limits = limits_in_force(config, MetadataImage.EMPTY, endpoint.listener, in_flight=in_flight)
            listener = Listener(
                endpoint.host or EVERYWHERE,
                endpoint.port,
                MeteredService(role.door, door, self.meter, self._watcher(endpoint, role)),
                name=endpoint.listener,
                limits=limits,
                connection_rate=self.meter.admit,
            )
            if endpoint.protocol == SASL_PLAINTEXT:
                self._logins[endpoint.listener] = logins
                listener.change_authentication(logins.at(sasl_in_force(config, MetadataImage.EMPTY, listener.name)))
            try:
                await listener.start()
            except OSError as error:
                where = f"{endpoint.host or EVERYWHERE}:{endpoint.port}"
                raise InputError(f"can't listen on {where}: {error.strerror or error}") from error
            self._listeners[door].append(listener)
            self.doors.append(OpenDoor(door, config.node_id, endpoint.listener, listener.host, listener.port))

    def _judge(self, door: Door, role: BrokerRole | ControllerRole, source: ImageSource, exists: Exists) -> None:
        """Have a door's requests judged by the rulebook in force; the switch counts from the next one on."""
        watch = Watch(door, rulebook_in_force(self.config, source.image), self.verdicts, exists)

        def follow(image: MetadataImage) -> None:
            watch.rulebook = rulebook_in_force(self.config, image)

        source.subscribe(follow)
        role.door.watch = watch

    def _watcher(self, endpoint: Endpoint, role: BrokerRole | ControllerRole) -> RequestLog | None:
        """Who keeps a record of a listener's requests."""
        if self._request_log_wish is None:
            return None
        from doorkeeper.cluster.request_log import open_request_log

        wish, listener = self._request_log_wish, endpoint.listener
        try:
            log = open_request_log(wish, self.config.node_id, listener, str(endpoint.protocol))
        except OSError as error:
            raise InputError(f"can't log requests in {wish.folder}: {error.strerror or error}") from error
        if log is not None:
            self.request_logs.append(log)
            if isinstance(role, ControllerRole):
                role.watchers[listener] = log
        return log

    def _apply_limits(self, image: MetadataImage) -> None:
        """Let dynamic configs count at the broker's doors."""
        if image.configs is self._applied_configs:
            return
        self._applied_configs = image.configs
        for listener in self._listeners[Door.BROKER]:
            listener.change_limits(limits_in_force(self.config, image, listener.name, in_flight=1))
            if listener.name in self._logins:
                self._change_login(listener, image)

    def _change_login(self, listener: Listener, image: MetadataImage) -> None:
        try:
            sasl = sasl_in_force(self.config, image, listener.name)
        except (UnlawfulError, UnknownStaticError) as error:
            LOGGER.warning("listener %s: logins stay as they were: %s", listener.name, error)
            return
        listener.change_authentication(self._logins[listener.name].at(sasl))

    def _channel(self, name: str) -> ControllerChannel:
        channel = ControllerChannel(name, self.config.node_id, self._locate_controller)
        self._channels.append(channel)
        return channel

    def _locate_controller(self) -> tuple[str, int]:
        if self._controller_address is not None:
            return self._controller_address
        _, host, port = self.config.controllers[0]
        return host, port

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[name] = asyncio.get_running_loop().create_task(work, name=f"{name}-{self.config.node_id}")

    # --- running and stopping ------------------------------------------------------------------------------------

    async def fail(self) -> None:
        """Return only by raising what ended one of the node's tasks."""
        done, _ = await asyncio.wait(self._tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def stop(self) -> None:
        """Take leave of the controller, answer what is in flight, and close."""
        await self._leave()
        if self.broker is not None:
            self.broker.stop_waiting()
        await self._close(Door.BROKER)
        await self._cancel("logs")
        if self.broker is not None:
            self.broker.stop()
        await self._cancel("follower", "lifecycle", "meter")
        for channel in self._channels:
            await channel.close()
        await self._close(Door.CONTROLLER)
        if self.controller is not None:
            self.controller.stop()
            if "quorum" in self._tasks:
                await asyncio.wait((self._tasks["quorum"],))
        if self._log is not None:
            self._log.close()
        if self._directories is not None:
            self._directories.close()
        for log in self.request_logs:
            log.lines.close()

    async def _leave(self) -> None:
        task = self._tasks.get("lifecycle")
        if self.broker is None or self.broker.lifecycle is None or task is None or task.done():
            return
        self.broker.lifecycle.leave()
        await asyncio.wait((task,), timeout=LEAVE_SECONDS)

    async def _close(self, door: Door) -> None:
        await asyncio.gather(*(one.stop(DRAIN_SECONDS) for one in self._listeners[door]))
        self._listeners[door].clear()

    async def _cancel(self, *names: str) -> None:
        for name in names:
            task = self._tasks.get(name)
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    @property
    def listeners(self) -> list[Listener]:
        """Every door that is open."""
        return [one for listeners in self._listeners.values() for one in listeners]

    def connections(self) -> Mapping[Door, int]:
        """How many are open at each kind of door."""
        return {door: sum(one.connections for one in listeners) for door, listeners in self._listeners.items()}


def _told(host: str | None) -> str:
    """What clients are told: Kafka names this machine where `listeners` names no host."""
    return socket.getfqdn() if host in (None, "", EVERYWHERE) else str(host)


def _reachable(host: str) -> str:
    return "127.0.0.1" if host == EVERYWHERE else host
