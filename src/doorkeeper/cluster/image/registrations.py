"""One broker or controller as it registered, and as later records changed it.

From org.apache.kafka.metadata.BrokerRegistration and ControllerRegistration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple
from uuid import UUID

from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import (
    BrokerRegistrationChangeRecord,
    BrokerStaticConfig,
    Endpoint,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    SupportedFeature,
)

OnLoss = Callable[[str], None]
"""Told about what a metadata.version can't hold (Kafka's ImageWriterOptions.handleLoss)."""


class Listener(NamedTuple):
    """Where a node is to be reached, under the listener's name."""

    host: str
    port: int
    security_protocol: int


class VersionRange(NamedTuple):
    lowest: int
    highest: int


def _listeners(endpoints: tuple[Endpoint, ...]) -> dict[str, Listener]:
    return {one.name: Listener(one.host, one.port, one.security_protocol) for one in endpoints}


def _endpoints(listeners: Mapping[str, Listener]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(name=name, host=one.host, port=one.port, security_protocol=one.security_protocol)
        for name, one in listeners.items()
    )


def _ranges(features: tuple[SupportedFeature, ...]) -> dict[str, VersionRange]:
    return {one.name: VersionRange(one.min_supported_version, one.max_supported_version) for one in features}


def _features(ranges: Mapping[str, VersionRange]) -> tuple[SupportedFeature, ...]:
    return tuple(
        SupportedFeature(name=name, min_supported_version=one.lowest, max_supported_version=one.highest)
        for name, one in ranges.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A broker; `static_configs` is empty for one that registered below version 6 (KAFKA-19931)."""

    id: int
    epoch: int
    incarnation_id: UUID
    listeners: Mapping[str, Listener]
    supported_features: Mapping[str, VersionRange] = field(default_factory=dict)
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    directories: tuple[UUID, ...] = ()
    cordoned_directories: tuple[UUID, ...] | None = None
    static_configs: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def from_record(cls, record: RegisterBrokerRecord) -> BrokerRegistration:
        return cls(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            listeners=_listeners(record.end_points),
            supported_features=_ranges(record.features),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            is_migrating_zk_broker=record.is_migrating_zk_broker,
            directories=tuple(sorted(record.log_dirs)),
            cordoned_directories=record.cordoned_log_dirs,
            static_configs={config.name: config.value for config in record.static_configs},
        )

    def to_record(self, level: MetadataVersion, on_loss: OnLoss) -> VersionedRecord:
        """The record that registers this broker as it is now, at the version that the level asks for."""
        version = level.register_broker_record_version
        record = RegisterBrokerRecord(
            broker_id=self.id,
            broker_epoch=self.epoch,
            incarnation_id=self.incarnation_id,
            end_points=_endpoints(self.listeners),
            features=_features(self.supported_features),
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            is_migrating_zk_broker=self.is_migrating_zk_broker,
            log_dirs=self.directories,
            cordoned_log_dirs=self.cordoned_directories,
            static_configs=tuple(BrokerStaticConfig(name=n, value=v) for n, v in self.static_configs.items()),
        )
        return VersionedRecord(_without_lost_fields(record, version, on_loss), version)

    def changed_by(self, record: BrokerRegistrationChangeRecord) -> BrokerRegistration:
        """This registration after a change record."""
        return replace(
            self,
            fenced=_switched(self.fenced, record.fenced, "fenced"),
            in_controlled_shutdown=_switched(
                self.in_controlled_shutdown, record.in_controlled_shutdown, "inControlledShutdown"
            ),
            directories=tuple(sorted(record.log_dirs)) or self.directories,
            cordoned_directories=(
                self.cordoned_directories if record.cordoned_log_dirs is None else record.cordoned_log_dirs
            ),
        )


_FIELDS_BY_VERSION: Final = (
    (2, "is_migrating_zk_broker", False),
    (3, "log_dirs", ()),
    (4, "cordoned_log_dirs", None),
    (5, "static_configs", ()),
)


def _without_lost_fields(record: RegisterBrokerRecord, version: int, on_loss: OnLoss) -> RegisterBrokerRecord:
    lost: dict[str, Any] = {
        name: default
        for since, name, default in _FIELDS_BY_VERSION
        if version < since and getattr(record, name) != default
    }
    for name in lost:
        on_loss(f"{name} of broker {record.broker_id}")
    return replace(record, **lost) if lost else record


def _switched(now: bool, change: int, name: str) -> bool:
    """BrokerRegistrationFencingChange and BrokerRegistrationInControlledShutdownChange; Kafka never ends a shutdown."""
    if change == 0:
        return now
    if change == 1:
        return True
    if change == -1 and name == "fenced":
        return False
    raise ReplayError(f"{change} is no value of {name} in a BrokerRegistrationChangeRecord")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistration:
    id: int
    incarnation_id: UUID
    zk_migration_ready: bool = False
    listeners: Mapping[str, Listener] = field(default_factory=dict)
    supported_features: Mapping[str, VersionRange] = field(default_factory=dict)

    @classmethod
    def from_record(cls, record: RegisterControllerRecord) -> ControllerRegistration:
        return cls(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zk_migration_ready=record.zk_migration_ready,
            listeners=_listeners(record.end_points),
            supported_features=_ranges(record.features),
        )

    def to_record(self) -> VersionedRecord:
        return VersionedRecord(
            RegisterControllerRecord(
                controller_id=self.id,
                incarnation_id=self.incarnation_id,
                zk_migration_ready=self.zk_migration_ready,
                end_points=_endpoints(self.listeners),
                features=_features(self.supported_features),
            ),
            0,
        )
