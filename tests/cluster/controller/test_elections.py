"""Elections and reassignments in a cluster that is one replica deep: nothing moves, and everybody is told why."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import broker, cluster, topic

from doorkeeper.cluster.controller.elect_leaders import (
    ElectionType,
    ElectLeadersRequest,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
    elect_leaders,
)
from doorkeeper.cluster.controller.reassign_partitions import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
    alter_partition_reassignments,
)

IMAGE = cluster(broker(1), broker(2), *topic("led", 1, 2), *topic("lost", 1, -2))
"""The second partition of `lost` has a replica that is not there."""


def elected(kind: int, *asked: TopicPartitions) -> tuple[ReplicaElectionResult, ...]:
    return elect_leaders(IMAGE, ElectLeadersRequest(asked or None, kind)).replica_election_results


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ElectionType.PREFERRED, ErrorCode.preferred_leader_not_available),
        (ElectionType.UNCLEAN, ErrorCode.eligible_leaders_not_available),
    ],
)
def test_of_all_partitions_only_those_without_a_leader_are_told_of(kind: ElectionType, code: ErrorCode) -> None:
    led, lost = elected(kind)
    assert led == ReplicaElectionResult("led", ())
    assert [(one.partition_id, one.error_code) for one in lost.partition_result] == [(1, code)]


def test_a_partition_asked_for_is_told_that_it_has_its_leader() -> None:
    (told,) = elected(ElectionType.PREFERRED, TopicPartitions("led", (1,)))
    message = "Leader election not needed for topic partition."
    assert told.partition_result == (PartitionResult(1, ErrorCode.election_not_needed, message),)


@pytest.mark.parametrize(
    ("name", "index", "message"), [("none", 0, "No such topic as none"), ("led", 2, "No such partition as led-2")]
)
def test_what_is_not_there_can_not_be_led(name: str, index: int, message: str) -> None:
    (told,) = elected(ElectionType.UNCLEAN, TopicPartitions(name, (index,)))
    assert told.partition_result == (PartitionResult(index, ErrorCode.unknown_topic_or_partition, message),)


def test_an_unknown_kind_of_election_is_refused_whole() -> None:
    answer = elect_leaders(IMAGE, ElectLeadersRequest((TopicPartitions("led", (0,)),), 2))
    assert answer.error_code == ErrorCode.invalid_request
    (told,) = answer.replica_election_results
    assert told.partition_result == (PartitionResult(0, ErrorCode.invalid_request, "Unknown election type 2"),)
    assert elect_leaders(IMAGE, ElectLeadersRequest(None, 2)).replica_election_results == ()


def test_who_asks_for_nothing_gets_nothing() -> None:
    assert elect_leaders(IMAGE, ElectLeadersRequest((), 2)).error_code == ErrorCode.none


def reassigned(name: str, index: int, replicas: tuple[int, ...] | None) -> tuple[int, str | None]:
    request = AlterPartitionReassignmentsRequest((ReassignableTopic(name, (ReassignablePartition(index, replicas),)),))
    (told,) = alter_partition_reassignments(IMAGE, request).responses
    (one,) = told.partitions
    return one.error_code, one.error_message


def test_the_replica_that_a_partition_has_is_granted() -> None:
    assert reassigned("led", 1, (2,)) == (ErrorCode.none, None)


@pytest.mark.parametrize(
    ("replicas", "code", "word"),
    [
        ((1,), ErrorCode.invalid_replica_assignment, "gateway"),
        ((1, 2), ErrorCode.invalid_replica_assignment, "gateway"),
        ((), ErrorCode.invalid_replica_assignment, "empty replica list"),
        ((9,), ErrorCode.invalid_replica_assignment, "no such broker is registered"),
        (None, ErrorCode.no_reassignment_in_progress, ""),
    ],
)
def test_whatever_else_is_refused(replicas: tuple[int, ...] | None, code: ErrorCode, word: str) -> None:
    told, message = reassigned("led", 1, replicas)
    assert told == code
    assert word in (message or "")


@pytest.mark.parametrize(("name", "index"), [("none", 0), ("led", 2)])
def test_what_is_not_there_can_not_be_reassigned(name: str, index: int) -> None:
    assert reassigned(name, index, (1,))[0] == ErrorCode.unknown_topic_or_partition
