"""Topics that go, and topics that grow."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import after, broker, cluster, config, topic

from doorkeeper.cluster.controller.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    decide_create_partitions,
)
from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.controller.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicState,
    decide_delete_topics,
)
from doorkeeper.cluster.image.metadata import MetadataImage

A, B, NOBODY = UUID(int=1), UUID(int=2), UUID(int=3)
IMAGE = cluster(
    broker(1),
    broker(2),
    broker(4, fenced=True),
    *topic("a", 1, topic_id=A),
    *topic("b", 1, 2, topic_id=B),
    config(2, "a", "retention.ms", "5"),
)


def test_deletes_by_name_and_by_id_with_all_that_belongs_to_it() -> None:
    request = DeleteTopicsRequest((DeleteTopicState("a"), DeleteTopicState(topic_id=B)))
    decision = decide_delete_topics(IMAGE, request)
    assert decision.response.responses == (DeletableTopicResult("a", A), DeletableTopicResult("b", B))
    image = after(IMAGE, decision)
    assert image.topics.by_name == {}
    assert image.configs.of(2, "a") == {}
    assert decide_delete_topics(IMAGE, request) == decision


def test_old_versions_name_topics() -> None:
    decision = decide_delete_topics(IMAGE, DeleteTopicsRequest(topic_names=("b", "x")))
    assert [(one.name, one.error_code) for one in decision.response.responses] == [
        ("b", ErrorCode.none),
        ("x", ErrorCode.unknown_topic_or_partition),
    ]
    assert set(after(IMAGE, decision).topics.by_name) == {"a"}


@pytest.mark.parametrize(
    ("states", "code", "message"),
    [
        ((DeleteTopicState(),), ErrorCode.invalid_request, "Neither topic name nor id were specified."),
        (
            (DeleteTopicState("a", A),),
            ErrorCode.invalid_request,
            "You may not specify both topic name and topic id.",
        ),
        ((DeleteTopicState("a"),) * 2, ErrorCode.invalid_request, "Duplicate topic name."),
        ((DeleteTopicState(topic_id=A),) * 2, ErrorCode.invalid_request, "Duplicate topic id."),
        (
            (DeleteTopicState("x"),),
            ErrorCode.unknown_topic_or_partition,
            "This server does not host this topic-partition.",
        ),
        (
            (DeleteTopicState(topic_id=NOBODY),),
            ErrorCode.unknown_topic_id,
            "This server does not host this topic ID.",
        ),
    ],
)
def test_refuses_one_with_one_answer_and_deletes_the_other(
    states: tuple[DeleteTopicState, ...], code: ErrorCode, message: str
) -> None:
    decision = decide_delete_topics(IMAGE, DeleteTopicsRequest((*states, DeleteTopicState("b"))))
    refused, deleted = decision.response.responses
    assert (refused.error_code, refused.error_message) == (code, message)
    assert deleted == DeletableTopicResult("b", B)
    assert set(after(IMAGE, decision).topics.by_name) == {"a"}


def test_a_topic_meant_by_name_and_by_id_stays() -> None:
    decision = decide_delete_topics(IMAGE, DeleteTopicsRequest((DeleteTopicState("a"), DeleteTopicState(topic_id=A))))
    assert decision.records == ()
    assert {one.error_message for one in decision.response.responses} == {
        "The provided topic name maps to an ID that was already supplied."
    }


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.invalid_request), (3, ErrorCode.topic_deletion_disabled)])
def test_deletes_nothing_where_deletion_is_off(version: int, code: ErrorCode) -> None:
    request = DeleteTopicsRequest(topic_names=("a",))
    decision = decide_delete_topics(IMAGE, request, enabled=False, api_version=version)
    assert decision.records == ()
    assert decision.response.responses[0].error_code == code


def grow(image: MetadataImage, *topics: CreatePartitionsTopic, **changes: Any) -> Decision[CreatePartitionsResponse]:
    return decide_create_partitions(image, CreatePartitionsRequest(topics, **changes))


def assigned(*replicas: tuple[int, ...]) -> tuple[CreatePartitionsAssignment, ...]:
    return tuple(map(CreatePartitionsAssignment, replicas))


def test_adds_partitions_evenly_and_leaves_the_old_ones() -> None:
    decision = grow(IMAGE, CreatePartitionsTopic("a", 3))
    image = after(IMAGE, decision)
    partitions = image.topics.by_name["a"].partitions
    assert sorted(partitions) == [0, 1, 2]
    assert partitions[0] == IMAGE.topics.by_name["a"].partitions[0]
    assert [partitions[index].leader for index in (1, 2)] == [2, 1]
    assert grow(IMAGE, CreatePartitionsTopic("a", 3)) == decision


def test_follows_an_assignment() -> None:
    image = after(IMAGE, grow(IMAGE, CreatePartitionsTopic("a", 3, assigned((2,), (2,)))))
    assert [image.topics.by_name["a"].partitions[index].leader for index in (1, 2)] == [2, 2]


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (CreatePartitionsTopic("x", 3), ErrorCode.unknown_topic_or_partition, None),
        (CreatePartitionsTopic("b", 2), ErrorCode.invalid_partitions, "Topic already has 2 partition(s)."),
        (
            CreatePartitionsTopic("b", 1),
            ErrorCode.invalid_partitions,
            "The topic b currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            CreatePartitionsTopic("b", 10_003),
            ErrorCode.policy_violation,
            "Excessively large number of partitions per request.",
        ),
        (
            CreatePartitionsTopic("b", 4, assigned((1,))),
            ErrorCode.invalid_replica_assignment,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            CreatePartitionsTopic("b", 3, assigned(())),
            ErrorCode.invalid_replica_assignment,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            CreatePartitionsTopic("b", 3, assigned((4,))),
            ErrorCode.invalid_replica_assignment,
            (
                "All brokers specified in the manual partition assignment for partition 2 are fenced or in controlled "
                "shutdown."
            ),
        ),
    ],
)
def test_refuses_to_grow_one_and_grows_the_other(
    asked: CreatePartitionsTopic, code: ErrorCode, message: str | None
) -> None:
    decision = grow(IMAGE, asked, CreatePartitionsTopic("a", 2))
    refused, grown = decision.response.results
    assert (refused.error_code, refused.error_message) == (code, message)
    assert grown.error_code == ErrorCode.none
    assert len(decision.records) == 1


def test_grows_by_ten_thousand_at_most() -> None:
    decision = grow(IMAGE, CreatePartitionsTopic("b", 10_002), CreatePartitionsTopic("a", 2))
    assert [one.error_code for one in decision.response.results] == [ErrorCode.none, ErrorCode.policy_violation]
    assert len(decision.records) == 10_000


def test_names_the_gateway_when_asked_for_more_replicas() -> None:
    (result,) = grow(IMAGE, CreatePartitionsTopic("a", 2, assigned((1, 2)))).response.results
    assert result.error_message is not None
    assert "gateway" in result.error_message


def test_a_topic_that_comes_twice_is_refused_once() -> None:
    decision = grow(IMAGE, CreatePartitionsTopic("a", 2), CreatePartitionsTopic("a", 3))
    (result,) = decision.response.results
    assert (result.error_code, result.error_message) == (ErrorCode.invalid_request, "Duplicate topic name.")


def test_cannot_grow_when_nobody_is_there() -> None:
    image = cluster(broker(1, fenced=True), *topic("a", -1))
    assert grow(image, CreatePartitionsTopic("a", 2)).response.results[0].error_code == (
        ErrorCode.invalid_replication_factor
    )


def test_validate_only_stores_nothing() -> None:
    decision = grow(IMAGE, CreatePartitionsTopic("a", 2), validate_only=True)
    assert decision.records == ()
    assert decision.response.results[0].error_code == ErrorCode.none
