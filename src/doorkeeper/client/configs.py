"""Configs of topics, brokers, loggers, client metrics and groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from doorkeeper.client.api import Api, check_whole
from doorkeeper.client.errors import (
    InvalidRequestError,
    KafkaError,
    UnknownServerError,
    UnsupportedVersionError,
    error_for,
)
from doorkeeper.client.results import Results
from doorkeeper.client.router import Target
from doorkeeper.rules.config_request import Operation, ResourceType
from doorkeeper.rules.javatext import escape_for_display, parse_int
from doorkeeper.wire.kafka_enum import KafkaEnum

DESCRIBE_CONFIGS: Final = 32
ALTER_CONFIGS: Final = 33
INCREMENTAL_ALTER_CONFIGS: Final = 44
LIST_CONFIG_RESOURCES: Final = 74


class ConfigSource(KafkaEnum):
    """Where a value comes from; Kafka's names (ConfigEntry.ConfigSource) and numbers on the wire."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigValueType(KafkaEnum):
    """The type of a key (ConfigEntry.ConfigType)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True, slots=True)
class ConfigResource:
    """What has configs; the brokers' cluster-wide default is BROKER with the empty name."""

    type: ResourceType
    name: str

    @property
    def node_id(self) -> int | None:
        """The one node that can answer about it, if there is only one (KafkaAdminClient.nodeFor).

        :raises InvalidRequestError: for a broker name that is no number.
        """
        if self.type is ResourceType.BROKER_LOGGER or (self.type is ResourceType.BROKER and self.name):
            number = parse_int(self.name)
            if number is None:
                raise InvalidRequestError(f"'{escape_for_display(self.name)}' is no broker id")
            return number
        return None


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """One of the places that a key's value may come from."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """One key of a resource. A sensitive key has no value: it never leaves the broker."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    type: ConfigValueType
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None


@dataclass(frozen=True, slots=True)
class AlterConfigOp:
    """One step of a change. Its value does not show in `repr`: it may be a secret."""

    name: str
    value: str | None
    operation: Operation = Operation.SET

    def __repr__(self) -> str:
        return f"AlterConfigOp({self.operation.name} {self.name})"


class ConfigsApi(Api):
    """The part of Admin about configs."""

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Sequence[str] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> Results[ConfigResource, tuple[DescribedConfig, ...]]:
        """The configs of each resource; of `keys` only, if given.

        A broker's are asked of that broker (of the controller with that id, with bootstrap controllers).
        """
        outcomes = []
        for node, asked in _by_node(resources, per_node=True).items():
            values = {
                "resources": [
                    {"resource_type": one.type, "resource_name": one.name, "configuration_keys": keys} for one in asked
                ],
                "include_synonyms": include_synonyms,
                "include_documentation": include_documentation,
            }
            answer = await self._router.call(Target.ANY if node is None else node, DESCRIBE_CONFIGS, values)
            outcomes += [(*_identify(item), _described(item), _error(item)) for item in answer.results]
        return Results((ConfigResource(kind, name), value, error) for kind, name, value, error in outcomes)

    async def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Iterable[AlterConfigOp]], *, validate_only: bool = False
    ) -> Results[ConfigResource, None]:
        """Change single keys; what is not named stays. With `validate_only` the change is judged and not stored."""
        described = {
            resource: [{"name": op.name, "config_operation": op.operation, "value": op.value} for op in ops]
            for resource, ops in changes.items()
        }
        return await self._alter(INCREMENTAL_ALTER_CONFIGS, described, validate_only)

    async def alter_configs(
        self, configs: Mapping[ConfigResource, Mapping[str, str | None]], *, validate_only: bool = False
    ) -> Results[ConfigResource, None]:
        """Replace all of a resource's dynamic configs (the old AlterConfigs): what is not named is removed."""
        described = {
            resource: [{"name": name, "value": value} for name, value in entries.items()]
            for resource, entries in configs.items()
        }
        return await self._alter(ALTER_CONFIGS, described, validate_only)

    async def _alter(
        self, api_key: int, changes: Mapping[ConfigResource, list[dict[str, Any]]], validate_only: bool
    ) -> Results[ConfigResource, None]:
        outcomes: list[tuple[ConfigResource, None, KafkaError | None]] = []
        for node, resources in _by_node(changes, per_node=not self._router.controllers).items():
            values = {
                "resources": [
                    {"resource_type": one.type, "resource_name": one.name, "configs": changes[one]} for one in resources
                ],
                "validate_only": validate_only,
            }
            answer = await self._router.call(Target.ANY if node is None else node, api_key, values)
            answered = {ConfigResource(*_identify(item)): _error(item) for item in answer.responses}
            outcomes += [(one, None, answered.get(one, _UNANSWERED)) for one in resources]
        return Results(outcomes)

    async def list_config_resources(self, types: Iterable[ResourceType] = ()) -> list[ConfigResource]:
        """Every resource of the given types (all types if none) that configs may be stored for.

        :raises UnsupportedVersionError: when the cluster is older than 4.1 and can list client metrics only.
        """
        wanted = list(types)
        answer = await self._router.call(
            Target.ANY_BROKER, LIST_CONFIG_RESOURCES, {"resource_types": wanted}, check_whole
        )
        found = answer.config_resources
        if found and not hasattr(found[0], "resource_type") and wanted != [ResourceType.CLIENT_METRICS]:
            raise UnsupportedVersionError("The cluster can list client metrics resources only")
        metrics = ResourceType.CLIENT_METRICS
        return [
            ConfigResource(ResourceType(getattr(one, "resource_type", metrics)), one.resource_name) for one in found
        ]


_UNANSWERED: Final = UnknownServerError("The answer did not contain a result for this resource.")


def _by_node(resources: Iterable[ConfigResource], *, per_node: bool) -> dict[int | None, list[ConfigResource]]:
    """Which node each resource is asked of; loggers have always their own node."""
    grouped: dict[int | None, list[ConfigResource]] = defaultdict(list)
    for resource in dict.fromkeys(resources):
        own = per_node or resource.type is ResourceType.BROKER_LOGGER
        grouped[resource.node_id if own else None].append(resource)
    return grouped


def _identify(item: Any) -> tuple[ResourceType, str]:
    return ResourceType(item.resource_type), item.resource_name


def _error(item: Any) -> KafkaError | None:
    return error_for(item.error_code, item.error_message)


def _described(item: Any) -> tuple[DescribedConfig, ...]:
    return tuple(
        DescribedConfig(
            name=one.name,
            value=one.value,
            source=ConfigSource(one.config_source),
            is_sensitive=one.is_sensitive,
            is_read_only=one.read_only,
            type=ConfigValueType(getattr(one, "config_type", 0)),
            synonyms=tuple(ConfigSynonym(syn.name, syn.value, ConfigSource(syn.source)) for syn in one.synonyms),
            documentation=getattr(one, "documentation", None),
        )
        for one in item.configs
    )
