"""Entity types of the tool, and what the protocol calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.cli.configs_options import (
    BROKER_LOGGERS,
    BROKERS,
    CLIENT_METRICS,
    CLIENTS,
    GROUPS,
    IPS,
    TOPICS,
    USERS,
    RefusedError,
)
from doorkeeper.client import DEFAULT, ConfigResource, ConfigSource, QuotaEntity, QuotaFilter, ResourceType
from doorkeeper.rules.names import check_topic_name

if TYPE_CHECKING:
    from collections.abc import Sequence

RESOURCE_TYPES: Final = {
    TOPICS: ResourceType.TOPIC,
    BROKERS: ResourceType.BROKER,
    BROKER_LOGGERS: ResourceType.BROKER_LOGGER,
    CLIENT_METRICS: ResourceType.CLIENT_METRICS,
    GROUPS: ResourceType.GROUP,
}
DYNAMIC_SOURCES: Final = {
    TOPICS: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    BROKERS: ConfigSource.DYNAMIC_BROKER_CONFIG,
    CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    GROUPS: ConfigSource.DYNAMIC_GROUP_CONFIG,
}
QUOTA_TYPES: Final = {USERS: "user", CLIENTS: "client-id", IPS: "ip"}


def to_resource(entity_type: str, name: str) -> ConfigResource:
    """The resource of an entity.

    :raises RefusedError: for a topic name that is none.
    """
    if entity_type == TOPICS and name:
        violation = check_topic_name(name)
        if violation is not None:
            raise RefusedError(violation.message)
    return ConfigResource(RESOURCE_TYPES[entity_type], name)


def dynamic_source(resource: ConfigResource, entity_type: str) -> ConfigSource | None:
    """Where a value must come from to be the resource's own; None: anywhere (loggers)."""
    if resource == ConfigResource(ResourceType.BROKER, ""):
        return ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return DYNAMIC_SOURCES.get(entity_type)


def to_quota_entity(entity_types: Sequence[str], names: Sequence[str]) -> QuotaEntity:
    """Users, clients and addresses as one entity; the empty name is the default."""
    named = {kind: name or DEFAULT for kind, name in zip(entity_types, names, strict=True)}
    return QuotaEntity(user=named.get(USERS), client_id=named.get(CLIENTS), ip=named.get(IPS))


def to_quota_filters(entity_types: Sequence[str], names: Sequence[str]) -> list[QuotaFilter]:
    """What `--describe` asks for: a type without a name means all that are named.

    :raises RefusedError: when there are more names than types.
    """
    if len(names) > len(entity_types):
        raise RefusedError("More entity names specified than entity types")
    padded = [*names, *[None] * (len(entity_types) - len(names))]
    return [
        QuotaFilter(QUOTA_TYPES[kind], DEFAULT if name == "" else name)
        for kind, name in zip(entity_types, padded, strict=True)
    ]
