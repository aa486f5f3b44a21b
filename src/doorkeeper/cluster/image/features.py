"""Finalized features, `metadata.version` first among them. From FeaturesImage and FeaturesDelta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from doorkeeper.cluster.image.maps import MapDelta
from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata.levels import FEATURE_NAME, MetadataVersion
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import FeatureLevelRecord

KRAFT_VERSION: Final = "kraft.version"
"""The raft layer keeps this level itself; Kafka ignores feature records of it (KAFKA-18979)."""


@dataclass(frozen=True, slots=True)
class FeaturesImage:
    """`metadata_version` is None only before the first record."""

    finalized: Mapping[str, int] = field(default_factory=dict)
    """Levels of all features but `metadata.version`."""
    metadata_version: MetadataVersion | None = None

    EMPTY: ClassVar[FeaturesImage]

    def require_metadata_version(self) -> MetadataVersion:
        if self.metadata_version is None:
            raise ReplayError("the metadata log does not say its metadata.version")
        return self.metadata_version

    def to_records(self) -> Iterator[VersionedRecord]:
        """The level of `metadata.version` first: it decides how the rest is read."""
        if self.metadata_version is not None:
            yield _level(FEATURE_NAME, self.metadata_version)
        for name in sorted(self.finalized):
            yield _level(name, self.finalized[name])


FeaturesImage.EMPTY = FeaturesImage()


def _level(name: str, level: int) -> VersionedRecord:
    return VersionedRecord(FeatureLevelRecord(name=name, feature_level=int(level)), 0)


class FeaturesDelta:
    def __init__(self, image: FeaturesImage) -> None:
        self._image = image
        self._metadata_version = image.metadata_version
        self.finalized = MapDelta(image.finalized)

    def replay(self, record: FeatureLevelRecord) -> None:
        if record.name == FEATURE_NAME:
            try:
                self._metadata_version = MetadataVersion(record.feature_level)
            except ValueError:
                raise ReplayError(f"metadata.version level {record.feature_level} is not known here") from None
        elif record.name == KRAFT_VERSION:
            return
        elif record.feature_level == 0:
            self.finalized.remove(record.name)
        else:
            self.finalized.put(record.name, record.feature_level)

    def apply(self) -> FeaturesImage:
        return FeaturesImage(self.finalized.apply(), self._metadata_version)
