"""The state of a consumer group. Replay alone changes what the log keeps; counters follow the members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.groups.assignors.contract import SubscriptionType
from doorkeeper.cluster.groups.consumer.member import ConsumerMember, EpochsByPartition, MemberState, PartitionSets
from doorkeeper.cluster.groups.step import GroupRefusedError
from doorkeeper.wire.consumer_protocol import PROTOCOL_TYPE

if TYPE_CHECKING:
    from uuid import UUID

GROUP_TYPE: Final = "consumer"
FIRST_EPOCH: Final = 1
NO_OWNER: Final = -1


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a pattern matched, when and at which version of the metadata."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@dataclass(slots=True)
class ConsumerGroup:
    """A group, its members, the target assignment, and the patterns that members subscribe with."""

    group_id: str
    group_epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = FIRST_EPOCH
    assignment_timestamp_ms: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    target: dict[str, PartitionSets] = field(default_factory=dict)
    resolved: dict[str, ResolvedRegex] = field(default_factory=dict)
    has_partition_metadata_record: bool = False
    """Whether the log still has a record of Kafka 4.0's kind, which is to be deleted at the next change."""
    metadata_refresh_ms: int = 0
    """When to look at the topics again; soft, so a restart looks at once."""
    metadata_refresh_epoch: int = 0
    name_counts: Counter[str] = field(default_factory=Counter)
    regex_counts: Counter[str] = field(default_factory=Counter)
    assignor_counts: Counter[str] = field(default_factory=Counter)
    classic_protocol_counts: Counter[str] = field(default_factory=Counter)
    classic_member_count: int = 0
    partition_epochs: dict[tuple[UUID, int], int] = field(default_factory=dict)
    """The epoch of the member that holds a partition."""

    # --- questions ---

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        reconciled = all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values())
        return "Stable" if reconciled else "Reconciling"

    @property
    def subscription_type(self) -> SubscriptionType:
        return subscription_type(self.regex_counts, self.name_counts, self.regex_topic_counts(), len(self.members))

    def require_member(self, member_id: str) -> ConsumerMember:
        member = self.members.get(member_id)
        if member is None:
            message = f"Member {member_id} is not a member of group {self.group_id}."
            raise GroupRefusedError(ErrorCode.unknown_member_id, message)
        return member

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def target_of(self, member_id: str, instance_id: str | None = None) -> PartitionSets:
        """The target of a member; a static member that is back under a new id has that of its old one."""
        if instance_id is not None:
            member_id = self.static_members.get(instance_id, "")
        return self.target.get(member_id, {})

    def partition_epoch(self, topic_id: UUID, partition: int) -> int:
        return self.partition_epochs.get((topic_id, partition), NO_OWNER)

    def preferred_assignor(self, old: ConsumerMember | None = None, new: ConsumerMember | None = None) -> str | None:
        """The assignor that most members ask for, if one member were to change."""
        counts = Counter(self.assignor_counts)
        _count(counts, _assignor_of(old), -1)
        _count(counts, _assignor_of(new), 1)
        return max(sorted(counts), key=lambda name: counts[name], default=None)

    def supports_classic_protocols(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a classic member with these protocols gets along with the other classic members."""
        if protocol_type != PROTOCOL_TYPE:
            return False
        return any(self.classic_protocol_counts[name] == self.classic_member_count for name in names)

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Whether partitions that the member is to get are still held by others."""
        return member.state is MemberState.UNRELEASED_PARTITIONS and any(
            partition not in member.assigned.get(topic_id, {}) and self.partition_epoch(topic_id, partition) != NO_OWNER
            for topic_id, partitions in self.target_of(member.member_id).items()
            for partition in partitions
        )

    def needs_metadata_refresh(self, now_ms: int) -> bool:
        return now_ms >= self.metadata_refresh_ms or self.group_epoch < self.metadata_refresh_epoch

    # --- subscriptions, as they are and as they would be ---

    def regex_topic_counts(self, without: Iterable[str] = ()) -> Counter[str]:
        """By how many patterns each topic is subscribed."""
        left_out = set(without)
        return Counter(
            topic for regex, resolved in self.resolved.items() if regex not in left_out for topic in resolved.topics
        )

    def subscribed_topics(self) -> set[str]:
        return set(self.name_counts) | set(self.regex_topic_counts())

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.name_counts or any(topic in resolved.topics for resolved in self.resolved.values())

    def name_counts_after(
        self, leaving: Iterable[ConsumerMember], joining: ConsumerMember | None = None
    ) -> Counter[str]:
        counts = Counter(self.name_counts)
        for member in leaving:
            for name in member.subscribed_topic_names:
                _count(counts, name, -1)
        for name in joining.subscribed_topic_names if joining is not None else ():
            _count(counts, name, 1)
        return counts

    def regex_counts_after(self, old: ConsumerMember | None, new: ConsumerMember | None) -> Counter[str]:
        counts = Counter(self.regex_counts)
        _count(counts, None if old is None else old.regex, -1)
        _count(counts, None if new is None else new.regex, 1)
        return counts

    # --- changes, by replay only ---

    def put_member(self, member: ConsumerMember) -> None:
        self._forget(self.members.get(member.member_id))
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self._tally(member, 1)
        for key in _partitions_of(member):
            epoch = self.partition_epochs.get(key)
            # A static member that is away has an epoch below that of no owner, and owns its partitions all the same.
            if epoch is None or epoch < member.member_epoch:
                self.partition_epochs[key] = member.member_epoch

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        self._forget(member)
        if member is not None and member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)

    def _forget(self, member: ConsumerMember | None) -> None:
        if member is None:
            return
        self._tally(member, -1)
        for key in _partitions_of(member):
            if self.partition_epochs.get(key) == member.member_epoch:
                del self.partition_epochs[key]

    def _tally(self, member: ConsumerMember, change: int) -> None:
        for name in member.subscribed_topic_names:
            _count(self.name_counts, name, change)
        _count(self.regex_counts, member.regex, change)
        _count(self.assignor_counts, member.server_assignor, change)
        if member.classic is not None:
            self.classic_member_count += change
            for protocol in member.classic.supported_protocols:
                _count(self.classic_protocol_counts, protocol.name, change)


def _count(counts: Counter[str], name: str | None, change: int) -> None:
    """Count up or down, and keep no zeros."""
    if name is None:
        return
    counts[name] += change
    if counts[name] <= 0:
        del counts[name]


def _assignor_of(member: ConsumerMember | None) -> str | None:
    return None if member is None else member.server_assignor


def _partitions_of(member: ConsumerMember) -> Iterable[tuple[UUID, int]]:
    held: tuple[EpochsByPartition, ...] = (member.assigned, member.pending_revocation)
    return ((topic_id, partition) for part in held for topic_id, partitions in part.items() for partition in partitions)


def subscription_type(
    regex_counts: Mapping[str, int],
    name_counts: Mapping[str, int],
    regex_topic_counts: Mapping[str, int],
    member_count: int,
) -> SubscriptionType:
    """Whether all members subscribe to the same topics (ConsumerGroup.subscriptionType)."""
    if regex_counts:
        same = member_count in regex_counts.values() and not name_counts
        same = same and all(count == 1 for count in regex_topic_counts.values())
    else:
        same = all(count == member_count for count in name_counts.values())
    return SubscriptionType.HOMOGENEOUS if same else SubscriptionType.HETEROGENEOUS
