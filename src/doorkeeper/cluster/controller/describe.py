"""The answer to DescribeConfigs. From ConfigHelper.describeConfigs; entries are made in `described_configs`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.controller_node import cluster_configs, node_configs
from doorkeeper.cluster.controller.decision import NO_MESSAGE, Failure
from doorkeeper.cluster.controller.described_configs import (
    BrokerConfigs,
    DescribeConfigsResourceResult,
    broker_entries,
    client_metrics_entries,
    cluster_entries,
    group_entries,
    logger_entries,
    topic_entries,
)
from doorkeeper.cluster.controller.topic_configs import BrokerLayers
from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.rules.config_documentation import document
from doorkeeper.rules.config_schema import BROKER, CLIENT_METRICS, GROUP, TOPIC, ConfigKey, load_schema
from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.names import check_topic_name


@dataclass(frozen=True, slots=True)
class DescribingNode:
    """The node that is asked: what it is configured with, and its loggers' levels."""

    id: int
    static: Mapping[str, str] = field(default_factory=dict, repr=False)
    loggers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DescribeConfigsResource:
    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None = None
    """None and none: all."""


@dataclass(frozen=True, slots=True)
class DescribeConfigsRequest:
    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool = False
    include_documentation: bool = False


@dataclass(frozen=True, slots=True)
class DescribeConfigsResult:
    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeConfigsResponse:
    results: tuple[DescribeConfigsResult, ...]


Entries = tuple[DescribeConfigsResourceResult, ...]


def describe_configs(
    image: MetadataImage, request: DescribeConfigsRequest, node: DescribingNode
) -> DescribeConfigsResponse:
    """The configs of each resource as the asked node knows them, or why not."""
    description = _Description(image, request, node)
    results = []
    for resource in request.resources:
        entries = description.of(resource)
        if isinstance(entries, Failure):
            result = DescribeConfigsResult(
                entries.code, entries.message or NO_MESSAGE, resource.resource_type, resource.resource_name
            )
        else:
            result = DescribeConfigsResult(
                ErrorCode.none,
                NO_MESSAGE,
                resource.resource_type,
                resource.resource_name,
                _asked_for(entries, resource),
            )
        results.append(result)
    return DescribeConfigsResponse(tuple(results))


def _asked_for(entries: Entries, resource: DescribeConfigsResource) -> Entries:
    if not resource.configuration_keys:
        return entries
    wanted = frozenset(resource.configuration_keys)
    return tuple(one for one in entries if one.name in wanted)


class _Description:
    """One request under way: what the resources of one kind share is made once."""

    def __init__(self, image: MetadataImage, request: DescribeConfigsRequest, node: DescribingNode) -> None:
        self._image = image
        self._with_synonyms = request.include_synonyms
        self._with_documentation = request.include_documentation
        self._node = node
        static = _with_node_id(node.static)
        self._configs = BrokerConfigs(BrokerLayers(node_configs(image, node.id), cluster_configs(image), static))
        self._without_own: dict[int, Entries] = {}

    def of(self, resource: DescribeConfigsResource) -> Entries | Failure:
        describe = _DESCRIBERS.get(resource.resource_type)
        if describe is None:
            return _invalid(f"Unexpected resource type UNKNOWN for resource {resource.resource_name}")
        return describe(self, resource.resource_name)

    def topic(self, name: str) -> Entries | Failure:
        violation = check_topic_name(name)
        if violation is not None:
            return Failure(ErrorCode(int(violation.code)), violation.message)
        if name not in self._image.topics.by_name:
            return Failure(ErrorCode.unknown_topic_or_partition)
        return self._stored(ConfigResourceType.TOPIC, TOPIC, name, topic_entries)

    def group(self, name: str) -> Entries | Failure:
        if not name:
            return _invalid("Group name must not be empty")
        return self._stored(ConfigResourceType.GROUP, GROUP, name, group_entries)

    def _stored(
        self,
        resource_type: ConfigResourceType,
        kind: str,
        name: str,
        entries_of: Callable[[Mapping[str, str], BrokerConfigs], Iterable[DescribeConfigsResourceResult]],
    ) -> Entries:
        own = self._image.configs.of(resource_type, name)
        if own:
            return self._trimmed(kind, entries_of(own, self._configs))
        shared = self._without_own.get(resource_type)
        if shared is None:
            shared = self._without_own[resource_type] = self._trimmed(kind, entries_of({}, self._configs))
        return shared

    def _trimmed(self, kind: str, entries: Iterable[DescribeConfigsResourceResult]) -> Entries:
        """With what the request asks for, and nothing more."""
        if not self._with_synonyms:
            entries = (replace(one, synonyms=()) if one.synonyms else one for one in entries)
        if self._with_documentation:
            schema = load_schema(kind)
            entries = (replace(one, documentation=_documentation(schema.get(one.name))) for one in entries)
        return tuple(entries)

    def broker(self, name: str) -> Entries | Failure:
        if not name:
            return self._trimmed(BROKER, cluster_entries(self._configs))
        failure = self._check_node(name, f"{self._node.id} or empty string,")
        return self._trimmed(BROKER, broker_entries(self._configs)) if failure is None else failure

    def loggers(self, name: str) -> Entries | Failure:
        if not name:
            return _invalid("Broker id must not be empty")
        failure = self._check_node(name, str(self._node.id))
        return tuple(logger_entries(self._node.loggers)) if failure is None else failure

    def _check_node(self, name: str, expected: str) -> Failure | None:
        node_id = parse_int(name)
        if node_id is None:
            return _invalid(f"Broker id must be an integer, but it is: {name}")
        if node_id != self._node.id:
            return _invalid(f"Unexpected broker id, expected {expected} but received {name}")
        return None

    def client_metrics(self, name: str) -> Entries | Failure:
        if not name:
            return _invalid("Client metrics subscription name must not be empty")
        own = self._image.configs.of(ConfigResourceType.CLIENT_METRICS, name)
        return self._trimmed(CLIENT_METRICS, client_metrics_entries(own))


_DESCRIBERS: Final[Mapping[int, Callable[[_Description, str], Entries | Failure]]] = {
    ConfigResourceType.TOPIC: _Description.topic,
    ConfigResourceType.BROKER: _Description.broker,
    ConfigResourceType.BROKER_LOGGER: _Description.loggers,
    ConfigResourceType.CLIENT_METRICS: _Description.client_metrics,
    ConfigResourceType.GROUP: _Description.group,
}


def _with_node_id(static: Mapping[str, str]) -> Mapping[str, str]:
    """`node.id` and `broker.id` are one thing; Kafka fills in the missing name (KafkaConfig.populateSynonyms)."""
    values = dict(static)
    for one, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if one in values:
            values.setdefault(other, values[one])
    return values


def _documentation(key: ConfigKey | None) -> str | None:
    """Nothing is known of a key that nobody has declared (AbstractConfig.documentationOf)."""
    return None if key is None else document(key)


def _invalid(message: str) -> Failure:
    return Failure(ErrorCode.invalid_request, message)
