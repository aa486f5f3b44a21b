"""Client quotas. From ClientQuotasImage and ClientQuotasDelta."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from doorkeeper.cluster.image.maps import MapDelta
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import ClientQuotaRecord, QuotaEntity

QuotaEntityKey = tuple[tuple[str, str | None], ...]
"""(type, name) pairs in the order of their types; a null name is the default of its type."""


def quota_entity_key(parts: Iterable[tuple[str, str | None]]) -> QuotaEntityKey:
    """The canonical form of an entity, whatever order its parts came in."""
    return tuple(sorted(dict(parts).items(), key=lambda part: part[0]))


@dataclass(frozen=True, slots=True)
class ClientQuotasImage:
    """Quota values by entity and key; an entity without any is not in the map."""

    entities: Mapping[QuotaEntityKey, Mapping[str, float]] = field(default_factory=dict)

    EMPTY: ClassVar[ClientQuotasImage]

    def to_records(self) -> Iterator[VersionedRecord]:
        for entity, quotas in self.entities.items():
            parts = tuple(QuotaEntity(entity_type=kind, entity_name=name) for kind, name in entity)
            for key in sorted(quotas):
                yield VersionedRecord(ClientQuotaRecord(entity=parts, key=key, value=quotas[key]), 0)


ClientQuotasImage.EMPTY = ClientQuotasImage()


class ClientQuotasDelta:
    def __init__(self, image: ClientQuotasImage) -> None:
        self._image = image
        self._changes: dict[QuotaEntityKey, MapDelta[str, float]] = {}

    @property
    def changed(self) -> frozenset[QuotaEntityKey]:
        """Entities that some record spoke of."""
        return frozenset(self._changes)

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = quota_entity_key((part.entity_type, part.entity_name) for part in record.entity)
        changes = self._changes.get(entity)
        if changes is None:
            changes = self._changes[entity] = MapDelta(self._image.entities.get(entity, {}))
        if record.remove:
            changes.remove(record.key)
        else:
            changes.put(record.key, record.value)

    def apply(self) -> ClientQuotasImage:
        entities = MapDelta(self._image.entities)
        for entity, changes in self._changes.items():
            if not changes.changes:
                continue
            after = changes.apply()
            if after:
                entities.put(entity, after)
            else:
                entities.remove(entity)
        return ClientQuotasImage(entities.apply()) if entities.changes else self._image
