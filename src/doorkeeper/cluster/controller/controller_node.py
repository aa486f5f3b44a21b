"""What a decision may know of the controller that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.rules.config_schema import BROKER, ConfigProblem, default_value, load_schema, parse_value

CLUSTER_DEFAULT: Final = ""
"""The name of the BROKER resource whose configs hold for every broker."""


@dataclass(frozen=True, slots=True)
class ControllerNode:
    """The active controller: its id, and its server.properties."""

    id: int
    static: Mapping[str, str] = field(default_factory=dict, repr=False)

    def integer(self, key: str) -> int:
        """A number from server.properties, or Kafka's default; a value that does not parse counts as not set."""
        definition = load_schema(BROKER)[key]
        value = parse_value(definition, self.static.get(key)) if key in self.static else default_value(definition)
        if isinstance(value, ConfigProblem):
            value = default_value(definition)
        assert isinstance(value, int)
        return value


def cluster_configs(image: MetadataImage) -> Mapping[str, str]:
    """The dynamic configs that hold for every broker."""
    return image.configs.of(ConfigResourceType.BROKER, CLUSTER_DEFAULT)


def node_configs(image: MetadataImage, node_id: int) -> Mapping[str, str]:
    """The dynamic configs of one node."""
    return image.configs.of(ConfigResourceType.BROKER, str(node_id))
