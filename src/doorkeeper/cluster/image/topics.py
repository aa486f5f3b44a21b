"""Topics and partitions. From TopicsImage, TopicsDelta, TopicDelta and PartitionRegistration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, TypeVar
from uuid import UUID

from doorkeeper.cluster.image.maps import MapDelta
from doorkeeper.cluster.image.registrations import OnLoss
from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata.levels import MetadataVersion
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import (
    NO_LEADER_CHANGE,
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

K = TypeVar("K")

DIRECTORY_MIGRATING: Final = UUID(int=0)
"""org.apache.kafka.common.DirectoryId: where a replica lies is not known yet."""
DIRECTORY_UNASSIGNED: Final = UUID(int=1)
DIRECTORY_LOST: Final = UUID(int=2)
NO_RECOVERY_STATE_CHANGE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRegistration:
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[UUID, ...] = ()
    """One for each replica."""
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @classmethod
    def from_record(cls, record: PartitionRecord) -> PartitionRegistration:
        return cls(
            replicas=record.replicas,
            isr=record.isr,
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            directories=_directories(record.directories, record.replicas),
            removing_replicas=record.removing_replicas,
            adding_replicas=record.adding_replicas,
            leader_recovery_state=record.leader_recovery_state,
            elr=record.eligible_leader_replicas or (),
            last_known_elr=record.last_known_elr or (),
        )

    def changed_by(self, record: PartitionChangeRecord) -> PartitionRegistration:
        """This partition after a change record: every one bumps the partition epoch, a leader also the leader epoch."""
        replicas = _or(record.replicas, self.replicas)
        has_new_leader = record.leader != NO_LEADER_CHANGE
        has_new_state = record.leader_recovery_state != NO_RECOVERY_STATE_CHANGE
        return PartitionRegistration(
            replicas=replicas,
            isr=_or(record.isr, self.isr),
            leader=record.leader if has_new_leader else self.leader,
            leader_epoch=self.leader_epoch + has_new_leader,
            partition_epoch=self.partition_epoch + 1,
            directories=_directories(
                self.directories if record.directories is None else record.directories,
                replicas,
            ),
            removing_replicas=_or(record.removing_replicas, self.removing_replicas),
            adding_replicas=_or(record.adding_replicas, self.adding_replicas),
            leader_recovery_state=record.leader_recovery_state if has_new_state else self.leader_recovery_state,
            elr=_or(record.eligible_leader_replicas, self.elr),
            last_known_elr=_or(record.last_known_elr, self.last_known_elr),
        )

    def without_elr(self) -> PartitionRegistration:
        """What ClearElrRecord does; without an ELR nothing changes, not even the epoch."""
        if not self.elr and not self.last_known_elr:
            return self
        return replace(self, elr=(), last_known_elr=(), partition_epoch=self.partition_epoch + 1)

    def to_record(self, topic_id: UUID, partition_id: int, level: MetadataVersion, on_loss: OnLoss) -> VersionedRecord:
        has_directories = level.has_directories
        has_elr = level.has_eligible_leader_replicas
        if not has_directories and any(one != DIRECTORY_MIGRATING for one in self.directories):
            on_loss(f"directories of partition {partition_id} of topic {topic_id}")
        if not has_elr and (self.elr or self.last_known_elr):
            on_loss(f"eligible leader replicas of partition {partition_id} of topic {topic_id}")
        record = PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=self.replicas,
            isr=self.isr,
            removing_replicas=self.removing_replicas,
            adding_replicas=self.adding_replicas,
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=self.directories if has_directories else (),
            eligible_leader_replicas=(self.elr or None) if has_elr else None,
            last_known_elr=(self.last_known_elr or None) if has_elr else None,
        )
        return VersionedRecord(record, level.partition_record_version)


def _or(change: tuple[int, ...] | None, now: tuple[int, ...]) -> tuple[int, ...]:
    return now if change is None else change


def _directories(directories: tuple[UUID, ...], replicas: tuple[int, ...]) -> tuple[UUID, ...]:
    """As Kafka's defaultToMigrating: nothing known for any replica means migrating for all."""
    if all(one == DIRECTORY_MIGRATING for one in directories):
        return (DIRECTORY_MIGRATING,) * len(replicas)
    if len(directories) != len(replicas):
        raise ReplayError(f"{len(replicas)} replicas have {len(directories)} directories")
    return directories


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    id: UUID
    partitions: Mapping[int, PartitionRegistration] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicsImage:
    by_id: Mapping[UUID, TopicImage] = field(default_factory=dict)
    by_name: Mapping[str, TopicImage] = field(default_factory=dict)

    EMPTY: ClassVar[TopicsImage]

    def to_records(self, level: MetadataVersion, on_loss: OnLoss) -> Iterator[VersionedRecord]:
        for name in sorted(self.by_name):
            topic = self.by_name[name]
            yield VersionedRecord(TopicRecord(name=name, topic_id=topic.id), 0)
            for partition_id in sorted(topic.partitions):
                yield topic.partitions[partition_id].to_record(topic.id, partition_id, level, on_loss)


