"""The entries of DescribeConfigs: value, source, synonyms, flags. From ConfigHelper and DynamicBrokerConfig.

A value that is sensitive, or of a key that nobody has declared (it may be a plugin's password), never leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

from doorkeeper.cluster.controller.topic_configs import BrokerLayers, ConfigSource, effective_by_synonyms
from doorkeeper.rules.config_levels import load_levels
from doorkeeper.rules.config_schema import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    ConfigKey,
    ConfigProblem,
    ConfigType,
    convert_to_string,
    load_schema,
    parse_value,
)

TYPE_IDS: Final[Mapping[ConfigType | None, int]] = {
    None: 0,
    ConfigType.BOOLEAN: 1,
    ConfigType.STRING: 2,
    ConfigType.INT: 3,
    ConfigType.SHORT: 4,
    ConfigType.LONG: 5,
    ConfigType.DOUBLE: 6,
    ConfigType.LIST: 7,
    ConfigType.CLASS: 8,
    ConfigType.PASSWORD: 9,
}
"""DescribeConfigsResponse.ConfigType."""


@dataclass(frozen=True, slots=True)
class DescribeConfigsSynonym:
    name: str
    value: str | None
    source: int


@dataclass(frozen=True, slots=True)
class DescribeConfigsResourceResult:
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: tuple[DescribeConfigsSynonym, ...] = ()
    config_type: int = 0
    documentation: str | None = None


class SynonymsOf(Protocol):
    """Something that knows the synonyms of a broker key."""

    def __call__(self, name: str, *, sensitive: bool) -> tuple[DescribeConfigsSynonym, ...]: ...


class BrokerConfigs:
    """The configs of one node, with the synonyms that Kafka shows for them."""

    def __init__(self, layers: BrokerLayers) -> None:
        self.layers = layers

    def synonyms(self, name: str, *, sensitive: bool) -> tuple[DescribeConfigsSynonym, ...]:
        """Every place that gives the key a value, the one in force first."""
        family = broker_synonyms(name)
        found = [
            DescribeConfigsSynonym(one, None if sensitive else layer[one], source)
            for source, layer in (*self.layers.by_source(), (ConfigSource.DEFAULT_CONFIG, broker_defaults()))
            for one in family
            if one in layer
        ]
        # A key does not show what stands behind its relatives only (the base key of a listener's, hours for minutes).
        while found and found[0].name != name:
            found.pop(0)
        return tuple(found)

    def value(self, name: str) -> str | None:
        """The text in force; a dynamic config hides its relatives in the layers below it."""
        family = broker_synonyms(name) if name in load_levels().broker_synonyms else (name,)
        for layer in (self.layers.dynamic, self.layers.dynamic_default):
            if any(one in layer for one in family):
                return layer.get(name, broker_defaults().get(name))
        return self.layers.static.get(name, broker_defaults().get(name))

    def names(self) -> list[str]:
        """Every declared key that is not internal, and whatever else is set."""
        declared = {name for name, key in load_schema(BROKER).items() if not key.internal and not _is_quota(key)}
        return sorted(declared.union(self.layers.dynamic, self.layers.dynamic_default, self.layers.static))


@cache
def broker_defaults() -> Mapping[str, str]:
    """Kafka's defaults by broker key, without those that are null."""
    schema = load_schema(BROKER)
    return {name: key.default for name, key in schema.items() if key.default is not None and not _is_quota(key)}


def _is_quota(key: ConfigKey) -> bool:
    """The replication quotas are dynamic only: no part of KafkaConfig, and not there until they are set."""
    return "quota" in key.reconfigurable_by


@cache
def broker_synonyms(name: str) -> tuple[str, ...]:
    """DynamicBrokerConfig.brokerConfigSynonyms: the same thing in other units, or without its listener."""
    levels = load_levels()
    family = levels.broker_synonyms.get(name)
    if family is not None:
        return family
    base = levels.base_name(name)
    if base is None:
        return (name,)
    mechanism = next((one for one in sorted(levels.listener_mechanism) if base.endswith(one)), base)
    return (name, mechanism)


@cache
def broker_type(name: str) -> ConfigType | None:
    """KafkaConfig.configType: the type of a key, or of the key that it is a listener's form of."""
    schema = load_schema(BROKER)
    return next((schema[one].type for one in (name, *broker_synonyms(name)) if one in schema), None)


def _is_sensitive(kind: ConfigType | None) -> bool:
    return kind is None or kind is ConfigType.PASSWORD


def broker_entries(configs: BrokerConfigs) -> Iterator[DescribeConfigsResourceResult]:
    """Everything about one broker."""
    schema = load_schema(BROKER)
    for name in configs.names():
        text = configs.value(name)
        key = schema.get(name)
        # What KafkaConfig does not define it does not parse: such a value is shown as it was written.
        shown = text if key is None or _is_quota(key) else normal_text(key, text)
        yield _broker_entry(name, shown, configs.synonyms)


