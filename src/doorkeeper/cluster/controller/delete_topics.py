"""Topics that go. From ControllerApis.deleteTopics and ReplicationControlManager.deleteTopics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import (
    EXHAUSTED,
    Charge,
    Decision,
    Failure,
    RecordBatch,
    free_of_charge,
)
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.topics import TopicImage
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import RemoveTopicRecord

UNKNOWN_TOPIC: Final = Failure(ErrorCode.unknown_topic_or_partition, "This server does not host this topic-partition.")
UNKNOWN_ID: Final = Failure(ErrorCode.unknown_topic_id, "This server does not host this topic ID.")


@dataclass(frozen=True, slots=True)
class DeleteTopicState:
    name: str | None = None
    topic_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class DeleteTopicsRequest:
    topics: tuple[DeleteTopicState, ...] = ()
    """From version 6 on: by name or by id."""
    topic_names: tuple[str, ...] = ()
    """Before version 6."""


@dataclass(frozen=True, slots=True)
class DeletableTopicResult:
    name: str | None
    topic_id: UUID | None = None
    error_code: int = ErrorCode.none
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteTopicsResponse:
    responses: tuple[DeletableTopicResult, ...]


def decide_delete_topics(
    image: MetadataImage,
    request: DeleteTopicsRequest,
    *,
    enabled: bool = True,
    api_version: int = 6,
    charge: Charge = free_of_charge,
) -> Decision[DeleteTopicsResponse]:
    """Delete each topic that is there, by name or id. `enabled` is `delete.topic.enable`; versions below 3 don't know
    the code that says so.

    A topic asked for both by name and by id is refused under both: whoever sent that did not mean it.
    """
    states = (*(DeleteTopicState(name) for name in request.topic_names), *request.topics)
    if not enabled:
        code = ErrorCode.topic_deletion_disabled if api_version >= 3 else ErrorCode.invalid_request
        disabled = (DeletableTopicResult(one.name, one.topic_id, code) for one in states)
        return Decision((), DeleteTopicsResponse(tuple(disabled)))
    times = Counter(states)
    found = {state: _find(image, state, times[state]) for state in times}
    meant = Counter(topic.id for topic in found.values() if isinstance(topic, TopicImage))
    batch = RecordBatch()
    results = []
    for state, topic in found.items():
        if isinstance(topic, TopicImage):
            results.append(_delete(state, topic, batch, charge, repeated=meant[topic.id] > 1))
        else:
            results.append(DeletableTopicResult(state.name, state.topic_id, topic.code, topic.message))
    return Decision(batch.records(), DeleteTopicsResponse(tuple(results)))


def _find(image: MetadataImage, state: DeleteTopicState, times: int) -> TopicImage | Failure:
    if state.name is None and state.topic_id is None:
        return _invalid("Neither topic name nor id were specified.")
    if state.name is not None and state.topic_id is not None:
        return _invalid("You may not specify both topic name and topic id.")
    if times > 1:
        return _invalid("Duplicate topic name." if state.topic_id is None else "Duplicate topic id.")
    if state.topic_id is not None:
        return image.topics.by_id.get(state.topic_id) or UNKNOWN_ID
    assert state.name is not None
    return image.topics.by_name.get(state.name) or UNKNOWN_TOPIC


def _delete(
    state: DeleteTopicState, topic: TopicImage, batch: RecordBatch, charge: Charge, *, repeated: bool
) -> DeletableTopicResult:
    if repeated:
        failure: Failure | None = _invalid("The provided topic name maps to an ID that was already supplied.")
    elif not charge(len(topic.partitions)):
        failure = EXHAUSTED
    else:
        failure = batch.add([VersionedRecord(RemoveTopicRecord(topic_id=topic.id), 0)])
    if failure is not None:
        return DeletableTopicResult(state.name, state.topic_id, failure.code, failure.message)
    return DeletableTopicResult(topic.name, topic.id)


def _invalid(message: str) -> Failure:
    return Failure(ErrorCode.invalid_request, message)
