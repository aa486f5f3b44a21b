"""Committed offsets, and those that wait for the end of their transaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from doorkeeper.wire.metadata.schema import ZERO_UUID

if TYPE_CHECKING:
    from doorkeeper.wire.coordinator_records import OffsetCommitValue

NO_PRODUCER_ID = -1


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """One commit."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = -1
    expire_timestamp_ms: int | None = None
    """Set by clients of OffsetCommit v2-v4 only."""
    topic_id: UUID = ZERO_UUID
    record_offset: int = -1
    """Where in the log it stands: of two commits the later one counts, whenever its transaction ended."""

    @classmethod
    def of(cls, value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
        return cls(
            offset=value.offset,
            leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            commit_timestamp_ms=value.commit_timestamp,
            expire_timestamp_ms=None if value.expire_timestamp == -1 else value.expire_timestamp,
            topic_id=value.topic_id,
            record_offset=record_offset,
        )


PartitionOffsets: TypeAlias = dict[int, CommittedOffset]
GroupOffsets: TypeAlias = dict[str, PartitionOffsets]
"""By topic name and partition."""


@dataclass(slots=True)
class Offsets:
    """Offsets by group, topic and partition; nothing empty is kept."""

    by_group: dict[str, GroupOffsets] = field(default_factory=dict)

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self.by_group.get(group_id, {}).get(topic, {}).get(partition)

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        self.by_group.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self.by_group.get(group_id, {})
        partitions = topics.get(topic, {})
        partitions.pop(partition, None)
        if topic in topics and not partitions:
            del topics[topic]
        if group_id in self.by_group and not topics:
            del self.by_group[group_id]

    def __iter__(self) -> Iterator[tuple[str, str, int, CommittedOffset]]:
        for group_id, topics in self.by_group.items():
            for topic, partitions in topics.items():
                for partition, committed in partitions.items():
                    yield group_id, topic, partition, committed


@dataclass(slots=True)
class OffsetStore:
    """What the log says about offsets."""

    committed: Offsets = field(default_factory=Offsets)
    pending: dict[int, Offsets] = field(default_factory=dict)
    """By producer id."""

    open_transactions: dict[tuple[str, str, int], set[int]] = field(default_factory=dict)
    """Producer ids by group, topic and partition, so that a fetch need not look at every transaction."""

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether a transaction that has not ended commits this partition."""
        return (group_id, topic, partition) in self.open_transactions

    def has_pending(self, group_id: str) -> bool:
        return any(group_id in offsets.by_group for offsets in self.pending.values())

    def partitions_of(self, group_id: str) -> dict[tuple[str, int], None]:
        """Every partition that the group has a commit for, pending ones included, each once."""
        sources = (self.committed, *self.pending.values())
        return {
            (topic, partition): None
            for offsets in sources
            for topic, partitions in offsets.by_group.get(group_id, {}).items()
            for partition in partitions
        }

    # --- changes, by replay only ---

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset, producer_id: int) -> None:
        if producer_id == NO_PRODUCER_ID:
            self.committed.put(group_id, topic, partition, committed)
            return
        self.pending.setdefault(producer_id, Offsets()).put(group_id, topic, partition, committed)
        self.open_transactions.setdefault((group_id, topic, partition), set()).add(producer_id)

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Forget a partition, in open transactions too."""
        self.committed.remove(group_id, topic, partition)
        for producer_id in self.open_transactions.pop((group_id, topic, partition), ()):
            self.pending[producer_id].remove(group_id, topic, partition)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Make a transaction's offsets count, but for those that a later commit has overtaken; or forget them."""
        for group_id, topic, partition, committed in self.pending.pop(producer_id, Offsets()):
            self._close(group_id, topic, partition, producer_id)
            existing = self.committed.get(group_id, topic, partition)
            if commit and (existing is None or committed.record_offset > existing.record_offset):
                self.committed.put(group_id, topic, partition, committed)

    def _close(self, group_id: str, topic: str, partition: int, producer_id: int) -> None:
        producers = self.open_transactions[group_id, topic, partition]
        producers.discard(producer_id)
        if not producers:
            del self.open_transactions[group_id, topic, partition]
