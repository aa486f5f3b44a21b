"""Heartbeats: fencing, unfencing and controlled shutdown. From ReplicationControlManager.processBrokerHeartbeat and
BrokerHeartbeatManager.calculateNextBrokerState."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import Decision, Failure
from doorkeeper.cluster.controller.leadership import (
    has_leaderships,
    records_of_lost_directories,
    records_with_leader,
    records_without_leader,
)
from doorkeeper.cluster.controller.sessions import HeartbeatTracker, Session
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import BrokerRegistration
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import BrokerRegistrationChangeRecord, UnregisterBrokerRecord

FENCE, UNFENCE, IN_CONTROLLED_SHUTDOWN = 1, -1, 1


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatRequest:
    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: tuple[UUID | None, ...] = ()
    cordoned_log_dirs: tuple[UUID | None, ...] | None = None
    """None until the broker knows."""


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = None
    """For our own log: no version carries it."""
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
    in_controlled_shutdown: bool = False
    """For the caller, who then tells the tracker up to which offset the shutdown was written."""


@dataclass(frozen=True, slots=True)
class UnregisterBrokerResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = None


class BrokerState(Enum):
    """org.apache.kafka.controller.BrokerControlState."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"

    @property
    def is_fenced(self) -> bool:
        return self in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW)


def check_broker_epoch(image: MetadataImage, broker_id: int, broker_epoch: int) -> BrokerRegistration | Failure:
    """The broker, if it is registered under this epoch (ClusterControlManager.checkBrokerEpoch)."""
    broker = image.cluster.brokers.get(broker_id)
    if broker is None:
        return Failure(ErrorCode.stale_broker_epoch, f"No broker registration found for broker id {broker_id}")
    if broker.epoch != broker_epoch:
        message = f"Expected broker epoch {broker.epoch}, but got broker epoch {broker_epoch}"
        return Failure(ErrorCode.stale_broker_epoch, message)
    return broker


def decide_broker_heartbeat(
    image: MetadataImage, request: BrokerHeartbeatRequest, tracker: HeartbeatTracker
) -> Decision[BrokerHeartbeatResponse]:
    """What becomes of a broker that says it is there. The caller notes the contact itself (`tracker.touched`)."""
    broker = check_broker_epoch(image, request.broker_id, request.broker_epoch)
    if isinstance(broker, Failure):
        return Decision((), BrokerHeartbeatResponse(broker.code, broker.message))
    session = tracker.sessions.get(broker.id) or Session(broker.epoch, image.provenance.offset)
    now = _current_state(broker, session)
    then = _next_state(image, request, tracker, session, now)
    records = _transition(image, broker, now, then)
    records += _directory_changes(image, broker, request)
    response = BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= session.registered_at,
        is_fenced=then.is_fenced,
        should_shut_down=then is BrokerState.SHUTDOWN_NOW,
        in_controlled_shutdown=then is BrokerState.CONTROLLED_SHUTDOWN,
    )
    return Decision(tuple(records), response)


def _current_state(broker: BrokerRegistration, session: Session) -> BrokerState:
    if session.is_shutting_down:
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.FENCED if broker.fenced else BrokerState.UNFENCED


def _next_state(
    image: MetadataImage,
    request: BrokerHeartbeatRequest,
    tracker: HeartbeatTracker,
    session: Session,
    now: BrokerState,
) -> BrokerState:
    if now is BrokerState.FENCED:
        return _next_of_fenced(request, session)
    if now is BrokerState.UNFENCED:
        return _next_of_unfenced(image, request)
    if has_leaderships(image, request.broker_id):
        return BrokerState.CONTROLLED_SHUTDOWN
    # The others must have heard that this broker leads nothing any more before it may go.
    everyone_knows = session.controlled_shutdown_offset <= tracker.lowest_active_offset(image)
    return BrokerState.SHUTDOWN_NOW if everyone_knows else BrokerState.CONTROLLED_SHUTDOWN


def _next_of_fenced(request: BrokerHeartbeatRequest, session: Session) -> BrokerState:
    if request.want_shut_down:
        return BrokerState.SHUTDOWN_NOW
    if not request.want_fence and request.current_metadata_offset >= session.registered_at:
        return BrokerState.UNFENCED
    return BrokerState.FENCED


def _next_of_unfenced(image: MetadataImage, request: BrokerHeartbeatRequest) -> BrokerState:
    if request.want_fence:
        return BrokerState.SHUTDOWN_NOW if request.want_shut_down else BrokerState.FENCED
    if not request.want_shut_down:
        return BrokerState.UNFENCED
    if has_leaderships(image, request.broker_id):
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.SHUTDOWN_NOW


def _transition(
    image: MetadataImage, broker: BrokerRegistration, now: BrokerState, then: BrokerState
) -> list[VersionedRecord]:
    if now is then:
        return []
    if then.is_fenced:
        return records_of_fencing(image, broker)
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    if then is BrokerState.UNFENCED:
        return [VersionedRecord(replace(change, fenced=UNFENCE), 0), *records_with_leader(image, broker)]
    records = records_without_leader(image, broker.id)
    if not broker.in_controlled_shutdown:
        records.insert(0, VersionedRecord(replace(change, in_controlled_shutdown=IN_CONTROLLED_SHUTDOWN), 1))
    return records


def records_of_fencing(image: MetadataImage, broker: BrokerRegistration) -> list[VersionedRecord]:
    """Take a broker's leaderships, then fence it; nothing for one that is fenced already."""
    if broker.fenced:
        return []
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=FENCE)
    return [*records_without_leader(image, broker.id), VersionedRecord(change, 0)]


def _directory_changes(
    image: MetadataImage, broker: BrokerRegistration, request: BrokerHeartbeatRequest
) -> list[VersionedRecord]:
    level = image.features.require_metadata_version()
    records: list[VersionedRecord] = []
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    lost = _known(broker, request.offline_log_dirs)
    if lost and level.has_directories:
        left = tuple(one for one in broker.directories if one not in lost)
        records += records_of_lost_directories(image, broker.id, lost)
        records.append(VersionedRecord(replace(change, log_dirs=left), 2))
    if request.cordoned_log_dirs is not None and level.has_cordoned_log_dirs:
        cordoned = tuple(sorted(one for one in request.cordoned_log_dirs if one is not None))
        if cordoned != tuple(sorted(broker.cordoned_directories or ())):
            records.append(VersionedRecord(replace(change, cordoned_log_dirs=cordoned), 3))
    return records


def _known(broker: BrokerRegistration, directories: Collection[UUID | None]) -> set[UUID]:
    return {one for one in directories if one is not None and one in broker.directories}


def decide_fence_broker(image: MetadataImage, broker_id: int) -> Decision[bool]:
    """Fence a broker whose session has expired; false if there was nothing to fence."""
    broker = image.cluster.brokers.get(broker_id)
    records = () if broker is None else tuple(records_of_fencing(image, broker))
    return Decision(records, bool(records))


def decide_unregister_broker(image: MetadataImage, broker_id: int) -> Decision[UnregisterBrokerResponse]:
    """Forget a broker (KIP-746); its partitions stay, without a leader."""
    broker = image.cluster.brokers.get(broker_id)
    if broker is None:
        message = f"Broker ID {broker_id} is not currently registered"
        return Decision((), UnregisterBrokerResponse(ErrorCode.broker_id_not_registered, message))
    record = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    records = (*records_without_leader(image, broker_id), VersionedRecord(record, 0))
    return Decision(records, UnregisterBrokerResponse())
