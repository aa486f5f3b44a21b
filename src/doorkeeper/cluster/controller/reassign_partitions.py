"""Other replicas for partitions. From ReplicationControlManager.alterPartitionReassignments (KIP-455, KIP-860).

A partition stays where it was made (design decision 11): what would move it is refused with a sentence, what asks for
the replica that it has is granted, and so no reassignment is ever in progress.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import NO_MESSAGE, Failure
from doorkeeper.cluster.controller.placement import check_assignment
from doorkeeper.cluster.image.metadata import MetadataImage

NOT_IN_PROGRESS: Final = Failure(ErrorCode.no_reassignment_in_progress)
STAYS: Final = (
    "Unable to move the partition: the embedded cluster keeps each partition on the broker that it was made on. To "
    "move partitions, run Apache Kafka and put Doorkeeper's gateway in front of it."
)


@dataclass(frozen=True, slots=True)
class ReassignablePartition:
    partition_index: int
    replicas: tuple[int, ...] | None
    """None: give up a reassignment in progress."""


@dataclass(frozen=True, slots=True)
class ReassignableTopic:
    name: str
    partitions: tuple[ReassignablePartition, ...]


@dataclass(frozen=True, slots=True)
class AlterPartitionReassignmentsRequest:
    topics: tuple[ReassignableTopic, ...]
    allow_replication_factor_change: bool = True


@dataclass(frozen=True, slots=True)
class ReassignablePartitionResponse:
    partition_index: int
    error_code: int
    error_message: str | None


@dataclass(frozen=True, slots=True)
class ReassignableTopicResponse:
    name: str
    partitions: tuple[ReassignablePartitionResponse, ...]


@dataclass(frozen=True, slots=True)
class AlterPartitionReassignmentsResponse:
    allow_replication_factor_change: bool
    responses: tuple[ReassignableTopicResponse, ...]
    error_code: int = ErrorCode.none
    error_message: str | None = None


def alter_partition_reassignments(
    image: MetadataImage, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Say of each partition whether it may have those replicas. Nothing changes."""
    may_change = request.allow_replication_factor_change
    responses = tuple(
        ReassignableTopicResponse(topic.name, tuple(_response(image, topic.name, one) for one in topic.partitions))
        for topic in request.topics
    )
    message = None if responses else NO_MESSAGE  # Kafka answers an empty request before it would set the message
    return AlterPartitionReassignmentsResponse(may_change, responses, error_message=message)


def _response(image: MetadataImage, topic: str, asked: ReassignablePartition) -> ReassignablePartitionResponse:
    failure = _failure(image, topic, asked)
    if failure is None:
        return ReassignablePartitionResponse(asked.partition_index, ErrorCode.none, None)
    return ReassignablePartitionResponse(asked.partition_index, failure.code, failure.message)


def _failure(image: MetadataImage, topic: str, asked: ReassignablePartition) -> Failure | None:
    existing = image.topics.by_name.get(topic)
    if existing is None:
        return Failure(ErrorCode.unknown_topic_or_partition, f"Unable to find a topic named {topic}.")
    partition = existing.partitions.get(asked.partition_index)
    if partition is None:
        return Failure(
            ErrorCode.unknown_topic_or_partition, f"Unable to find partition {topic}:{asked.partition_index}."
        )
    if asked.replicas is None:
        return NOT_IN_PROGRESS
    failure = check_assignment(image, asked.replicas)
    if failure is not None or asked.replicas == partition.replicas:
        return failure
    return Failure(ErrorCode.invalid_replica_assignment, STAYS)
