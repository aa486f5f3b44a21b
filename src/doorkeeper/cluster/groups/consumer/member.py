"""A member of a consumer group. Members are values: a change makes another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from doorkeeper.cluster.groups.messages import TopicPartitions

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.wire.coordinator_records import ClassicMemberMetadata

LEAVE_EPOCH: Final = -1
"""The epoch in a heartbeat that says: I leave for good."""
LEAVE_STATIC_EPOCH: Final = -2
"""The epoch in a heartbeat that says: I leave, and my instance will be back."""

EpochsByPartition: TypeAlias = "Mapping[UUID, Mapping[int, int]]"
"""Partitions of each topic, each with the epoch at which the member got it."""
PartitionSets: TypeAlias = "Mapping[UUID, frozenset[int]]"


class MemberState(IntEnum):
    """How far a member is with its assignment; the numbers are those of the record.

    STABLE  <->  UNREVOKED_PARTITIONS    it holds partitions that it has to give up first
      ^  \\               |
      |   v              v
    UNRELEASED_PARTITIONS                it waits for partitions that others have not given up yet
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def of(cls, number: int) -> MemberState:
        """The state of a record; a number of a later release is UNKNOWN."""
        return cls(number) if number in cls._value2member_map_ else cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """What the group knows about one member."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str | None = ""
    server_assignor: str | None = None
    assigned: EpochsByPartition = field(default_factory=dict)
    pending_revocation: EpochsByPartition = field(default_factory=dict)
    classic: ClassicMemberMetadata | None = None
    """Set if the member speaks the classic protocol."""

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    @property
    def regex(self) -> str | None:
        """The pattern of the subscription, or None."""
        return self.subscribed_topic_regex or None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    def moved_to(
        self,
        state: MemberState,
        epoch: int,
        assigned: EpochsByPartition,
        pending_revocation: EpochsByPartition,
    ) -> ConsumerMember:
        """The member after a reconciliation; its former epoch is remembered, should a request cross our answer."""
        return replace(
            self,
            state=state,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
            pending_revocation=pending_revocation,
        )

    def assignment_epoch(self, topic_id: UUID, partition: int) -> int | None:
        """The epoch at which the member got a partition that it holds or is giving up."""
        for partitions in (self.assigned, self.pending_revocation):
            epoch = partitions.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


def with_epoch(partitions: PartitionSets, epoch: int) -> EpochsByPartition:
    return {topic_id: dict.fromkeys(sorted(chosen), epoch) for topic_id, chosen in partitions.items()}


def to_topic_partitions(partitions: Mapping[UUID, Iterable[int]]) -> tuple[TopicPartitions, ...]:
    """Partitions as responses list them, in a settled order."""
    return tuple(TopicPartitions(topic_id, tuple(sorted(chosen))) for topic_id, chosen in sorted(partitions.items()))
