"""The uniform assignor: as even as can be, and as little moved as that allows.

After Kafka's UniformHomogeneousAssignmentBuilder and UniformHeterogeneousAssignmentBuilder. Members are taken in the
order of their ids, where Kafka's order is that of a hash map: the same input gives the same result here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from doorkeeper.cluster.groups.assignors.contract import GroupAssignment, GroupSpec, SubscriptionType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

MAX_BALANCE_ROUNDS: Final = 16  # each round brings the topics nearer to balance; Kafka stops here too


def assign_uniform(spec: GroupSpec) -> GroupAssignment:
    """Balance the partitions over the members."""
    if not spec.members or not spec.partition_counts:
        return {}
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return _assign_same_topics(spec)
    return _assign_different_topics(spec)


def _freeze(shares: dict[str, dict[UUID, set[int]]]) -> GroupAssignment:
    return {
        member_id: {topic_id: frozenset(partitions) for topic_id, partitions in share.items() if partitions}
        for member_id, share in shares.items()
    }


def _kept_topics(spec: GroupSpec, member_id: str) -> Iterator[tuple[UUID, list[int]]]:
    """What a member has and may keep: partitions that exist, of topics that it is still subscribed to."""
    member = spec.members[member_id]
    for topic_id, partitions in sorted(member.current.items()):
        if topic_id in member.subscribed:
            yield topic_id, sorted(p for p in partitions if p < spec.partition_counts[topic_id])


# --- all members subscribe to the same topics --------------------------------------------------------------------


def _assign_same_topics(spec: GroupSpec) -> GroupAssignment:
    members = sorted(spec.members)
    quota, extra_quotas = divmod(sum(spec.partition_counts.values()), len(members))
    shares: dict[str, dict[UUID, set[int]]] = {}
    taken: set[tuple[UUID, int]] = set()
    unfilled: list[tuple[str, int]] = []
    for index, member_id in enumerate(members):
        limit = quota + (extra_quotas > 0)
        kept = _keep(spec, member_id, limit, taken)
        shares[member_id] = kept
        room = limit - sum(len(partitions) for partitions in kept.values())
        takes_extra = extra_quotas > 0
        if room > 0 and takes_extra and len(members) - index > extra_quotas:
            # Somebody later may hold one more already: leave the larger share to whom it costs no move.
            room -= 1
            takes_extra = False
        extra_quotas -= takes_extra
        if room > 0:
            unfilled.append((member_id, room))
    _fill(spec, shares, taken, unfilled)
    return _freeze(shares)


def _keep(spec: GroupSpec, member_id: str, limit: int, taken: set[tuple[UUID, int]]) -> dict[UUID, set[int]]:
    kept: dict[UUID, set[int]] = {}
    for topic_id, partitions in _kept_topics(spec, member_id):
        for partition in partitions:
            if limit > 0 and (topic_id, partition) not in taken:
                kept.setdefault(topic_id, set()).add(partition)
                taken.add((topic_id, partition))
                limit -= 1
    return kept


def _fill(
    spec: GroupSpec,
    shares: dict[str, dict[UUID, set[int]]],
    taken: set[tuple[UUID, int]],
    unfilled: list[tuple[str, int]],
) -> None:
    free = (
        (topic_id, partition)
        for topic_id, count in sorted(spec.partition_counts.items())
        for partition in range(count)
        if (topic_id, partition) not in taken
    )
    for member_id, room in unfilled:
        for _, (topic_id, partition) in zip(range(room), free, strict=False):
            shares[member_id].setdefault(topic_id, set()).add(partition)


# --- members subscribe to different topics -----------------------------------------------------------------------


@dataclass(slots=True)
class _Table:
    """Who has what while it is being worked out."""

    spec: GroupSpec
    members: list[str]
    subscribers: dict[UUID, list[int]] = field(default_factory=dict)
    owners: dict[UUID, list[int | None]] = field(default_factory=dict)
    loads: list[int] = field(default_factory=list)

    def give(self, topic_id: UUID, partition: int, member: int) -> None:
        owner = self.owners[topic_id][partition]
        if owner is not None:
            self.loads[owner] -= 1
        self.owners[topic_id][partition] = member
        self.loads[member] += 1

    def least_loaded(self, topic_id: UUID) -> int:
        return min(self.subscribers[topic_id], key=lambda member: (self.loads[member], member))

    def topics_by_pressure(self) -> list[UUID]:
        """Topics with the most partitions per subscriber first: they leave the least choice."""
        return sorted(
            self.subscribers,
            key=lambda topic_id: (
                -self.spec.partition_counts[topic_id] / len(self.subscribers[topic_id]),
                len(self.subscribers[topic_id]),
                topic_id,
            ),
        )


def _assign_different_topics(spec: GroupSpec) -> GroupAssignment:
    table = _start_table(spec)
    topics = table.topics_by_pressure()
    for topic_id in topics:
        for partition, owner in enumerate(table.owners[topic_id]):
            if owner is None:
                table.give(topic_id, partition, table.least_loaded(topic_id))
    shared = [topic_id for topic_id in topics if len(table.subscribers[topic_id]) > 1]
    for _ in range(MAX_BALANCE_ROUNDS):
        moved = [_balance_topic(table, topic_id) for topic_id in shared]
        if not any(moved):
            break
    shares: dict[str, dict[UUID, set[int]]] = {member_id: {} for member_id in table.members}
    for topic_id, owners in table.owners.items():
        for partition, owner in enumerate(owners):
            assert owner is not None
            shares[table.members[owner]].setdefault(topic_id, set()).add(partition)
    return _freeze(shares)


def _start_table(spec: GroupSpec) -> _Table:
    table = _Table(spec, sorted(spec.members), loads=[0] * len(spec.members))
    for index, member_id in enumerate(table.members):
        for topic_id in spec.members[member_id].subscribed:
            table.subscribers.setdefault(topic_id, []).append(index)
    table.owners = {topic_id: [None] * spec.partition_counts[topic_id] for topic_id in table.subscribers}
    for index, member_id in enumerate(table.members):
        for topic_id, partitions in _kept_topics(spec, member_id):
            for partition in partitions:
                if table.owners[topic_id][partition] is None:
                    table.give(topic_id, partition, index)
    return table


def _balance_topic(table: _Table, topic_id: UUID) -> int:
    """Move partitions of one topic from the most to the least loaded of its subscribers; say how many moved."""
    held: dict[int, list[int]] = {member: [] for member in table.subscribers[topic_id]}
    for partition, owner in enumerate(table.owners[topic_id]):
        assert owner is not None
        held[owner].append(partition)
    moved = 0
    while True:
        givers = [member for member, partitions in held.items() if partitions]
        if not givers:
            return moved
        giver = max(givers, key=lambda member: (table.loads[member], member))
        taker = table.least_loaded(topic_id)
        if table.loads[giver] - table.loads[taker] <= 1:
            return moved
        partition = held[giver].pop()
        table.give(topic_id, partition, taker)
        held[taker].append(partition)
        moved += 1
