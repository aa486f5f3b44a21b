"""New topics. From ControllerApis.createTopics and ReplicationControlManager.createTopics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.config_changes import config_records, judge_new_topic
from doorkeeper.cluster.controller.controller_node import ControllerNode, cluster_configs, node_configs
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
    refusal_of_replication,
)
from doorkeeper.cluster.controller.topic_configs import BrokerLayers, effective_topic_configs
from doorkeeper.cluster.image.configs import ConfigResourceType
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.rules.names import check_topic_name
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import TopicRecord

MAX_PARTITIONS_PER_REQUEST: Final = 10_000  # partitions; ReplicationControlManager.MAX_PARTITIONS_PER_BATCH
METADATA_TOPIC: Final = "__cluster_metadata"
USE_DEFAULT: Final = -1


@dataclass(frozen=True, slots=True)
class CreatableReplicaAssignment:
    partition_index: int
    broker_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CreatableTopicConfig:
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class CreatableTopic:
    name: str
    num_partitions: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: tuple[CreatableReplicaAssignment, ...] = ()
    configs: tuple[CreatableTopicConfig, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTopicsRequest:
    topics: tuple[CreatableTopic, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class CreatableTopicConfigs:
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool


@dataclass(frozen=True, slots=True)
class CreatableTopicResult:
    name: str
    topic_id: UUID | None = None
    error_code: int = ErrorCode.none
    error_message: str | None = None
    topic_config_error_code: int = ErrorCode.none
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[CreatableTopicConfigs, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTopicsResponse:
    topics: tuple[CreatableTopicResult, ...]


def decide_create_topics(
    image: MetadataImage,
    request: CreateTopicsRequest,
    node: ControllerNode,
    *,
    new_id: Callable[[], UUID],
    charge: Charge = free_of_charge,
) -> Decision[CreateTopicsResponse]:
    """Create each topic that may be; the answers come in the order of the request, one for each name."""
    creation = _Creation(image, node, new_id, charge)
    times = Counter(topic.name for topic in request.topics)
    topics = list({topic.name: topic for topic in request.topics}.values())
    too_many = creation.count_partitions(request.topics) > MAX_PARTITIONS_PER_REQUEST
    results = []
    for topic in topics:
        if too_many:
            message = "Excessively large number of partitions per request."
            outcome: CreatableTopicResult | Failure = Failure(ErrorCode.policy_violation, message)
        else:
            outcome = creation.create(topic, repeated=times[topic.name] > 1)
        if isinstance(outcome, Failure):
            outcome = CreatableTopicResult(topic.name, error_code=outcome.code, error_message=outcome.message)
        results.append(outcome)
    return Decision(creation.batch.records(validate_only=request.validate_only), CreateTopicsResponse(tuple(results)))


class _Creation:
    """One request under way: what is placed and written so far."""

    def __init__(self, image: MetadataImage, node: ControllerNode, new_id: Callable[[], UUID], charge: Charge) -> None:
        self._charge = charge
        self._image = image
        self._node = node
        self._new_id = new_id
        self._placer = Placer(image)
        self._default_partitions = node.integer("num.partitions")
        self._default_replication = node.integer("default.replication.factor")
        self._colliding = {_unified(name): name for name in image.topics.by_name if _has_collision_characters(name)}
        self._layers = BrokerLayers(node_configs(image, node.id), cluster_configs(image), node.static)
        self.batch = RecordBatch(MAX_PARTITIONS_PER_REQUEST * 2)

    def count_partitions(self, topics: Sequence[CreatableTopic]) -> int:
        """How many partitions a request asks for."""
        return sum(
            len(topic.assignments)
            or (self._default_partitions if topic.num_partitions == USE_DEFAULT else max(0, topic.num_partitions))
            for topic in topics
        )

    def create(self, topic: CreatableTopic, *, repeated: bool) -> CreatableTopicResult | Failure:
        """One topic, in Kafka's order: name, existence, configs, partitions."""
        failure = self._check_name(topic.name, repeated)
        if failure is not None:
            return failure
        configs = self._judged_configs(topic)
        if isinstance(configs, Failure):
            return configs
        placed = self._assigned(topic) if topic.assignments else self._placed(topic)
        if isinstance(placed, Failure):
            return placed
        if not self._charge(len(placed)):
            return EXHAUSTED
        topic_id = self._new_id()
        failure = self.batch.add(self._records(topic.name, topic_id, configs, placed))
        return failure if failure is not None else self._result(topic.name, topic_id, configs, len(placed))

    def _check_name(self, name: str, repeated: bool) -> Failure | None:
        if repeated:
            return Failure(ErrorCode.invalid_request, "Duplicate topic name.")
        if name == METADATA_TOPIC:
            return Failure(ErrorCode.invalid_request, f"Creation of internal topic {name} is prohibited.")
        if name in self._image.topics.by_name:
            return Failure(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
        violation = check_topic_name(name)
        if violation is not None:
            return Failure(ErrorCode(int(violation.code)), violation.message)
        if _has_collision_characters(name) and (other := self._colliding.get(_unified(name))):
            message = f"Topic '{name}' collides with existing topic: {other}"
            return Failure(ErrorCode.invalid_topic_exception, message)
        return None

    def _judged_configs(self, topic: CreatableTopic) -> Mapping[str, str] | Failure:
        nulls = [one.name for one in topic.configs if one.value is None]
        if nulls:
            message = f"Null value not supported for topic configs: {','.join(nulls)}"
            return Failure(ErrorCode.invalid_config, message)
        configs = {one.name: one.value for one in topic.configs if one.value is not None}
        if not configs:
            return {}
        return judge_new_topic(self._image, topic.name, configs, self._node)

    def _assigned(self, topic: CreatableTopic) -> dict[int, int] | Failure:
        prefix = "A manual partition assignment was specified, but"
        if topic.replication_factor != USE_DEFAULT:
            return Failure(ErrorCode.invalid_request, f"{prefix} replication factor was not set to -1.")
        if topic.num_partitions != USE_DEFAULT:
            return Failure(ErrorCode.invalid_request, f"{prefix} numPartitions was not set to -1.")
        placed: dict[int, int] = {}
        for one in topic.assignments:
            if one.partition_index in placed:
                message = f"Found multiple manual partition assignments for partition {one.partition_index}"
                return Failure(ErrorCode.invalid_replica_assignment, message)
            failure = check_assignment(self._image, one.broker_ids) or check_assignment_is_active(
                self._image, one.partition_index, one.broker_ids
            )
            if failure is not None:
                return failure
            placed[one.partition_index] = one.broker_ids[0]
        if set(placed) != set(range(len(placed))):
            message = "partitions should be a consecutive 0-based integer sequence"
            return Failure(ErrorCode.invalid_replica_assignment, message)
        return placed

    def _placed(self, topic: CreatableTopic) -> dict[int, int] | Failure:
        if topic.replication_factor < USE_DEFAULT or topic.replication_factor == 0:
            message = "Replication factor must be larger than 0, or -1 to use the default value."
            return Failure(ErrorCode.invalid_replication_factor, message)
        if topic.num_partitions < USE_DEFAULT or topic.num_partitions == 0:
            message = "Number of partitions was set to an invalid non-positive value."
            return Failure(ErrorCode.invalid_partitions, message)
        count = self._default_partitions if topic.num_partitions == USE_DEFAULT else topic.num_partitions
        factor = self._default_replication if topic.replication_factor == USE_DEFAULT else topic.replication_factor
        if factor > 1:
            return refusal_of_replication(factor)
        placed = self._placer.place(count)
        return placed if isinstance(placed, Failure) else dict(enumerate(placed))

    def _records(
        self, name: str, topic_id: UUID, configs: Mapping[str, str], placed: Mapping[int, int]
    ) -> list[VersionedRecord]:
        return [
            VersionedRecord(TopicRecord(name=name, topic_id=topic_id), 0),
            *config_records(ConfigResourceType.TOPIC, name, {}, configs),
            *(partition_record(self._image, topic_id, index, placed[index]) for index in sorted(placed)),
        ]

    def _result(self, name: str, topic_id: UUID, configs: Mapping[str, str], count: int) -> CreatableTopicResult:
        return CreatableTopicResult(
            name,
            topic_id,
            num_partitions=count,
            replication_factor=1,
            configs=tuple(
                CreatableTopicConfigs(
                    name=key.name,
                    value=None if key.sensitive else value,
                    read_only=False,
                    config_source=source,
                    is_sensitive=key.sensitive,
                )
                for key, value, source in effective_topic_configs(configs, self._layers)
            ),
        )


def _has_collision_characters(name: str) -> bool:
    """Names in which a metric's name could be mistaken for another's (Topic.hasCollisionChars)."""
    return "." in name or "_" in name


def _unified(name: str) -> str:
    return name.replace(".", "_")
