"""Brokers and controllers that join the cluster. From ClusterControlManager.registerBroker and registerController.

BrokerRegistration version 6 (KAFKA-19931) brings the broker's static configs: those keys that the rulebook's checks
read, and no other, are kept. At our own metadata.version they go into the record; at Kafka's levels the record can't
carry them, so the caller keeps what the response says in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import Decision, Failure
from doorkeeper.cluster.controller.features import finalized_features
from doorkeeper.cluster.controller.leadership import records_without_leader
from doorkeeper.cluster.controller.sessions import HeartbeatTracker
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import BrokerRegistration
from doorkeeper.rules.config_change import select_reported
from doorkeeper.rules.config_schema import BROKER, load_schema
from doorkeeper.wire.metadata.levels import FEATURE_NAME, MetadataVersion
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import (
    BrokerStaticConfig,
    Endpoint,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    SupportedFeature,
)

NO_EPOCH: Final = -1
RESERVED_DIRECTORIES: Final = frozenset(UUID(int=number) for number in range(100))
"""Kafka's DirectoryId keeps the first hundred ids for itself."""
SECURITY_PROTOCOLS: Final = frozenset(range(4))
"""PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL."""


@dataclass(frozen=True, slots=True)
class RegisteredListener:
    name: str
    host: str
    port: int
    security_protocol: int


@dataclass(frozen=True, slots=True)
class RegisteredFeature:
    name: str
    min_supported_version: int
    max_supported_version: int


@dataclass(frozen=True, slots=True)
class ReportedConfig:
    name: str
    value: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class BrokerRegistrationRequest:
    broker_id: int
    cluster_id: str
    incarnation_id: UUID | None
    listeners: tuple[RegisteredListener, ...]
    features: tuple[RegisteredFeature, ...] = ()
    rack: str | None = None
    is_migrating_zk_broker: bool = False
    log_dirs: tuple[UUID | None, ...] = ()
    previous_broker_epoch: int = NO_EPOCH
    cordoned_log_dirs: tuple[UUID | None, ...] | None = None
    """Version 5; None until the broker knows."""
    static_configs: tuple[ReportedConfig, ...] = ()
    """Version 6; empty for a broker that does not report them (one that does always has its node.id to tell)."""


@dataclass(frozen=True, slots=True)
class BrokerRegistrationResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = None
    """For our own log: no version carries it."""
    broker_epoch: int = NO_EPOCH
    static_configs: Mapping[str, str | None] = field(default_factory=dict)
    """What was kept of the static configs."""
    dropped_configs: tuple[str, ...] = ()
    """Keys that the broker should not have sent; to be said in the log, by name only."""


@dataclass(frozen=True, slots=True)
class ControllerRegistrationRequest:
    controller_id: int
    incarnation_id: UUID | None
    listeners: tuple[RegisteredListener, ...]
    features: tuple[RegisteredFeature, ...]
    zk_migration_ready: bool = False


@dataclass(frozen=True, slots=True)
class ControllerRegistrationResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = None


def decide_register_broker(
    image: MetadataImage,
    request: BrokerRegistrationRequest,
    *,
    cluster_id: str,
    next_offset: int,
    tracker: HeartbeatTracker,
    now_ms: int,
) -> Decision[BrokerRegistrationResponse]:
    """Register a broker, fenced, under the epoch `next_offset` (where the records will go); the same incarnation again
    keeps its epoch and its state. The registration is the last record: caller, tell `tracker.registered` its offset."""
    failure = _first_failure(
        lambda: _check_identity(image, request, cluster_id, tracker, now_ms),
        lambda: _check_directories(image, request),
        lambda: _check_listeners(request.listeners),
        lambda: _check_features(image, request),
    )
    if failure is not None:
        return Decision((), BrokerRegistrationResponse(failure.code, failure.message))
    level = image.features.require_metadata_version()
    existing = image.cluster.brokers.get(request.broker_id)
    same_incarnation = existing is not None and existing.incarnation_id == request.incarnation_id
    kept, dropped = _select_static_configs(request.static_configs)
    record = _record_of(request, level, kept, next_offset, existing if same_incarnation else None)
    # A crashed predecessor may still lead partitions; they are freed before anybody sees the new incarnation.
    cleanup = [] if same_incarnation else records_without_leader(image, request.broker_id)
    response = BrokerRegistrationResponse(
        broker_epoch=record.broker_epoch, static_configs=kept, dropped_configs=dropped
    )
    return Decision((*cleanup, VersionedRecord(record, level.register_broker_record_version)), response)


def _first_failure(*checks: Callable[[], Failure | None]) -> Failure | None:
    for check in checks:
        failure = check()
        if failure is not None:
            return failure
    return None


def _check_identity(
    image: MetadataImage,
    request: BrokerRegistrationRequest,
    cluster_id: str,
    tracker: HeartbeatTracker,
    now_ms: int,
) -> Failure | None:
    if request.cluster_id != cluster_id:
        message = f"Expected cluster ID {cluster_id}, but got cluster ID {request.cluster_id}"
        return Failure(ErrorCode.inconsistent_cluster_id, message)
    existing = image.cluster.brokers.get(request.broker_id)
    if (
        existing is not None
        and existing.incarnation_id != request.incarnation_id
        and tracker.has_valid_session(existing.id, existing.epoch, now_ms)
    ):
        return Failure(
            ErrorCode.duplicate_broker_registration,
            "Another broker is registered with that broker id. If the broker was recently restarted this should "
            "self-resolve once the heartbeat manager expires the broker's session.",
        )
    if request.is_migrating_zk_broker:
        message = "Controller does not support registering ZK brokers."
        return Failure(ErrorCode.broker_id_not_registered, message)
    if request.incarnation_id is None:
        return _invalid("No incarnation ID specified in request")
    return None


