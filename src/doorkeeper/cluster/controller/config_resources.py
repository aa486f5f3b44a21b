"""Which resources have configs (KIP-1142). From KafkaApis.handleListConfigResources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.metadata import MetadataImage

_ORDER: Final = (
    ConfigResourceType.GROUP,
    ConfigResourceType.CLIENT_METRICS,
    ConfigResourceType.BROKER_LOGGER,
    ConfigResourceType.BROKER,
    ConfigResourceType.TOPIC,
)
_WITH_VERSION_0: Final = (ConfigResourceType.CLIENT_METRICS,)
"""Version 0 was ListClientMetricsResources."""


@dataclass(frozen=True, slots=True)
class ListedConfigResource:
    resource_name: str
    resource_type: int


@dataclass(frozen=True, slots=True)
class ListConfigResourcesResponse:
    error_code: int = ErrorCode.none
    config_resources: tuple[ListedConfigResource, ...] = ()


def list_config_resources(
    image: MetadataImage, resource_types: tuple[int, ...], *, api_version: int
) -> ListConfigResourcesResponse:
    """Groups and client metrics with configs, and every broker and topic; no types asked for means all."""
    supported = _WITH_VERSION_0 if api_version == 0 else _ORDER
    if any(one not in supported for one in resource_types):
        return ListConfigResourcesResponse(ErrorCode.unsupported_version)
    wanted = resource_types or supported
    return ListConfigResourcesResponse(
        config_resources=tuple(
            ListedConfigResource(name, resource_type)
            for resource_type in _ORDER
            if resource_type in wanted
            for name in _names(image, resource_type)
        )
    )


def _names(image: MetadataImage, resource_type: ConfigResourceType) -> Iterator[str]:
    if resource_type is ConfigResourceType.TOPIC:
        yield from sorted(image.topics.by_name)
    elif resource_type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
        yield from map(str, sorted(image.cluster.brokers))
    else:
        yield from sorted(one.name for one in image.configs.resources if one.type == resource_type)
