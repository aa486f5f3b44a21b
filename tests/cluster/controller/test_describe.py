"""DescribeConfigs: where a value comes from, what stands behind it, and what never leaves."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import broker, cluster, config, topic

from doorkeeper.cluster.controller.describe import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
    DescribingNode,
    describe_configs,
)
from doorkeeper.cluster.controller.described_configs import DescribeConfigsResourceResult
from doorkeeper.cluster.controller.topic_configs import ConfigSource
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.rules.config_schema import BROKER as BROKER_SCHEMA
from doorkeeper.rules.config_schema import load_schema

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
OWN, NODE, DEFAULTS = ConfigSource.TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DEFAULT_CONFIG
CLUSTER, STATIC = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, ConfigSource.STATIC_BROKER_CONFIG

ASKED = DescribingNode(
    1,
    {
        "node.id": "1",
        "log.retention.hours": "24",
        "num.io.threads": "4",
        "ssl.keystore.password": "hush",
        "a.plugins.key": "hush",
        "listener.name.x.max.connections": "7",
    },
    {"doorkeeper.net": "INFO", "doorkeeper": "DEBUG"},
)
IMAGE = cluster(
    broker(1),
    *topic("plain", 1),
    *topic("own", 1),
    config(TOPIC, "own", "flush.ms", "007"),
    config(TOPIC, "own", "internal.segment.bytes", "01000"),
    config(TOPIC, "own", "retention.ms", "not yet a number"),
    config(BROKER, "", "num.io.threads", "5"),
    config(BROKER, "", "log.retention.ms", "1000"),
    config(BROKER, "1", "num.io.threads", "6"),
    config(BROKER, "1", "another.plugins.key", "hush"),
    config(GROUP, "g", "consumer.session.timeout.ms", "50000"),
    config(METRICS, "m", "interval.ms", "60000"),
)

Entries = dict[str, DescribeConfigsResourceResult]


def result(
    resource_type: int, name: str, *keys: str, image: MetadataImage = IMAGE, synonyms: bool = True
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type, name, keys)
    request = DescribeConfigsRequest((resource,), include_synonyms=synonyms)
    (answer,) = describe_configs(image, request, ASKED).results
    return answer


def described(resource_type: int, name: str, *keys: str, synonyms: bool = True) -> Entries:
    return {one.name: one for one in result(resource_type, name, *keys, synonyms=synonyms).configs}


def places(entry: DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    return [(one.name, one.value, one.source) for one in entry.synonyms]


def test_a_brokers_value_shows_all_its_places_in_the_order_they_count() -> None:
    threads = described(BROKER, "1")["num.io.threads"]
    assert (threads.value, threads.config_source, threads.read_only, threads.config_type) == ("6", NODE, False, 3)
    assert places(threads) == [
        ("num.io.threads", "6", NODE),
        ("num.io.threads", "5", CLUSTER),
        ("num.io.threads", "4", STATIC),
        ("num.io.threads", "8", DEFAULTS),
    ]


@pytest.mark.parametrize(
    ("key", "shown"), [("follower.replication.throttled.rate", "+7"), ("log.cleaner.backoff.ms", "7")]
)
def test_a_brokers_value_is_shown_as_parsed_unless_kafkas_config_does_not_define_it(key: str, shown: str) -> None:
    image = cluster(broker(1), config(BROKER, "1", key, "+7"))
    (entry,) = result(BROKER, "1", key, image=image).configs
    assert entry.value == shown


def test_a_dynamic_value_hides_its_relatives_in_other_units() -> None:
    entries = described(BROKER, "1")
    assert entries["log.retention.ms"].value == "1000"
    assert entries["log.retention.hours"].value == "168", "the static 24 hours count no more"
    assert places(entries["log.retention.minutes"]) == []
    assert entries["log.retention.minutes"].value is None


def test_the_cluster_wide_default_shows_only_what_was_set() -> None:
    entries = described(BROKER, "")
    assert set(entries) == {"min.insync.replicas", "num.io.threads", "log.retention.ms"}
    assert places(entries["num.io.threads"]) == [("num.io.threads", "5", CLUSTER)]


def test_sensitive_and_undeclared_values_never_leave() -> None:
    answer = result(BROKER, "1")
    for name in ("ssl.keystore.password", "a.plugins.key", "another.plugins.key"):
        entry = {one.name: one for one in answer.configs}[name]
        assert (entry.value, entry.is_sensitive) == (None, True)
        assert {one.value for one in entry.synonyms} <= {None}
    assert "hush" not in repr(asdict(answer))
    assert "hush" not in repr(ASKED)


def test_every_declared_key_is_described_and_internal_ones_are_not() -> None:
    schema = load_schema(BROKER_SCHEMA)
    entries = described(BROKER, "1")
    quotas = {name for name, key in schema.items() if "quota" in key.reconfigurable_by}
    declared = {name for name, key in schema.items() if not key.internal} - quotas
    assert declared <= set(entries)
    assert not [name for name, key in schema.items() if key.internal and name in entries]
    assert entries["node.id"].value == entries["broker.id"].value == "1"
    assert entries["log.dirs"].read_only


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_node_id_and_broker_id_are_one(name: str) -> None:
    request = DescribeConfigsRequest((DescribeConfigsResource(BROKER, "5", ("node.id", "broker.id")),))
    (answer,) = describe_configs(IMAGE, request, DescribingNode(5, {name: "5"})).results
    assert {one.value for one in answer.configs} == {"5"}
    (answer,) = describe_configs(IMAGE, request, DescribingNode(5)).results
    assert {one.name: one.value for one in answer.configs} == {"node.id": None, "broker.id": "-1"}


def test_a_listeners_key_has_the_type_and_the_default_of_its_base() -> None:
    entry = described(BROKER, "1")["listener.name.x.max.connections"]
    assert (entry.value, entry.config_type, entry.is_sensitive) == ("7", 3, False)
    assert places(entry)[-1] == ("max.connections", "2147483647", DEFAULTS)


def test_a_topics_own_value_comes_first_and_is_printed_as_parsed() -> None:
    flush = described(TOPIC, "own")["flush.ms"]
    assert (flush.value, flush.config_source, flush.read_only) == ("7", OWN, False)
    assert places(flush)[0] == ("flush.ms", "7", OWN)


def test_a_topics_inherited_value_shows_the_broker_keys_behind_it() -> None:
    retention = described(TOPIC, "plain")["retention.ms"]
    assert (retention.value, retention.config_source) == ("1000", CLUSTER)
    assert places(retention) == [
        ("log.retention.ms", "1000", CLUSTER),
        ("log.retention.hours", "24", STATIC),
        ("log.retention.hours", "168", DEFAULTS),
    ]


def test_internal_topic_keys_show_only_if_set_and_odd_values_as_they_are() -> None:
    assert described(TOPIC, "own")["internal.segment.bytes"].value == "01000"  # of internal ones Kafka shows the text
    assert "internal.segment.bytes" not in described(TOPIC, "plain")
    assert described(TOPIC, "own")["retention.ms"].value == "not yet a number"


def test_a_group_inherits_from_the_broker() -> None:
    entries = described(GROUP, "g")
    assert entries["consumer.session.timeout.ms"].config_source == ConfigSource.GROUP_CONFIG
    assert entries["consumer.heartbeat.interval.ms"].config_source == DEFAULTS
    assert places(entries["share.auto.offset.reset"]) == [("share.auto.offset.reset", "latest", DEFAULTS)]


def test_client_metrics_show_what_is_set_and_the_defaults() -> None:
    entries = described(METRICS, "m")
    assert (entries["interval.ms"].value, entries["interval.ms"].config_source) == (
        "60000",
        ConfigSource.CLIENT_METRICS_CONFIG,
    )
    assert (entries["match"].value, entries["match"].config_source) == ("", DEFAULTS)


def test_loggers_show_their_levels() -> None:
    entries = described(LOGGER, "1")
    assert {name: one.value for name, one in entries.items()} == {"doorkeeper": "DEBUG", "doorkeeper.net": "INFO"}
    assert entries["doorkeeper"].config_source == ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG


def test_answers_only_the_keys_asked_for_and_synonyms_only_if_asked() -> None:
    entries = described(TOPIC, "plain", "retention.ms", "no.such.key", synonyms=False)
    assert set(entries) == {"retention.ms"}
    assert entries["retention.ms"].synonyms == ()
    assert entries["retention.ms"].config_source == CLUSTER


def documentation_of(resource_type: int, name: str, *, asked: bool = True) -> dict[str, str | None]:
    request = DescribeConfigsRequest((DescribeConfigsResource(resource_type, name),), include_documentation=asked)
    (answer,) = describe_configs(IMAGE, request, ASKED).results
    return {one.name: one.documentation for one in answer.configs}


def test_documentation_is_null_unless_asked_for() -> None:
    assert set(documentation_of(TOPIC, "plain", asked=False).values()) == {None}


def test_documentation_says_what_a_key_takes() -> None:
    documentation = documentation_of(TOPIC, "plain")
    assert documentation["compression.lz4.level"] == ("Takes an integer of 32 bits, from 1 to 17. The default is 9.")
    assert all(documentation.values())


def test_nothing_is_told_of_a_key_that_nobody_has_declared() -> None:
    documentation = documentation_of(BROKER, "1")
    assert documentation.pop("a.plugins.key") is None
    assert documentation["num.io.threads"] == (
        "Takes an integer of 32 bits, at least 1. The default is 8. "
        "May be changed for a running broker, and for all of them at once."
    )


@pytest.mark.parametrize("asked", [False, True])
def test_documentation_of_loggers_is_empty_as_kafkas(asked: bool) -> None:
    assert set(documentation_of(LOGGER, str(ASKED.id), asked=asked).values()) == {""}


@pytest.mark.parametrize(
    ("resource_type", "name", "code", "message"),
    [
        (TOPIC, "nowhere", ErrorCode.unknown_topic_or_partition, ""),
        (
            TOPIC,
            "",
            ErrorCode.invalid_topic_exception,
            "Topic name is invalid: the empty string is not allowed",
        ),
        (
            BROKER,
            "2",
            ErrorCode.invalid_request,
            "Unexpected broker id, expected 1 or empty string, but received 2",
        ),
        (BROKER, "x", ErrorCode.invalid_request, "Broker id must be an integer, but it is: x"),
        (LOGGER, "", ErrorCode.invalid_request, "Broker id must not be empty"),
        (LOGGER, "2", ErrorCode.invalid_request, "Unexpected broker id, expected 1 but received 2"),
        (METRICS, "", ErrorCode.invalid_request, "Client metrics subscription name must not be empty"),
        (GROUP, "", ErrorCode.invalid_request, "Group name must not be empty"),
        (0, "x", ErrorCode.invalid_request, "Unexpected resource type UNKNOWN for resource x"),
        (3, "x", ErrorCode.invalid_request, "Unexpected resource type UNKNOWN for resource x"),
    ],
)
def test_refuses_one_resource_and_describes_the_other(
    resource_type: int, name: str, code: ErrorCode, message: str
) -> None:
    resources = (DescribeConfigsResource(resource_type, name), DescribeConfigsResource(TOPIC, "plain"))
    bad, good = describe_configs(IMAGE, DescribeConfigsRequest(resources), ASKED).results
    assert (bad.error_code, bad.error_message, bad.configs) == (code, message, ())
    assert good.configs


def test_topics_without_configs_of_their_own_share_one_answer() -> None:
    resources = tuple(DescribeConfigsResource(TOPIC, "plain") for _ in range(2))
    request = DescribeConfigsRequest(resources, include_synonyms=True)
    first, second = describe_configs(IMAGE, request, ASKED).results
    assert first.configs is second.configs