def _check_directories(image: MetadataImage, request: BrokerRegistrationRequest) -> Failure | None:
    if not image.features.require_metadata_version().has_directories:
        return None
    if not request.log_dirs:
        return _invalid("No directories specified in request")
    if any(one is None or one in RESERVED_DIRECTORIES for one in request.log_dirs):
        return _invalid("Reserved directory ID in request")
    if len(set(request.log_dirs)) != len(request.log_dirs):
        return _invalid("Duplicate directory ID in request")
    for other in image.cluster.brokers.values():
        for directory in other.directories:
            if other.id != request.broker_id and directory in request.log_dirs:
                return _invalid(f"Broker {other.id} is already registered with directory {directory}")
    return None


def _check_listeners(listeners: tuple[RegisteredListener, ...]) -> Failure | None:
    if not listeners:
        return _invalid("No listeners specified in request")
    if (twice := _first_twice(one.name for one in listeners)) is not None:
        return _invalid(f"Duplicate listener {twice} in request")
    for one in listeners:
        if one.security_protocol not in SECURITY_PROTOCOLS:
            return _invalid(f"Unknown security protocol {one.security_protocol} in listener {one.name}")
    return None


def _check_features(image: MetadataImage, request: BrokerRegistrationRequest) -> Failure | None:
    finalized = finalized_features(image)
    supported = {one.name: one for one in request.features}
    if (twice := _first_twice(one.name for one in request.features)) is not None:
        return _invalid(f"Duplicate feature {twice} in request")
    for one in request.features:
        failure = _check_feature(one, finalized.get(one.name, 0))
        if failure is not None:
            return failure
    if FEATURE_NAME not in supported:
        return _invalid(f"Request features do not contain '{FEATURE_NAME}'")
    for name, level in finalized.items():
        if name not in supported and level:
            return _check_feature(RegisteredFeature(name, 0, 0), level)
    return None


def _check_feature(feature: RegisteredFeature, finalized: int) -> Failure | None:
    lowest, highest = feature.min_supported_version, feature.max_supported_version
    if lowest <= finalized <= highest:
        return None
    return Failure(
        ErrorCode.unsupported_version,
        f"Unable to register because the broker does not support finalized version {finalized} of {feature.name}. "
        f"The broker wants a version between {lowest} and {highest}, inclusive.",
    )


def _select_static_configs(reported: tuple[ReportedConfig, ...]) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """What the rulebook wants to know, and the names of what else was sent. A secret is never kept."""
    values = {one.name: one.value for one in reported}
    wanted = select_reported({name: value for name, value in values.items() if value is not None})
    schema = load_schema(BROKER)
    kept: dict[str, str | None] = {
        name: value for name, value in wanted.items() if name not in schema or not schema[name].sensitive
    }
    return kept, tuple(name for name in values if name not in kept)


def _record_of(
    request: BrokerRegistrationRequest,
    level: MetadataVersion,
    static_configs: Mapping[str, str | None],
    next_offset: int,
    amended: BrokerRegistration | None,
) -> RegisterBrokerRecord:
    assert request.incarnation_id is not None
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=next_offset if amended is None else amended.epoch,
        end_points=_endpoints(request.listeners),
        features=_features(request.features),
        rack=request.rack,
        fenced=True if amended is None else amended.fenced,
        in_controlled_shutdown=False if amended is None else amended.in_controlled_shutdown,
        log_dirs=_uuids(request.log_dirs) if level.has_directories else (),
        cordoned_log_dirs=_cordoned(request, level),
        static_configs=tuple(
            BrokerStaticConfig(name=name, value=value) for name, value in sorted(static_configs.items())
        )
        if level.has_static_configs
        else (),
    )


def _cordoned(request: BrokerRegistrationRequest, level: MetadataVersion) -> tuple[UUID, ...] | None:
    if request.cordoned_log_dirs is None or not level.has_cordoned_log_dirs:
        return None
    return _uuids(request.cordoned_log_dirs)


def _uuids(directories: Iterable[UUID | None]) -> tuple[UUID, ...]:
    return tuple(one for one in directories if one is not None)


def _endpoints(listeners: tuple[RegisteredListener, ...]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol)
        for one in listeners
    )


def _features(features: tuple[RegisteredFeature, ...]) -> tuple[SupportedFeature, ...]:
    return tuple(
        SupportedFeature(
            name=one.name,
            min_supported_version=one.min_supported_version,
            max_supported_version=one.max_supported_version,
        )
        for one in features
    )


def _first_twice(names: Iterable[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _invalid(message: str) -> Failure:
    return Failure(ErrorCode.invalid_registration, message)


def decide_register_controller(
    image: MetadataImage, request: ControllerRegistrationRequest
) -> Decision[ControllerRegistrationResponse]:
    """Register a controller (KIP-919)."""
    if not image.features.require_metadata_version().has_controller_registration:
        message = "The current MetadataVersion is too old to support controller registrations."
        return Decision((), ControllerRegistrationResponse(ErrorCode.unsupported_version, message))
    failure = _check_listeners(request.listeners)
    if failure is None and request.incarnation_id is None:
        failure = _invalid("No incarnation ID specified in request")
    if failure is not None:
        return Decision((), ControllerRegistrationResponse(failure.code, failure.message))
    assert request.incarnation_id is not None
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        end_points=_endpoints(request.listeners),
        features=_features(request.features),
    )
    return Decision((VersionedRecord(record, 0),), ControllerRegistrationResponse())
