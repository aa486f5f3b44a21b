"""Config changes: the rulebook's verdicts with the image as context, and the records that they leave."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import KAFKAS, NODE, after, broker, cluster, config, messages, replayed, topic

from doorkeeper.cluster.controller.config_changes import (
    NO_TABLE,
    AlterConfigsResponse,
    StaticTable,
    changes_of,
    config_context,
    config_records,
    decide_alter_configs,
)
from doorkeeper.cluster.controller.config_resources import list_config_resources
from doorkeeper.cluster.controller.decision import MAX_RECORDS_PER_DECISION, Decision
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.rules.config_change import BrokerDoor, ConfigEntry, Operation, ResourceChange
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = Operation.SET, Operation.DELETE, Operation.APPEND, Operation.SUBTRACT

STATIC_1 = tuple(
    types.BrokerStaticConfig(name=name, value=value)
    for name, value in (("node.id", "1"), ("num.io.threads", "8"), ("log.retention.ms", "1000"))
)
STATIC_2 = tuple(
    types.BrokerStaticConfig(name=name, value=value) for name, value in (("node.id", "2"), ("num.io.threads", "100"))
)
IMAGE = cluster(
    broker(1, static_configs=STATIC_1),
    broker(2, static_configs=STATIC_2),
    broker(3),
    *topic("orders", 1),
    config(TOPIC, "orders", "retention.ms", "5"),
    config(BROKER, "1", "num.network.threads", "4"),
)


def change(
    resource_type: int, name: str, *entries: tuple[str, int, str | None], legacy: bool = False
) -> ResourceChange:
    return ResourceChange(resource_type, name, tuple(ConfigEntry(*entry) for entry in entries), legacy)


def alter(
    image: MetadataImage,
    *changes: ResourceChange,
    door: BrokerDoor | None = None,
    remembered: StaticTable = NO_TABLE,
    validate_only: bool = False,
) -> Decision[AlterConfigsResponse]:
    context = config_context(image, NODE, door=door, remembered=remembered)
    return decide_alter_configs(image, changes, context, validate_only=validate_only)


def codes(decision: Decision[AlterConfigsResponse]) -> list[int]:
    return [one.error_code for one in decision.response.responses]


def test_sets_deletes_and_leaves_the_rest() -> None:
    decision = alter(
        IMAGE,
        change(TOPIC, "orders", ("flush.ms", SET, "7"), ("retention.ms", DELETE, None)),
        change(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
        change(METRICS, "m", ("interval.ms", SET, "60000")),
        change(BROKER, "", ("log.cleaner.threads", SET, "1")),
    )
    assert codes(decision) == [0, 0, 0, 0]
    image = after(IMAGE, decision)
    assert image.configs.of(TOPIC, "orders") == {"flush.ms": "7"}
    assert image.configs.of(GROUP, "g") == {"consumer.session.timeout.ms": "50000"}
    assert image.configs.of(METRICS, "m") == {"interval.ms": "60000"}
    assert image.configs.of(BROKER, "")["log.cleaner.threads"] == "1"
    assert image.configs.of(BROKER, "1") == {"num.network.threads": "4"}


def test_decides_the_same_twice() -> None:
    asked = change(TOPIC, "orders", ("flush.ms", SET, "7"), ("flush.messages", SET, "8"))
    assert alter(IMAGE, asked) == alter(IMAGE, asked)


def test_a_refused_resource_leaves_no_record_and_the_others_pass() -> None:
    decision = alter(
        IMAGE,
        change(TOPIC, "orders", ("flush.ms", SET, "7"), ("retention.ms", SET, "soon")),
        change(TOPIC, "nowhere", ("flush.ms", SET, "7")),
        change(TOPIC, "a b", ("flush.ms", SET, "7")),
        change(BROKER, "1", ("num.io.threads", SET, None)),
        change(0, "x", ("a", SET, "b")),
        change(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
    )
    assert codes(decision) == [
        ErrorCode.invalid_config,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.invalid_topic_exception,
        ErrorCode.invalid_request,
        ErrorCode.invalid_request,
        ErrorCode.none,
    ]
    assert [one.resource_name for one in decision.response.responses] == ["orders", "nowhere", "a b", "1", "x", "g"]
    assert messages(decision) == [config(GROUP, "g", "consumer.session.timeout.ms", "50000")]


def test_a_brokers_change_is_judged_by_its_own_static_configs() -> None:
    """Thread pools may at most double: 16 is twice broker 1's eight, and far below half of broker 2's hundred."""
    sixteen = ("num.io.threads", SET, "16")
    assert codes(alter(IMAGE, change(BROKER, "1", sixteen))) == [ErrorCode.none]
    assert codes(alter(IMAGE, change(BROKER, "2", sixteen))) == [ErrorCode.invalid_request]
    assert codes(alter(IMAGE, change(BROKER, "1", ("num.io.threads", SET, "17")))) == [ErrorCode.invalid_request]


def test_a_broker_that_reported_nothing_is_judged_by_the_request_alone() -> None:
    assert codes(alter(IMAGE, change(BROKER, "3", ("num.io.threads", SET, "999")))) == [ErrorCode.none]
    assert codes(alter(IMAGE, change(BROKER, "3", ("num.io.threads", SET, "0")))) == [ErrorCode.invalid_request]


def test_where_the_log_has_no_static_configs_the_controllers_memory_counts() -> None:
    image = cluster(broker(1), level=KAFKAS)
    asked = change(BROKER, "1", ("num.io.threads", SET, "17"))
    assert codes(alter(image, asked)) == [ErrorCode.none]
    remembered: StaticTable = {1: {"node.id": "1", "num.io.threads": "8"}}
    assert codes(alter(image, asked, remembered=remembered)) == [ErrorCode.invalid_request]


def test_a_cluster_wide_default_names_the_brokers_that_refuse_it() -> None:
    decision = alter(IMAGE, change(BROKER, "", ("num.io.threads", SET, "16")))
    (response,) = decision.response.responses
    assert response.error_code == ErrorCode.invalid_request
    assert response.error_message is not None
    assert "2" in response.error_message
    assert decision.records == ()


def test_an_unregistered_broker_is_refused() -> None:
    assert codes(alter(IMAGE, change(BROKER, "9", ("num.io.threads", SET, "9")))) == [ErrorCode.invalid_request]


def test_at_a_brokers_door_another_brokers_id_is_refused() -> None:
    asked = change(BROKER, "1", ("num.io.threads", SET, "9"))
    assert codes(alter(IMAGE, asked, door=BrokerDoor(1))) == [ErrorCode.none]
    assert codes(alter(IMAGE, asked, door=BrokerDoor(2))) == [ErrorCode.invalid_request]


@pytest.mark.parametrize(
    "image", [cluster(broker(1)), cluster(broker(1), level=MetadataVersion.IBP_4_2_IV1)], ids=["ours", "4.2"]
)
def test_feature_levels_reach_the_rulebook(image: MetadataImage) -> None:
    level = image.features.require_metadata_version()
    decision = alter(image, change(BROKER, "1", ("cordoned.log.dirs", SET, "")))
    assert codes(decision) == [ErrorCode.none if level.has_cordoned_log_dirs else ErrorCode.invalid_config]
    assert codes(alter(image, change(BROKER, "1", ("min.insync.replicas", SET, "1")))) == [ErrorCode.invalid_config]


def test_a_topics_value_that_stays_is_not_written_again() -> None:
    assert alter(IMAGE, change(TOPIC, "orders", ("retention.ms", SET, "5"))).records == ()
    assert alter(IMAGE, change(TOPIC, "orders", ("flush.ms", DELETE, None))).records == ()


def test_a_brokers_value_that_stays_is_written_so_that_the_broker_looks_again() -> None:
    decision = alter(IMAGE, change(BROKER, "1", ("num.network.threads", SET, "4")))
    assert messages(decision) == [config(BROKER, "1", "num.network.threads", "4")]
    assert after(IMAGE, decision).configs == IMAGE.configs


def test_a_deletion_is_a_record_with_null() -> None:
    decision = alter(IMAGE, change(TOPIC, "orders", ("retention.ms", DELETE, None)))
    assert messages(decision) == [config(TOPIC, "orders", "retention.ms", None)]


def test_a_legacy_change_replaces_all() -> None:
    decision = alter(IMAGE, change(TOPIC, "orders", ("flush.ms", SET, "7"), legacy=True))
    assert after(IMAGE, decision).configs.of(TOPIC, "orders") == {"flush.ms": "7"}
    assert after(IMAGE, alter(IMAGE, change(TOPIC, "orders", legacy=True))).configs.of(TOPIC, "orders") == {}


def test_append_begins_at_the_default() -> None:
    decision = alter(IMAGE, change(TOPIC, "orders", ("cleanup.policy", APPEND, "compact")))
    assert after(IMAGE, decision).configs.of(TOPIC, "orders")["cleanup.policy"] == "delete,compact"


def test_every_copy_of_a_resource_that_comes_twice_is_refused() -> None:
    decision = alter(IMAGE, *(change(TOPIC, "orders", ("flush.ms", SET, value)) for value in "78"))
    assert codes(decision) == [ErrorCode.invalid_request] * 2
    assert decision.records == ()


def test_validate_only_judges_and_stores_nothing() -> None:
    asked = (
        change(TOPIC, "orders", ("flush.ms", SET, "7")),
        change(TOPIC, "nowhere", ("flush.ms", SET, "7")),
    )
    decision = alter(IMAGE, *asked, validate_only=True)
    assert decision.records == ()
    assert decision.response == alter(IMAGE, *asked).response


def test_logger_levels_are_judged_and_not_stored() -> None:
    context = config_context(IMAGE, NODE, door=BrokerDoor(1), loggers={"doorkeeper"})
    for level, code in (("DEBUG", ErrorCode.none), ("LOUD", ErrorCode.invalid_config)):
        decision = decide_alter_configs(IMAGE, [change(LOGGER, "1", ("doorkeeper", SET, level))], context)
        assert decision.records == ()
        assert codes(decision) == [code]


def test_one_decision_stores_at_most_ten_thousand_records() -> None:
    changes = [
        change(METRICS, f"m{number}", ("interval.ms", SET, "60000"), ("metrics", SET, "x"))
        for number in range(MAX_RECORDS_PER_DECISION // 2 + 1)
    ]
    decision = alter(IMAGE, *changes)
    assert len(decision.records) == MAX_RECORDS_PER_DECISION
    assert codes(decision)[-2:] == [ErrorCode.none, ErrorCode.policy_violation]


MAPS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("123"))


@given(MAPS, MAPS, st.sets(st.sampled_from("abcd")))
def test_records_lead_from_what_is_to_what_is_proposed(
    current: dict[str, str], proposed: dict[str, str], again: set[str]
) -> None:
    image = replayed(MetadataImage.EMPTY, *(config(TOPIC, "t", name, value) for name, value in current.items()))
    records = config_records(TOPIC, "t", current, proposed, again)
    image = replayed(image, *(one.message for one in records))
    assert image.configs.of(TOPIC, "t") == proposed
    if not again:
        changed = {name for name in current.keys() | proposed.keys() if current.get(name) != proposed.get(name)}
        assert len(records) == len(changed)


@dataclass(frozen=True)
class LegacyEntry:
    name: str
    value: str | None


@dataclass(frozen=True)
class IncrementalEntry:
    name: str
    config_operation: int
    value: str | None


@dataclass(frozen=True)
class Resource:
    resource_type: int
    resource_name: str
    configs: tuple[LegacyEntry | IncrementalEntry, ...]


def test_reads_requests_of_either_api() -> None:
    incremental = Resource(2, "t", (IncrementalEntry("a", 2, "b"), IncrementalEntry("c", 1, None)))
    assert changes_of([incremental], legacy=False) == [change(2, "t", ("a", 2, "b"), ("c", 1, None))]
    legacy = Resource(2, "t", (LegacyEntry("a", "b"),))
    assert changes_of([legacy], legacy=True) == [change(2, "t", ("a", SET, "b"), legacy=True)]


LISTED = replayed(
    IMAGE,
    config(GROUP, "g", "consumer.session.timeout.ms", "50000"),
    config(METRICS, "m", "interval.ms", "60000"),
)


@pytest.mark.parametrize(
    ("asked", "version", "listed"),
    [
        ((), 0, [("m", 16)]),
        ((16,), 1, [("m", 16)]),
        ((2, 32), 1, [("g", 32), ("orders", 2)]),
        ((4,), 1, [("1", 4), ("2", 4), ("3", 4)]),
        ((8,), 1, [("1", 8), ("2", 8), ("3", 8)]),
    ],
)
def test_lists_resources_with_configs(asked: tuple[int, ...], version: int, listed: list[tuple[str, int]]) -> None:
    response = list_config_resources(LISTED, asked, api_version=version)
    assert [(one.resource_name, one.resource_type) for one in response.config_resources] == listed


def test_lists_everything_when_no_type_is_asked_for() -> None:
    assert {one.resource_type for one in list_config_resources(LISTED, (), api_version=1).config_resources} == {
        TOPIC,
        BROKER,
        LOGGER,
        METRICS,
        GROUP,
    }


@pytest.mark.parametrize(("asked", "version"), [((2,), 0), ((0,), 1), ((2, 3), 1)])
def test_refuses_to_list_other_types(asked: tuple[int, ...], version: int) -> None:
    response = list_config_resources(LISTED, asked, api_version=version)
    assert (response.error_code, response.config_resources) == (ErrorCode.unsupported_version, ())
