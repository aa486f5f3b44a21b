"""What the cluster tells of its brokers' configs, as the rulebook wants it. Pure.

DescribeConfigs with synonyms tells every layer of a broker's configs: what stands in its server.properties, what is
stored for it, and what is stored for all. Sensitive values are not told, and not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from doorkeeper.rules.config_change import (
    BrokerContext,
    BrokerDoor,
    ConfigEntry,
    Context,
    ControllerDoor,
    Features,
    Operation,
    ResourceChange,
    ResourceType,
)

METADATA_VERSION: Final = "metadata.version"
ELR_VERSION: Final = "eligible.leader.replicas.version"


class Source(IntEnum):
    """Where a config comes from (DescribeConfigsResponse.ConfigSource); the ones that concern brokers."""

    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """One broker's configs, layer by layer."""

    static: Mapping[str, str] = field(repr=False)
    own: Mapping[str, str] = field(repr=False)
    """Stored for this broker."""
    default: Mapping[str, str] = field(repr=False)
    """Stored for all."""


def read_layers(configs: Sequence[Any]) -> Reading:
    """Sort the synonyms of a DescribeConfigs result by their source."""
    layers: dict[int, dict[str, str]] = {source: {} for source in Source}
    for config in configs:
        for synonym in config.synonyms:
            layer = layers.get(synonym.source)
            if layer is not None and synonym.value is not None:
                layer[synonym.name] = synonym.value
    return Reading(layers[Source.STATIC_BROKER], layers[Source.DYNAMIC_BROKER], layers[Source.DYNAMIC_DEFAULT_BROKER])


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """What is known of the cluster when a change is judged."""

    brokers: Mapping[int, Reading | None]
    """Every registered broker; None for one that can't be asked and never could."""
    features: Features = field(default_factory=Features)

    @property
    def default(self) -> Mapping[str, str]:
        """The cluster-wide default: every broker that answers tells the same."""
        return next((one.default for one in self.brokers.values() if one is not None), {})

    def context(self, door: BrokerDoor | ControllerDoor) -> Context:
        """What a change is judged against. Which plugins lie on the brokers' class paths nobody can know."""
        dynamic: dict[tuple[ResourceType, str], Mapping[str, str]] = {(ResourceType.BROKER, ""): self.default}
        for node_id, one in self.brokers.items():
            if one is not None and one.own:
                dynamic[ResourceType.BROKER, str(node_id)] = one.own
        return Context(
            brokers={
                node_id: BrokerContext(static=None if one is None else one.static)
                for node_id, one in self.brokers.items()
            },
            dynamic=dynamic,
            door=door,
            features=self.features,
            plugins=None,
        )


def features_of(finalized: Mapping[str, int]) -> Features:
    """The levels that change a verdict, out of an ApiVersions response."""
    known = Features()
    return Features(
        finalized.get(METADATA_VERSION, known.metadata_version),
        finalized.get(ELR_VERSION, 0),
    )


def changes_of(resources: Sequence[Any], *, legacy: bool) -> list[ResourceChange]:
    """A request of IncrementalAlterConfigs, or of AlterConfigs (`legacy`), for the rulebook."""
    return [
        ResourceChange(
            one.resource_type,
            one.resource_name,
            tuple(
                ConfigEntry(entry.name, getattr(entry, "config_operation", Operation.SET), entry.value)
                for entry in one.configs
            ),
            legacy,
        )
        for one in resources
    ]
