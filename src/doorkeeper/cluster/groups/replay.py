"""Bring any record of `__consumer_offsets` back into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.cluster.groups.classic.group import ClassicGroup
from doorkeeper.cluster.groups.classic.records import group_from_record
from doorkeeper.cluster.groups.consumer.replay import replay_consumer_record
from doorkeeper.cluster.groups.offset_store import NO_PRODUCER_ID, CommittedOffset
from doorkeeper.wire.coordinator_records import (
    CoordinatorRecord,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from doorkeeper.cluster.groups.state import CoordinatorState


def replay_record(
    state: CoordinatorState, record: CoordinatorRecord, record_offset: int, producer_id: int = NO_PRODUCER_ID
) -> None:
    """Apply one record; those of a transaction come with its producer id and count when it ends."""
    match record.key, record.value:
        case OffsetCommitKey() | LegacyOffsetCommitKey() as key, None:
            state.offsets.remove(key.group, key.topic, key.partition)
        case OffsetCommitKey() as key, OffsetCommitValue() as value:
            _replay_offset(state, key, CommittedOffset.of(value, record_offset), producer_id)
        case LegacyOffsetCommitKey() as key, LegacyOffsetCommitValue() as value:
            committed = CommittedOffset(
                value.offset,
                metadata=value.metadata,
                commit_timestamp_ms=value.commit_timestamp,
                record_offset=record_offset,
            )
            _replay_offset(state, key, committed, producer_id)
        case GroupMetadataKey() as key, None:
            if isinstance(state.groups.get(key.group), ClassicGroup):
                del state.groups[key.group]
        case GroupMetadataKey() as key, GroupMetadataValue() as value:
            state.groups[key.group] = group_from_record(key.group, value)
        case _:
            replay_consumer_record(state.groups, record)


def _replay_offset(
    state: CoordinatorState, key: OffsetCommitKey | LegacyOffsetCommitKey, committed: CommittedOffset, producer_id: int
) -> None:
    if key.group not in state.groups:
        state.groups[key.group] = ClassicGroup(key.group)
    state.offsets.put(key.group, key.topic, key.partition, committed, producer_id)
