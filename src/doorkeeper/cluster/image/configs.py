"""Dynamic configs of every resource. From ConfigurationsImage and ConfigurationsDelta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, Final, NamedTuple

from doorkeeper.cluster.image.maps import MapDelta
from doorkeeper.rules.redaction import shown
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import ConfigRecord


class ConfigResourceType(IntEnum):
    """org.apache.kafka.common.config.ConfigResource.Type."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """Whose configs; a broker's name is its id, or empty for the cluster-wide default."""

    type: int
    name: str


NO_CONFIGS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, repr=False)
class ConfigurationsImage:
    """Configs by resource; a resource without any is not in the map."""

    resources: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)

    EMPTY: ClassVar[ConfigurationsImage]

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        # A plain tuple is the same key, and made in a third of the time.
        return self.resources.get((resource_type, name), NO_CONFIGS)  # type: ignore[call-overload, no-any-return]

    def to_records(self) -> Iterator[VersionedRecord]:
        for resource in sorted(self.resources):
            for name, value in sorted(self.resources[resource].items()):
                yield VersionedRecord(
                    ConfigRecord(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        name=name,
                        value=value,
                    ),
                    0,
                )

    def __repr__(self) -> str:
        visible = {
            tuple(resource): {name: shown(resource.type, name, value) for name, value in configs.items()}
            for resource, configs in self.resources.items()
        }
        return f"ConfigurationsImage({visible})"


ConfigurationsImage.EMPTY = ConfigurationsImage()


class ConfigurationsDelta:
    def __init__(self, image: ConfigurationsImage) -> None:
        self._image = image
        self._changes: dict[ConfigResource, MapDelta[str, str]] = {}

    @property
    def changed(self) -> frozenset[ConfigResource]:
        """Resources that some record spoke of."""
        return frozenset(self._changes)

    def replay(self, record: ConfigRecord) -> None:
        changes = self._of(ConfigResource(record.resource_type, record.resource_name))
        if record.value is None:
            changes.remove(record.name)
        else:
            changes.put(record.name, record.value)

    def replay_remove_topic(self, topic_name: str) -> None:
        changes = self._of(ConfigResource(ConfigResourceType.TOPIC, topic_name))
        for name in list(changes):
            changes.remove(name)

    def _of(self, resource: ConfigResource) -> MapDelta[str, str]:
        changes = self._changes.get(resource)
        if changes is None:
            changes = self._changes[resource] = MapDelta(self._image.resources.get(resource, NO_CONFIGS))
        return changes

    def apply(self) -> ConfigurationsImage:
        resources = MapDelta(self._image.resources)
        for resource, changes in self._changes.items():
            if not changes.changes:
                continue
            after = changes.apply()
            if after:
                resources.put(resource, after)
            else:
                resources.remove(resource)
        return ConfigurationsImage(resources.apply()) if resources.changes else self._image