def cluster_entries(configs: BrokerConfigs) -> Iterator[DescribeConfigsResourceResult]:
    """The dynamic configs that hold for every broker, and nothing else."""

    def only_default(name: str, *, sensitive: bool) -> tuple[DescribeConfigsSynonym, ...]:
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        return tuple(one for one in configs.synonyms(name, sensitive=sensitive) if one.source == source)

    for name, value in sorted(configs.layers.dynamic_default.items()):
        yield _broker_entry(name, value, only_default)


def _broker_entry(name: str, value: str | None, synonyms_of: SynonymsOf) -> DescribeConfigsResourceResult:
    kind = broker_type(name)
    sensitive = _is_sensitive(kind)
    synonyms = synonyms_of(name, sensitive=sensitive)
    return DescribeConfigsResourceResult(
        name=name,
        value=None if sensitive else value,
        read_only=name not in load_levels().all_dynamic,
        config_source=_source(synonyms),
        is_sensitive=sensitive,
        synonyms=synonyms,
        config_type=TYPE_IDS[kind],
    )


def topic_entries(own: Mapping[str, str], configs: BrokerConfigs) -> Iterator[DescribeConfigsResourceResult]:
    """Everything about one topic; `own` are the configs that it has itself."""
    for key in load_schema(TOPIC).values():
        if key.name in own or not key.internal:
            yield _stored_entry(key, own, configs, ConfigSource.TOPIC_CONFIG, _synonyms_behind(key, configs))


def group_entries(own: Mapping[str, str], configs: BrokerConfigs) -> Iterator[DescribeConfigsResourceResult]:
    """Everything about one group; a key without a broker key behind it shows its default as a synonym."""
    for key in load_schema(GROUP).values():
        synonyms = _synonyms_behind(key, configs)
        if not key.synonyms and key.default is not None:
            synonyms = (DescribeConfigsSynonym(key.name, key.default, ConfigSource.DEFAULT_CONFIG),)
        yield _stored_entry(key, own, configs, ConfigSource.GROUP_CONFIG, synonyms)


def _synonyms_behind(key: ConfigKey, configs: BrokerConfigs) -> tuple[DescribeConfigsSynonym, ...]:
    return configs.synonyms(key.synonyms[0].name, sensitive=key.sensitive) if key.synonyms else ()


def _stored_entry(
    key: ConfigKey,
    own: Mapping[str, str],
    configs: BrokerConfigs,
    source: ConfigSource,
    synonyms: tuple[DescribeConfigsSynonym, ...],
) -> DescribeConfigsResourceResult:
    """A key of a topic or group: its own value before what the broker's configs make of it."""
    if key.name not in own:
        return _entry(key, normal_text(key, effective_by_synonyms(key, configs.layers).value), synonyms)
    value = normal_text(key, own[key.name])
    return _entry(key, value, (DescribeConfigsSynonym(key.name, _shown(key, value), source), *synonyms))


def client_metrics_entries(own: Mapping[str, str]) -> Iterator[DescribeConfigsResourceResult]:
    """Everything about one subscription to client metrics."""
    for key in load_schema(CLIENT_METRICS).values():
        value = normal_text(key, own.get(key.name, key.default))
        synonyms = (
            (DescribeConfigsSynonym(key.name, value, ConfigSource.CLIENT_METRICS_CONFIG),) if key.name in own else ()
        )
        yield _entry(key, value, synonyms)


def logger_entries(loggers: Mapping[str, str]) -> Iterator[DescribeConfigsResourceResult]:
    """The levels of a node's loggers."""
    for name, level in sorted(loggers.items()):
        yield DescribeConfigsResourceResult(
            name,
            level,
            read_only=False,
            config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
            is_sensitive=False,
            documentation="",  # asked for or not, as in Kafka: ConfigHelper does not set it
        )


def _entry(
    key: ConfigKey, value: str | None, synonyms: tuple[DescribeConfigsSynonym, ...]
) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=key.name,
        value=_shown(key, value),
        read_only=False,
        config_source=_source(synonyms),
        is_sensitive=key.sensitive,
        synonyms=synonyms,
        config_type=TYPE_IDS[key.type],
    )


def _shown(key: ConfigKey, value: str | None) -> str | None:
    return None if key.sensitive else value


def _source(synonyms: Sequence[DescribeConfigsSynonym]) -> int:
    return synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG


def normal_text(key: ConfigKey, text: str | None) -> str | None:
    """A value as Kafka prints it once it has parsed it (`007` is 7); as it is, if it does not parse or is internal."""
    if text is None or text == key.default or key.internal:
        return text
    value = parse_value(key, text)
    return text if isinstance(value, ConfigProblem) else convert_to_string(value)