TopicsImage.EMPTY = TopicsImage()


class TopicsDelta:
    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        self.by_id = MapDelta(image.by_id)
        self.by_name = MapDelta(image.by_name)
        self._partitions: dict[UUID, MapDelta[int, PartitionRegistration]] = {}

    def replay_topic(self, record: TopicRecord) -> None:
        topic = TopicImage(record.name, record.topic_id)
        self.by_id.put(topic.id, topic)
        self.by_name.put(topic.name, topic)
        self._partitions[topic.id] = MapDelta(topic.partitions)

    def replay_partition(self, record: PartitionRecord) -> None:
        partitions = self._changes_of(record.topic_id)
        partitions.put(record.partition_id, PartitionRegistration.from_record(record))

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        partitions = self._changes_of(record.topic_id)
        before = partitions.get(record.partition_id)
        if before is None:
            raise ReplayError(f"partition {record.partition_id} of topic {record.topic_id} is changed, but not there")
        partitions.put(record.partition_id, before.changed_by(record))

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        if not record.topic_name:
            topic_ids = list(self.by_id)
        else:
            topic = self.by_name.get(record.topic_name)
            if topic is None:
                raise ReplayError(f"the ELR of topic {record.topic_name} is cleared, but there is no such topic")
            topic_ids = [topic.id]
        for topic_id in topic_ids:
            partitions = self._changes_of(topic_id)
            for partition_id in list(partitions):
                before = partitions.get(partition_id)
                if before is not None and before.without_elr() is not before:
                    partitions.put(partition_id, before.without_elr())

    def replay_remove(self, record: RemoveTopicRecord) -> str:
        """Remove a topic and say its name."""
        topic = self.by_id.get(record.topic_id)
        if topic is None:
            raise ReplayError(f"topic {record.topic_id} is removed, but there is no such topic")
        self.by_id.remove(topic.id)
        self.by_name.remove(topic.name)
        self._partitions.pop(topic.id, None)
        return topic.name

    def _changes_of(self, topic_id: UUID) -> MapDelta[int, PartitionRegistration]:
        changes = self._partitions.get(topic_id)
        if changes is None:
            topic = self.by_id.get(topic_id)
            if topic is None:
                raise ReplayError(f"a partition of topic {topic_id} is changed, but there is no such topic")
            changes = self._partitions[topic_id] = MapDelta(topic.partitions)
        return changes

    def apply(self) -> TopicsImage:
        by_id, by_name = dict(self.by_id.changes), dict(self.by_name.changes)
        for topic_id, changes in self._partitions.items():
            topic = self.by_id.get(topic_id)
            if topic is None or not changes.changes:
                continue
            by_id[topic_id] = by_name[topic.name] = replace(topic, partitions=changes.apply())
        if not by_id:
            return self._image
        return TopicsImage(_applied(self._image.by_id, by_id), _applied(self._image.by_name, by_name))


def _applied(base: Mapping[K, TopicImage], changes: dict[K, TopicImage | None]) -> Mapping[K, TopicImage]:
    delta = MapDelta(base)
    delta.changes.update(changes)
    return delta.apply()
