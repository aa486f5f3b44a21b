"""Elections of leaders. From ReplicationControlManager.electLeaders; one replica deep, there is no other to elect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import Failure
from doorkeeper.cluster.image.metadata import MetadataImage

NO_LEADER: Final = -1


class ElectionType(IntEnum):
    """Which replica is wanted."""

    PREFERRED = 0
    UNCLEAN = 1


UNAVAILABLE: Final = {
    ElectionType.PREFERRED: Failure(
        ErrorCode.preferred_leader_not_available, "The preferred leader was not available."
    ),
    ElectionType.UNCLEAN: Failure(
        ErrorCode.eligible_leaders_not_available, "Eligible topic partition leaders are not available."
    ),
}
NOT_NEEDED: Final = Failure(ErrorCode.election_not_needed, "Leader election not needed for topic partition.")


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    topic: str
    partitions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ElectLeadersRequest:
    topic_partitions: tuple[TopicPartitions, ...] | None
    """None: all partitions of the cluster."""
    election_type: int = ElectionType.PREFERRED


@dataclass(frozen=True, slots=True)
class PartitionResult:
    partition_id: int
    error_code: int
    error_message: str | None


@dataclass(frozen=True, slots=True)
class ReplicaElectionResult:
    topic: str
    partition_result: tuple[PartitionResult, ...]


@dataclass(frozen=True, slots=True)
class ElectLeadersResponse:
    error_code: int
    replica_election_results: tuple[ReplicaElectionResult, ...]


def elect_leaders(image: MetadataImage, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Say of each partition why it keeps the leader that it has, or has none. Nothing changes."""
    if request.topic_partitions == ():
        return ElectLeadersResponse(ErrorCode.none, ())
    if request.election_type not in set(ElectionType):
        return _refused(request)
    kind = ElectionType(request.election_type)
    if request.topic_partitions is None:
        results = tuple(ReplicaElectionResult(name, tuple(_needed(image, name, kind))) for name in image.topics.by_name)
    else:
        results = tuple(
            ReplicaElectionResult(one.topic, tuple(_result(image, one.topic, index, kind) for index in one.partitions))
            for one in request.topic_partitions
        )
    return ElectLeadersResponse(ErrorCode.none, results)


def _refused(request: ElectLeadersRequest) -> ElectLeadersResponse:
    """The whole request, and so each of its partitions (ElectLeadersRequest.getErrorResponse)."""
    code, message = ErrorCode.invalid_request, f"Unknown election type {request.election_type}"
    results = (
        ReplicaElectionResult(one.topic, tuple(PartitionResult(index, code, message) for index in one.partitions))
        for one in request.topic_partitions or ()
    )
    return ElectLeadersResponse(code, tuple(results))


def _needed(image: MetadataImage, topic: str, kind: ElectionType) -> Iterator[PartitionResult]:
    """Asked for all, Kafka leaves out the partitions that have the leader they should have."""
    for index in image.topics.by_name[topic].partitions:
        result = _result(image, topic, index, kind)
        if result.error_code != ErrorCode.election_not_needed:
            yield result


def _result(image: MetadataImage, topic: str, index: int, kind: ElectionType) -> PartitionResult:
    failure = _failure(image, topic, index, kind)
    return PartitionResult(index, failure.code, failure.message)


def _failure(image: MetadataImage, topic: str, index: int, kind: ElectionType) -> Failure:
    existing = image.topics.by_name.get(topic)
    if existing is None:
        return Failure(ErrorCode.unknown_topic_or_partition, f"No such topic as {topic}")
    partition = existing.partitions.get(index)
    if partition is None:
        return Failure(ErrorCode.unknown_topic_or_partition, f"No such partition as {topic}-{index}")
    return UNAVAILABLE[kind] if partition.leader == NO_LEADER else NOT_NEEDED
