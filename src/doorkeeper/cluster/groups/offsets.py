"""OffsetCommit, TxnOffsetCommit, OffsetFetch, OffsetDelete, and the end of old offsets.

After OffsetMetadataManager of Kafka 4.3.1, and the checks of topics that its KafkaApis makes before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.classic.group import ClassicState
from doorkeeper.cluster.groups.classic.membership import require_classic_commit
from doorkeeper.cluster.groups.classic.rebalance import schedule_heartbeat
from doorkeeper.cluster.groups.consumer.group import ConsumerGroup
from doorkeeper.cluster.groups.consumer.member import ConsumerMember
from doorkeeper.cluster.groups.messages import (
    NONE,
    UNKNOWN_GENERATION,
    UNKNOWN_MEMBER,
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitTopic,
    OffsetFetchGroup,
    OffsetFetchGroupResult,
    OffsetFetchPartitionResult,
    OffsetFetchTopic,
    OffsetFetchTopicResult,
    PartitionResult,
    RequestContext,
    TopicResult,
    TxnOffsetCommitRequest,
)
from doorkeeper.cluster.groups.offset_store import CommittedOffset
from doorkeeper.cluster.groups.step import GroupRefusedError
from doorkeeper.cluster.groups.topics import TopicView
from doorkeeper.rules.names import check_offset_metadata
from doorkeeper.wire.coordinator_records import CoordinatorRecord, OffsetCommitKey, OffsetCommitValue
from doorkeeper.wire.metadata.schema import ZERO_UUID

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.state import CoordinatorState
    from doorkeeper.cluster.groups.step import Step

TOPIC_IDS_SINCE: Final = 10  # version of OffsetCommit and OffsetFetch
CONSUMER_PROTOCOL_SINCE: Final = 9  # version of OffsetCommit that members of the consumer protocol must use
VALUE_VERSION: Final = 4  # of OffsetCommitValue, as Kafka 4.3.1 writes it
VALUE_VERSION_WITH_EXPIRY: Final = 1
NO_RETENTION: Final = -1
NO_EXPIRY: Final = -1

PartitionCheck: TypeAlias = Callable[[str, UUID, int], None]
"""Refuses a partition that the member has no right to commit: by name, id and number."""


# --- who may commit ----------------------------------------------------------------------------------------------


def _allow_all(_topic: str, _topic_id: UUID, _partition: int) -> None:
    return


def _stale(member: ConsumerMember, message: str) -> GroupRefusedError:
    code = ErrorCode.illegal_generation if member.uses_classic_protocol else ErrorCode.stale_member_epoch
    return GroupRefusedError(code, message)


def _require_consumer_commit(
    group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int, *, transactional: bool, version: int
) -> PartitionCheck:
    """Whether a member may commit at this epoch; at an older one it may commit what it has held since then."""
    nobody = epoch == UNKNOWN_GENERATION and member_id == UNKNOWN_MEMBER and instance_id is None
    if (epoch < 0 and group.is_empty) or (transactional and nobody):
        return _allow_all
    member = group.require_member(member_id)
    if not transactional and not member.uses_classic_protocol and version < CONSUMER_PROTOCOL_SINCE:
        message = "OffsetCommit version 9 or above must be used by members using the consumer group protocol"
        raise GroupRefusedError(ErrorCode.unsupported_version, message)
    if epoch == member.member_epoch:
        return _allow_all
    if epoch > member.member_epoch:
        what = "generation id" if member.uses_classic_protocol else "member epoch"
        raise _stale(member, f"Received {what} {epoch} is newer than current member epoch {member.member_epoch}.")

    def check(topic: str, topic_id: UUID, partition: int) -> None:
        since = member.assignment_epoch(topic_id, partition)
        if since is None:
            raise _stale(member, f"Partition {topic}-{partition} is not assigned or pending revocation for member.")
        if epoch < since:
            message = (
                f"Received epoch {epoch} is older than assignment epoch {since} for partition {topic}-{partition}."
            )
            raise _stale(member, message)

    return check


def _require_commit(
    state: CoordinatorState, step: Step, context: RequestContext, request: OffsetCommitRequest
) -> PartitionCheck:
    epoch = request.generation_id_or_member_epoch
    group = state.groups.get(request.group_id)
    if group is None:
        if epoch < 0:
            return _allow_all  # replay makes a group that only has offsets
        if context.api_version >= CONSUMER_PROTOCOL_SINCE:
            raise GroupRefusedError(ErrorCode.group_id_not_found, f"Group {request.group_id} not found.")
        raise GroupRefusedError(ErrorCode.illegal_generation)
    who = (request.member_id, request.group_instance_id, epoch)
    if isinstance(group, ConsumerGroup):
        return _require_consumer_commit(group, *who, transactional=False, version=context.api_version)
    require_classic_commit(group, *who, transactional=False)
    member = group.members.get(request.member_id)
    if member is not None and group.is_in(ClassicState.STABLE, ClassicState.PREPARING_REBALANCE):
        schedule_heartbeat(state, step, group, member)
    return _allow_all


def _require_transactional_commit(
    state: CoordinatorState, version: int, request: TxnOffsetCommitRequest
) -> PartitionCheck:
    group = state.groups.get(request.group_id)
    if group is None:
        if request.generation_id < 0:
            return _allow_all
        raise GroupRefusedError(ErrorCode.illegal_generation)
    who = (request.member_id, request.group_instance_id, request.generation_id)
    if isinstance(group, ConsumerGroup):
        return _require_consumer_commit(group, *who, transactional=True, version=version)
    require_classic_commit(group, *who, transactional=True)
    return _allow_all


# --- committing --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Entry:
    """One partition of a commit: the topic that it is of, and what becomes of it."""

    asked: OffsetCommitPartition
    topic: TopicView | None
    code: ErrorCode = NONE


def commit_offsets(
    state: CoordinatorState, step: Step, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse:
    """Write the offsets down, or say for each partition why not."""
    by_id = context.api_version >= TOPIC_IDS_SINCE
    entries = [_entries(state, topic, by_id=by_id) for topic in request.topics]
    retention = request.retention_time_ms
    expires = NO_EXPIRY if retention == NO_RETENTION else step.now_ms + retention

    def write(entry: _Entry, topic: TopicView) -> None:
        step.write(_commit_record(request.group_id, topic, entry.asked, step.now_ms, expires, topic.topic_id))

    _commit(state, step, entries, lambda: _require_commit(state, step, context, request), write)
    return _commit_response(request.topics, entries)


def commit_transactional_offsets(
    state: CoordinatorState, step: Step, context: RequestContext, request: TxnOffsetCommitRequest
) -> OffsetCommitResponse:
    """Write offsets down that will count when their transaction commits."""
    entries = [_entries(state, topic, by_id=False) for topic in request.topics]

    def write(entry: _Entry, topic: TopicView) -> None:
        # Kafka leaves the topic id out of transactional commits.
        step.write(_commit_record(request.group_id, topic, entry.asked, step.now_ms, NO_EXPIRY, ZERO_UUID))

    _commit(state, step, entries, lambda: _require_transactional_commit(state, context.api_version, request), write)
    for entry in chain(*entries):
        if entry.code is ErrorCode.stale_member_epoch:
            # TxnOffsetCommit knows no member epochs, so its clients would not understand.
            entry.code = ErrorCode.illegal_generation
    return _commit_response(request.topics, entries)


def _entries(state: CoordinatorState, topic: OffsetCommitTopic, *, by_id: bool) -> list[_Entry]:
    """The partitions of a topic, those that do not exist with their code."""
    if by_id:
        view = state.topics.by_id(topic.topic_id) if topic.topic_id is not None else None
        missing = ErrorCode.unknown_topic_id
    else:
        view = state.topics.by_name(topic.name)
        missing = ErrorCode.unknown_topic_or_partition
    if view is None:
        return [_Entry(partition, None, missing) for partition in topic.partitions]
    return [
        _Entry(partition, view)
        if 0 <= partition.partition_index < view.partition_count
        else _Entry(partition, None, ErrorCode.unknown_topic_or_partition)
        for partition in topic.partitions
    ]


def _commit(
    state: CoordinatorState,
    step: Step,
    entries: list[list[_Entry]],
    require: Callable[[], PartitionCheck],
    write: Callable[[_Entry, TopicView], None],
) -> None:
    """Ask the group about the partitions that exist; its refusal, even of one of them, is the answer to all of them."""
    existing = [(entry, entry.topic) for entry in chain(*entries) if entry.topic is not None]
    if not existing:
        return
    try:
        check = require()
        for entry, topic in existing:
            metadata = entry.asked.committed_metadata
            if metadata is not None and check_offset_metadata(metadata, state.settings.offset_metadata_max) is not None:
                entry.code = ErrorCode.offset_metadata_too_large
                continue
            check(topic.name, topic.topic_id, entry.asked.partition_index)
            write(entry, topic)
    except GroupRefusedError as refusal:
        step.forget_records()
        for entry, _ in existing:
            entry.code = refusal.code


def _commit_response(topics: Sequence[OffsetCommitTopic], entries: list[list[_Entry]]) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            TopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(
                    PartitionResult(partition_index=entry.asked.partition_index, error_code=entry.code)
                    for entry in of_topic
                ),
            )
            for topic, of_topic in zip(topics, entries, strict=True)
        )
    )


def _commit_record(
    group_id: str, topic: TopicView, partition: OffsetCommitPartition, now_ms: int, expires_ms: int, topic_id: UUID
) -> CoordinatorRecord:
    value = OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms,
        expire_timestamp=expires_ms,
        topic_id=topic_id,
    )
    key = OffsetCommitKey(group=group_id, topic=topic.name, partition=partition.partition_index)
    return CoordinatorRecord(key, value, VALUE_VERSION if expires_ms == NO_EXPIRY else VALUE_VERSION_WITH_EXPIRY)


# --- fetching ----------------------------------------------------------------------------------------------------


def fetch_offsets(
    state: CoordinatorState, context: RequestContext, request: OffsetFetchGroup, *, require_stable: bool
) -> OffsetFetchGroupResult:
    """What is committed; -1 for what is not, also in a group that does not exist."""
    group = state.groups.get(request.group_id)
    if isinstance(group, ConsumerGroup):
        _require_fetch(group, request)
    by_id = context.api_version >= TOPIC_IDS_SINCE
    if request.topics is None:
        topics = tuple(_all_topics(state, request.group_id, by_id=by_id, require_stable=require_stable))
    else:
        topics = tuple(
            _fetch_topic(state, request.group_id, topic, by_id=by_id, require_stable=require_stable)
            for topic in request.topics
        )
    return OffsetFetchGroupResult(group_id=request.group_id, topics=topics)


def _require_fetch(group: ConsumerGroup, request: OffsetFetchGroup) -> None:
    if request.member_id is None and request.member_epoch < 0:
        return
    member = group.require_member(request.member_id or UNKNOWN_MEMBER)
    if request.member_epoch != member.member_epoch:
        what = "generation id" if member.uses_classic_protocol else "member epoch"
        message = (
            f"The received {what} {request.member_epoch} does not match "
            f"the expected member epoch {member.member_epoch}."
        )
        raise _stale(member, message)


def _fetch_topic(
    state: CoordinatorState, group_id: str, topic: OffsetFetchTopic, *, by_id: bool, require_stable: bool
) -> OffsetFetchTopicResult:
    name = topic.name
    if by_id:
        view = state.topics.by_id(topic.topic_id) if topic.topic_id is not None else None
        if view is None:
            unknown = ErrorCode.unknown_topic_id
            partitions = tuple(
                OffsetFetchPartitionResult(partition_index=index, error_code=unknown)
                for index in topic.partition_indexes
            )
            return OffsetFetchTopicResult(name=name, topic_id=topic.topic_id, partitions=partitions)
        name = view.name
    results = []
    for index in topic.partition_indexes:
        committed = state.offsets.committed.get(group_id, name, index)
        if committed is not None and topic.topic_id not in (None, ZERO_UUID, committed.topic_id):
            committed = committed if committed.topic_id == ZERO_UUID else None  # of an earlier topic of this name
        results.append(_fetch_partition(state, group_id, name, index, committed, require_stable))
    return OffsetFetchTopicResult(name=name, topic_id=topic.topic_id, partitions=tuple(results))


def _fetch_partition(
    state: CoordinatorState,
    group_id: str,
    topic: str,
    partition: int,
    committed: CommittedOffset | None,
    require_stable: bool,
) -> OffsetFetchPartitionResult:
    if require_stable and state.offsets.is_pending(group_id, topic, partition):
        return OffsetFetchPartitionResult(partition_index=partition, error_code=ErrorCode.unstable_offset_commit)
    if committed is None:
        return OffsetFetchPartitionResult(partition_index=partition)
    return OffsetFetchPartitionResult(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _all_topics(
    state: CoordinatorState, group_id: str, *, by_id: bool, require_stable: bool
) -> Iterator[OffsetFetchTopicResult]:
    """Every topic with a commit; one that is gone has no id, and can't be told in a version that knows ids only."""
    for name, partitions in sorted(state.offsets.committed.by_group.get(group_id, {}).items()):
        view = state.topics.by_name(name)
        if by_id and view is None:
            continue
        results = tuple(
            _fetch_partition(state, group_id, name, partition, committed, require_stable)
            for partition, committed in sorted(partitions.items())
        )
        yield OffsetFetchTopicResult(name=name, topic_id=view.topic_id if by_id and view else None, partitions=results)
