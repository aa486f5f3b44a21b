"""A broker's life in the cluster: it registers, is unfenced once it has caught up, sends heartbeats, takes its leave.

From org.apache.kafka.server.BrokerLifecycleManager.

    starting ──register──> fenced ──caught up──> running ──leave──> shutting down ──> gone
                 ^                      |
                 +---- stale epoch -----+
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.channel import ControllerChannel
from doorkeeper.cluster.controller.features import SUPPORTED_FEATURES
from doorkeeper.errors import DoorkeeperError, NetworkError
from doorkeeper.rules.config_change import select_reported
from doorkeeper.wire.broker_registration import BROKER_REGISTRATION
from doorkeeper.wire.codes import wire_code
from doorkeeper.wire.registry import VersionRange

LOGGER: Final = logging.getLogger("doorkeeper.broker")

BROKER_HEARTBEAT: Final = 63
REGISTRATION_VERSIONS: Final = VersionRange(0, 6)
HEARTBEAT_VERSIONS: Final = VersionRange(0, 1)
PROTOCOLS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
"""Kafka's numbers (SecurityProtocol)."""
RETRY_SECONDS: Final = 0.1
"""Between registrations that are refused because the predecessor's session has not ended."""


class RegistrationRefusedError(DoorkeeperError):
    """The controller does not take this broker; asking again would not help."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a broker says of itself."""

    node_id: int
    cluster_id: str
    listeners: Mapping[str, tuple[str, int, str]]
    """Host, port and security protocol, by name."""
    directories: tuple[UUID, ...]
    rack: str | None
    static: Mapping[str, str]
    """Its whole server.properties; only what the rulebook's checks read is ever sent."""


class BrokerLifecycle:
    """Runs one broker's registration and heartbeats; `unfenced` is set once the broker may serve."""

    def __init__(
        self,
        identity: Identity,
        channel: ControllerChannel,
        metadata_offset: Callable[[], int],
        *,
        heartbeat_seconds: float,
        registration_seconds: float,
    ) -> None:
        self._identity = identity
        self._channel = channel
        self._metadata_offset = metadata_offset
        self._heartbeat_seconds = heartbeat_seconds
        self._registration_seconds = registration_seconds
        self._incarnation = uuid4()
        self._wake = asyncio.Event()
        self.epoch = -1
        self.unfenced = asyncio.Event()
        self._leaving = False

    async def run(self) -> None:
        """Register, then send heartbeats until the controller lets the broker go.

        :raises RegistrationRefusedError: when the controller does not want it.
        :raises NetworkError: when it can't be reached in time for the first registration.
        """
        await self._register()
        while True:
            try:
                if await self._heartbeat():
                    return
            except NetworkError as error:
                LOGGER.warning("no heartbeat reached the controller: %s", error)
                if self._leaving:
                    return
            await self._pause()

    def leave(self) -> None:
        """Ask to be let go: a controlled shutdown."""
        self._leaving = True
        self._wake.set()

    def nudge(self) -> None:
        """Send the next heartbeat now: a fenced broker has caught up further."""
        if not self.unfenced.is_set():
            self._wake.set()

    async def _pause(self) -> None:
        # A broker that is waited for, to begin or to end, does not sit out the interval.
        seconds = RETRY_SECONDS if self._leaving else self._heartbeat_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _register(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._registration_seconds
        while True:
            left = max(deadline - loop.time(), RETRY_SECONDS)
            response = await self._channel.ask(
                BROKER_REGISTRATION, REGISTRATION_VERSIONS, self._introduction(), timeout=left
            )
            if not response.error_code:
                self.epoch = response.broker_epoch
                LOGGER.info("broker %d has registered, epoch %d", self._identity.node_id, self.epoch)
                return
            name = wire_code(response.error_code).name
            if response.error_code != ErrorCode.duplicate_broker_registration or loop.time() > deadline:
                raise RegistrationRefusedError(f"The controller refuses broker {self._identity.node_id}: {name}")
            LOGGER.info("another broker %d has a session, waiting for its end", self._identity.node_id)
            await asyncio.sleep(RETRY_SECONDS)

    def _introduction(self) -> dict[str, Any]:
        identity = self._identity
        return {
            "broker_id": identity.node_id,
            "cluster_id": identity.cluster_id,
            "incarnation_id": self._incarnation,
            "listeners": [
                {"name": name, "host": host, "port": port, "security_protocol": PROTOCOLS[protocol]}
                for name, (host, port, protocol) in identity.listeners.items()
            ],
            "features": [
                {"name": name, "min_supported_version": int(one.lowest), "max_supported_version": int(one.highest)}
                for name, one in SUPPORTED_FEATURES.items()
            ],
            "rack": identity.rack,
            "log_dirs": identity.directories,
            "previous_broker_epoch": self.epoch,
            "static_configs": [
                {"name": name, "value": value} for name, value in sorted(select_reported(identity.static).items())
            ],
        }

    async def _heartbeat(self) -> bool:
        """Send one; whether the broker may go."""
        values = {
            "broker_id": self._identity.node_id,
            "broker_epoch": self.epoch,
            "current_metadata_offset": self._metadata_offset(),
            "want_fence": False,
            "want_shut_down": self._leaving,
        }
        response = await self._channel.ask(
            BROKER_HEARTBEAT, HEARTBEAT_VERSIONS, values, timeout=max(self._heartbeat_seconds, 1.0)
        )
        if response.error_code in (ErrorCode.stale_broker_epoch, ErrorCode.broker_id_not_registered):
            if self._leaving:
                return True
            LOGGER.warning("broker %d is not known any more, registering anew", self._identity.node_id)
            self.unfenced.clear()
            await self._register()
            self._wake.set()
            return False
        if response.error_code:
            LOGGER.warning("a heartbeat was refused: %s", ErrorCode(response.error_code).name)
            return False
        if not response.is_fenced:
            self.unfenced.set()
        elif not self._leaving:
            self.unfenced.clear()
        return bool(response.should_shut_down)
