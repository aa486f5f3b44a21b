"""More partitions for topics. From ControllerApis.createPartitions and ReplicationControlManager.createPartitions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.create_topics import MAX_PARTITIONS_PER_REQUEST
from doorkeeper.cluster.controller.decision import (
    EXHAUSTED,
    Charge,
    Decision,
    Failure,
    RecordBatch,
    free_of_charge,
)
from doorkeeper.cluster.controller.placement import (
    Placer,
    check_assignment,
    check_assignment_is_active,
    partition_record,
)
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.topics import TopicImage


@dataclass(frozen=True, slots=True)
class CreatePartitionsAssignment:
    broker_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CreatePartitionsTopic:
    name: str
    count: int
    """How many there shall be in all."""
    assignments: tuple[CreatePartitionsAssignment, ...] | None = None


@dataclass(frozen=True, slots=True)
class CreatePartitionsRequest:
    topics: tuple[CreatePartitionsTopic, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class CreatePartitionsTopicResult:
    name: str
    error_code: int = ErrorCode.none
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class CreatePartitionsResponse:
    results: tuple[CreatePartitionsTopicResult, ...]


def decide_create_partitions(
    image: MetadataImage, request: CreatePartitionsRequest, *, charge: Charge = free_of_charge
) -> Decision[CreatePartitionsResponse]:
    """Add partitions to each topic that may have them; one answer for each name."""
    batch = RecordBatch(MAX_PARTITIONS_PER_REQUEST)
    placer = Placer(image)
    times = Counter(topic.name for topic in request.topics)
    results = []
    for topic in {topic.name: topic for topic in request.topics}.values():
        failure = (
            Failure(ErrorCode.invalid_request, "Duplicate topic name.")
            if times[topic.name] > 1
            else _grow(image, topic, placer, batch, charge)
        )
        code, message = (ErrorCode.none, None) if failure is None else (failure.code, failure.message)
        results.append(CreatePartitionsTopicResult(topic.name, code, message))
    return Decision(batch.records(validate_only=request.validate_only), CreatePartitionsResponse(tuple(results)))


def _grow(
    image: MetadataImage, topic: CreatePartitionsTopic, placer: Placer, batch: RecordBatch, charge: Charge
) -> Failure | None:
    existing = image.topics.by_name.get(topic.name)
    if existing is None:
        return Failure(ErrorCode.unknown_topic_or_partition)
    failure = _check_count(existing, topic)
    if failure is not None:
        return failure
    start = len(existing.partitions)
    if not charge(topic.count - start):
        return EXHAUSTED
    placed = _assigned(image, topic, start) if topic.assignments is not None else placer.place(topic.count - start)
    if isinstance(placed, Failure):
        return placed
    return batch.add(
        [partition_record(image, existing.id, index, broker_id) for index, broker_id in enumerate(placed, start)]
    )


def _check_count(existing: TopicImage, topic: CreatePartitionsTopic) -> Failure | None:
    count = len(existing.partitions)
    if topic.count == count:
        return Failure(ErrorCode.invalid_partitions, f"Topic already has {count} partition(s).")
    if topic.count < count:
        message = f"The topic {topic.name} currently has {count} partition(s); {topic.count} would not be an increase."
        return Failure(ErrorCode.invalid_partitions, message)
    if topic.count - count > MAX_PARTITIONS_PER_REQUEST:
        return Failure(ErrorCode.policy_violation, "Excessively large number of partitions per request.")
    if topic.assignments is not None and len(topic.assignments) != topic.count - count:
        message = (
            f"Attempted to add {topic.count - count} additional partition(s), but only {len(topic.assignments)} "
            "assignment(s) were specified."
        )
        return Failure(ErrorCode.invalid_replica_assignment, message)
    return None


def _assigned(image: MetadataImage, topic: CreatePartitionsTopic, start: int) -> list[int] | Failure:
    assert topic.assignments is not None
    placed = []
    for index, one in enumerate(topic.assignments, start):
        failure = check_assignment(image, one.broker_ids) or check_assignment_is_active(image, index, one.broker_ids)
        if failure is not None:
            return failure
        placed.append(one.broker_ids[0])
    return placed
