"""Where a topic's config comes from: the topic, a broker's dynamic or static configs, or Kafka's default.

From KafkaConfigSchema.resolveEffectiveTopicConfig. A topic key may have several broker keys behind it, in other units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from doorkeeper.rules.config_schema import TOPIC, ConfigKey, Synonym, load_schema
from doorkeeper.rules.javatext import parse_long

_MILLISECONDS: Final = {"minutes_to_ms": 60_000, "hours_to_ms": 3_600_000}


class ConfigSource(IntEnum):
    """DescribeConfigsResponse.ConfigSource."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class BrokerLayers(NamedTuple):
    """The configs of one node, the ones that count most first."""

    dynamic: Mapping[str, str]
    dynamic_default: Mapping[str, str]
    static: Mapping[str, str]

    def by_source(self) -> tuple[tuple[ConfigSource, Mapping[str, str]], ...]:
        return (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self.dynamic),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.dynamic_default),
            (ConfigSource.STATIC_BROKER_CONFIG, self.static),
        )


class EffectiveConfig(NamedTuple):
    """A value in force and where it comes from; the value of a sensitive key is here too, so mind where it goes."""

    key: ConfigKey
    value: str | None
    source: ConfigSource


def effective_topic_configs(topic: Mapping[str, str], layers: BrokerLayers) -> Iterator[EffectiveConfig]:
    """Every topic key in the order of names; internal ones only if they are set."""
    for key in load_schema(TOPIC).values():
        if key.name in topic:
            yield EffectiveConfig(key, topic[key.name], ConfigSource.TOPIC_CONFIG)
        elif not key.internal:
            yield effective_by_synonyms(key, layers)


def effective_by_synonyms(key: ConfigKey, layers: BrokerLayers) -> EffectiveConfig:
    """What the broker keys behind a topic or group key make of it."""
    for source, layer in layers.by_source():
        for synonym in key.synonyms:
            if synonym.name in layer:
                return EffectiveConfig(key, _converted(synonym, layer[synonym.name]), source)
    return EffectiveConfig(key, key.default, ConfigSource.DEFAULT_CONFIG)


def _converted(synonym: Synonym, text: str) -> str:
    """ConfigSynonym: a number of hours or minutes in milliseconds; what is no number is 0, as in Kafka."""
    if synonym.conversion is None:
        return text
    return str((parse_long(text) or 0) * _MILLISECONDS[synonym.conversion])
