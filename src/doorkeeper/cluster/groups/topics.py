"""What the coordinator has to know about topics: names, ids, partitions and their racks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

_HASH_BYTES = 8  # Kafka keeps the hash in an int64


@dataclass(frozen=True)
class TopicView:
    """One topic, as far as groups care."""

    name: str
    topic_id: UUID
    partition_count: int
    racks: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Racks of each partition's replicas; a partition without known racks is left out."""

    @cached_property
    def digest(self) -> bytes:
        """Changes when anything does that an assignment may depend on (Kafka's Utils.computeTopicHash)."""
        racks = ";".join(f"{partition}:{','.join(sorted(racks))}" for partition, racks in sorted(self.racks.items()))
        text = f"{self.topic_id.hex}/{self.name}/{self.partition_count}/{racks}"
        return hashlib.blake2b(text.encode(), digest_size=_HASH_BYTES).digest()


@dataclass(frozen=True)
class TopicsView:
    """All topics at one version of the metadata."""

    topics: Mapping[str, TopicView] = field(default_factory=dict)
    version: int = 0

    @classmethod
    def of(cls, topics: Iterable[TopicView], version: int = 0) -> TopicsView:
        return cls({topic.name: topic for topic in topics}, version)

    @cached_property
    def _by_id(self) -> Mapping[UUID, TopicView]:
        return {topic.topic_id: topic for topic in self.topics.values()}

    def by_name(self, name: str) -> TopicView | None:
        return self.topics.get(name)

    def by_id(self, topic_id: UUID) -> TopicView | None:
        return self._by_id.get(topic_id)

    def ids_of(self, names: Iterable[str]) -> set[UUID]:
        """The ids of those of the names that are topics."""
        return {self.topics[name].topic_id for name in names if name in self.topics}

    def metadata_hash(self, names: Iterable[str]) -> int:
        """One number for the topics a group is subscribed to; 0 if none of them exists (Kafka's computeGroupHash).

        Kafka hashes with XXH3. The number is only ever compared with an earlier one of the same group, so any good hash
        serves; a group that moves from one server to the other is rebalanced once.
        """
        digests = [self.topics[name].digest for name in sorted(names) if name in self.topics]
        if not digests:
            return 0
        whole = hashlib.blake2b(b"".join(digests), digest_size=_HASH_BYTES).digest()
        return int.from_bytes(whole, "big", signed=True)
