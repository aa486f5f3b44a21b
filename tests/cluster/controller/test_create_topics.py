"""New topics: names, numbers, assignments, configs; one replica each, evenly spread."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import NODE, Ids, after, broker, cluster, config, directory_of, messages, topic

from doorkeeper.cluster.controller import create_topics
from doorkeeper.cluster.controller.controller_node import ControllerNode
from doorkeeper.cluster.controller.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
    decide_create_topics,
)
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.controller.topic_configs import ConfigSource
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.topics import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED
from doorkeeper.rules.config_schema import TOPIC, load_schema
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.levels import MetadataVersion

THREE = cluster(broker(1), broker(2), broker(3))


def create(
    image: MetadataImage, *topics: CreatableTopic, node: ControllerNode = NODE, validate_only: bool = False
) -> Decision[CreateTopicsResponse]:
    return decide_create_topics(image, CreateTopicsRequest(topics, validate_only), node, new_id=Ids())


def assigned(*replicas: tuple[int, ...], start: int = 0) -> tuple[CreatableReplicaAssignment, ...]:
    return tuple(CreatableReplicaAssignment(index, ids) for index, ids in enumerate(replicas, start))


def configs(**values: str | None) -> tuple[CreatableTopicConfig, ...]:
    return tuple(CreatableTopicConfig(name.replace("_", "."), value) for name, value in values.items())


def refusal(decision: Decision[CreateTopicsResponse]) -> tuple[int, str | None]:
    assert decision.records == ()
    (result,) = decision.response.topics
    return result.error_code, result.error_message


def test_creates_a_topic_and_spreads_its_leaders() -> None:
    decision = create(THREE, CreatableTopic("orders", 7, 1))
    orders = after(THREE, decision).topics.by_name["orders"]
    (result,) = decision.response.topics
    assert (result.topic_id, result.num_partitions, result.replication_factor) == (orders.id, 7, 1)
    assert sorted(Counter(one.leader for one in orders.partitions.values()).values()) == [2, 2, 3]
    for partition in orders.partitions.values():
        assert partition.replicas == partition.isr == (partition.leader,)
        assert partition.directories == (directory_of(partition.leader),)
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)


def test_several_topics_of_one_partition_spread_as_well() -> None:
    image = after(THREE, create(THREE, *(CreatableTopic(f"t{number}", 1, 1) for number in range(6))))
    leaders = Counter(one.partitions[0].leader for one in image.topics.by_name.values())
    assert leaders == {1: 2, 2: 2, 3: 2}


def test_the_emptiest_broker_takes_the_next_partition() -> None:
    image = cluster(broker(1), broker(2), *topic("old", 1, 1))
    image = after(image, create(image, CreatableTopic("new", 2, 1)))
    assert {one.leader for one in image.topics.by_name["new"].partitions.values()} == {2}


def test_decides_the_same_twice_and_writes_topic_configs_partitions_in_that_order() -> None:
    asked = CreatableTopic("orders", 2, 1, configs=configs(retention_ms="5"))
    decision = create(THREE, asked)
    assert decision == create(THREE, asked)
    assert [type(one) for one in messages(decision)] == [
        types.TopicRecord,
        types.ConfigRecord,
        types.PartitionRecord,
        types.PartitionRecord,
    ]
    assert after(THREE, decision).configs.of(2, "orders") == {"retention.ms": "5"}


def test_defaults_come_from_the_controllers_server_properties() -> None:
    node = ControllerNode(100, {"num.partitions": "4", "default.replication.factor": "nonsense"})
    (result,) = create(THREE, CreatableTopic("orders"), node=node).response.topics
    assert (result.num_partitions, result.replication_factor) == (4, 1)
    assert create(THREE, CreatableTopic("orders")).response.topics[0].num_partitions == 1


@pytest.mark.parametrize("factor", [2, 3])
def test_refuses_replication_with_a_sentence_that_names_the_gateway(factor: int) -> None:
    code, message = refusal(create(THREE, CreatableTopic("orders", 1, factor)))
    assert code == ErrorCode.invalid_replication_factor
    assert message is not None
    assert f"{factor} time(s)" in message
    assert "gateway" in message


def test_refuses_a_default_of_more_than_one_replica_and_an_assignment_alike() -> None:
    node = ControllerNode(100, {"default.replication.factor": "3"})
    for code, message in (
        refusal(create(THREE, CreatableTopic("orders"), node=node)),
        refusal(create(THREE, CreatableTopic("orders", assignments=assigned((1, 2))))),
    ):
        assert code in (ErrorCode.invalid_replication_factor, ErrorCode.invalid_replica_assignment)
        assert message is not None
        assert "gateway" in message


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ({"name": ""}, ErrorCode.invalid_topic_exception, "Topic name is invalid: the empty string is not allowed"),
        ({"name": "a b"}, ErrorCode.invalid_topic_exception, None),
        ({"name": "a" * 250}, ErrorCode.invalid_topic_exception, None),
        ({"name": "old.topic"}, ErrorCode.topic_already_exists, "Topic 'old.topic' already exists."),
        (
            {"name": "old_topic"},
            ErrorCode.invalid_topic_exception,
            "Topic 'old_topic' collides with existing topic: old.topic",
        ),
        (
            {"name": "__cluster_metadata"},
            ErrorCode.invalid_request,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        (
            {"replication_factor": 0},
            ErrorCode.invalid_replication_factor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            {"replication_factor": -2},
            ErrorCode.invalid_replication_factor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            {"num_partitions": 0},
            ErrorCode.invalid_partitions,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            {"num_partitions": -2},
            ErrorCode.invalid_partitions,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            {"assignments": assigned((1,)), "replication_factor": 1},
            ErrorCode.invalid_request,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        ),
        (
            {"assignments": assigned((1,)), "num_partitions": 1},
            ErrorCode.invalid_request,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            {"assignments": assigned((1,)) * 2},
            ErrorCode.invalid_replica_assignment,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            {"assignments": assigned(())},
            ErrorCode.invalid_replica_assignment,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            {"assignments": assigned((9,))},
            ErrorCode.invalid_replica_assignment,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            {"assignments": assigned((1, 1))},
            ErrorCode.invalid_replica_assignment,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            {"assignments": assigned((4,))},
            ErrorCode.invalid_replica_assignment,
            (
                "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled "
                "shutdown."
            ),
        ),
        (
            {"assignments": assigned((1,), start=1)},
            ErrorCode.invalid_replica_assignment,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            {"configs": configs(retention_ms=None, flush_ms=None)},
            ErrorCode.invalid_config,
            "Null value not supported for topic configs: retention.ms,flush.ms",
        ),
        (
            {"configs": configs(retention_ms="soon")},
            ErrorCode.invalid_config,
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
        ({"configs": configs(no_such_key="1")}, ErrorCode.invalid_config, "Unknown topic config name: no.such.key"),
    ],
)
def test_refuses_one_topic_and_creates_the_other(asked: dict[str, Any], code: ErrorCode, message: str | None) -> None:
    image = cluster(broker(1), broker(4, fenced=True), *topic("old.topic", 1))
    decision = create(image, CreatableTopic(**({"name": "bad"} | asked)), CreatableTopic("good", 1, 1))
    bad, good = decision.response.topics
    assert bad.error_code == code
    assert message is None or bad.error_message == message
    assert good.error_code == ErrorCode.none
    assert set(after(image, decision).topics.by_name) == {"old.topic", "good"}


def test_takes_names_that_merely_look_alike() -> None:
    image = cluster(broker(1), *topic("old.topic", 1), *topic("plain", 1))
    names = ("old-topic", "a" * 249, "old.topic2", "new_topic")
    image = after(image, create(image, *(CreatableTopic(name, 1, 1) for name in names)))
    assert set(names) < set(image.topics.by_name)


def test_a_name_that_comes_twice_is_refused_once() -> None:
    decision = create(THREE, CreatableTopic("orders", 1, 1), CreatableTopic("x", 1, 1), CreatableTopic("orders", 2, 1))
    answers = {one.name: (one.error_code, one.error_message) for one in decision.response.topics}
    assert len(decision.response.topics) == 2
    assert answers["orders"] == (ErrorCode.invalid_request, "Duplicate topic name.")
    assert set(after(THREE, decision).topics.by_name) == {"x"}


def test_a_config_that_comes_twice_counts_as_its_last() -> None:
    twice = (*configs(retention_ms="5"), *configs(retention_ms="6"))
    image = after(THREE, create(THREE, CreatableTopic("orders", 1, 1, configs=twice)))
    assert image.configs.of(2, "orders") == {"retention.ms": "6"}


def test_follows_a_manual_assignment() -> None:
    image = after(THREE, create(THREE, CreatableTopic("orders", assignments=assigned((3,), (1,)))))
    assert [image.topics.by_name["orders"].partitions[index].leader for index in (0, 1)] == [3, 1]


@pytest.mark.parametrize(
    "brokers",
    [
        [],
        [broker(1, fenced=True)],
        [broker(1, in_controlled_shutdown=True)],
        [broker(1, cordoned_log_dirs=(directory_of(1),))],
    ],
)
def test_refuses_when_nobody_can_take_a_partition(brokers: list[types.RegisterBrokerRecord]) -> None:
    code, message = refusal(create(cluster(*brokers), CreatableTopic("orders", 1, 1)))
    assert code == ErrorCode.invalid_replication_factor
    assert message == (
        "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their log "
        "directories cordoned."
    )


def test_the_directory_of_a_replica_is_the_only_one_or_the_brokers_choice() -> None:
    both = cluster(broker(1, log_dirs=(directory_of(1), directory_of(2))))
    image = after(both, create(both, CreatableTopic("orders", 1, 1)))
    assert image.topics.by_name["orders"].partitions[0].directories == (DIRECTORY_UNASSIGNED,)
    old = cluster(broker(1, log_dirs=()), level=MetadataVersion.IBP_3_6_IV0)
    image = after(old, create(old, CreatableTopic("orders", 1, 1)))
    assert image.topics.by_name["orders"].partitions[0].directories == (DIRECTORY_MIGRATING,)


def test_validate_only_answers_alike_and_stores_nothing() -> None:
    asked = CreatableTopic("orders", 2, 1)
    decision = create(THREE, asked, validate_only=True)
    assert decision.records == ()
    assert decision.response == create(THREE, asked).response


@pytest.mark.parametrize(("maximum", "created"), [(5, True), (4, False)])
def test_too_many_partitions_fail_every_topic(maximum: int, created: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create_topics, "MAX_PARTITIONS_PER_REQUEST", maximum)
    topics = (CreatableTopic("a", 3, 1), CreatableTopic("b"), CreatableTopic("c", assignments=assigned((1,))))
    decision = create(THREE, *topics)
    if created:
        assert len(after(THREE, decision).topics.by_name) == 3
    else:
        assert decision.records == ()
        assert {one.error_code for one in decision.response.topics} == {ErrorCode.policy_violation}


def test_ten_thousand_partitions_at_once_are_the_limit() -> None:
    (result,) = create(THREE, CreatableTopic("big", 10_000, 1)).response.topics
    assert result.error_code == ErrorCode.none
    (result,) = create(THREE, CreatableTopic("big", 10_001, 1)).response.topics
    assert result.error_code == ErrorCode.policy_violation


def test_answers_with_every_config_and_where_it_comes_from() -> None:
    node = ControllerNode(100, {"log.retention.hours": "2", "log.segment.bytes": "2000000"})
    image = cluster(
        broker(1),
        config(4, "", "log.segment.bytes", "3000000"),
        config(4, "100", "message.max.bytes", "77777"),
    )
    asked = CreatableTopic("orders", 1, 1, configs=configs(flush_ms="9"))
    (result,) = create(image, asked, node=node).response.topics
    shown = {one.name: (one.value, one.config_source) for one in result.configs}
    assert shown["flush.ms"] == ("9", ConfigSource.TOPIC_CONFIG)
    assert shown["max.message.bytes"] == ("77777", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert shown["segment.bytes"] == ("3000000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    assert shown["retention.ms"] == ("7200000", ConfigSource.STATIC_BROKER_CONFIG)
    assert shown["cleanup.policy"] == ("delete", ConfigSource.DEFAULT_CONFIG)
    visible = [name for name, key in load_schema(TOPIC).items() if not key.internal]
    assert [one.name for one in result.configs] == sorted(visible)
    assert not any(one.read_only or one.is_sensitive for one in result.configs)


def test_minutes_come_before_hours_and_words_are_no_hours() -> None:
    for static, milliseconds in (
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "180000"),
        ({"log.retention.hours": "two"}, "0"),
    ):
        node = ControllerNode(100, static)
        (result,) = create(THREE, CreatableTopic("orders", 1, 1), node=node).response.topics
        assert {one.name: one.value for one in result.configs}["retention.ms"] == milliseconds
