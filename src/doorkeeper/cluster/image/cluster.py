"""The nodes of the cluster. From ClusterImage and ClusterDelta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from doorkeeper.cluster.image.maps import MapDelta
from doorkeeper.cluster.image.registrations import BrokerRegistration, ControllerRegistration, OnLoss
from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


@dataclass(frozen=True, slots=True)
class ClusterImage:
    brokers: Mapping[int, BrokerRegistration] = field(default_factory=dict)
    controllers: Mapping[int, ControllerRegistration] = field(default_factory=dict)

    EMPTY: ClassVar[ClusterImage]

    def to_records(self, level: MetadataVersion, on_loss: OnLoss) -> Iterator[VersionedRecord]:
        for broker_id in sorted(self.brokers):
            yield self.brokers[broker_id].to_record(level, on_loss)
        if self.controllers and not level.has_controller_registration:
            on_loss("controller registrations")
            return
        for controller_id in sorted(self.controllers):
            yield self.controllers[controller_id].to_record()


ClusterImage.EMPTY = ClusterImage()


class ClusterDelta:
    def __init__(self, image: ClusterImage) -> None:
        self.brokers = MapDelta(image.brokers)
        self.controllers = MapDelta(image.controllers)

    def replay_register_broker(self, record: RegisterBrokerRecord) -> None:
        self.brokers.put(record.broker_id, BrokerRegistration.from_record(record))

    def replay_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self.brokers.remove(record.broker_id)

    def replay_register_controller(self, record: RegisterControllerRecord) -> None:
        self.controllers.put(record.controller_id, ControllerRegistration.from_record(record))

    def replay_fence(self, record: FenceBrokerRecord) -> None:
        self.brokers.put(record.id, replace(self._require(record.id, record.epoch), fenced=True))

    def replay_unfence(self, record: UnfenceBrokerRecord) -> None:
        self.brokers.put(record.id, replace(self._require(record.id, record.epoch), fenced=False))

    def replay_change(self, record: BrokerRegistrationChangeRecord) -> None:
        before = self._require(record.broker_id, record.broker_epoch)
        self.brokers.put(record.broker_id, before.changed_by(record))

    def _require(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise ReplayError(f"broker {broker_id} is changed, but not registered")
        if broker.epoch != epoch:
            raise ReplayError(f"broker {broker_id} is changed at epoch {epoch}, but registered at {broker.epoch}")
        return broker

    def apply(self) -> ClusterImage:
        return ClusterImage(self.brokers.apply(), self.controllers.apply())
