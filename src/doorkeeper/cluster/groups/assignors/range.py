"""The range assignor: each topic's partitions in one run per member, in the order of the members.

So that the same member gets the same partition numbers of topics with equally many partitions (co-partitioning). Static
members come first, by instance id, which keeps their ranges when their member ids change. After Kafka's RangeAssignor.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from doorkeeper.cluster.groups.assignors.contract import GroupAssignment, GroupSpec


def assign_range(spec: GroupSpec) -> GroupAssignment:
    """Give each subscriber of a topic its share in a row; the first ones get one more where it does not divide."""
    members = sorted(spec.members, key=lambda member_id: _rank(spec, member_id))
    shares: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in members}
    subscribers: dict[UUID, list[str]] = defaultdict(list)
    for member_id in members:
        for topic_id in spec.members[member_id].subscribed:
            subscribers[topic_id].append(member_id)
    for topic_id in sorted(subscribers):
        quota, extra = divmod(spec.partition_counts[topic_id], len(subscribers[topic_id]))
        start = 0
        for position, member_id in enumerate(subscribers[topic_id]):
            end = start + quota + (position < extra)
            if start < end:
                shares[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(shares)


def _rank(spec: GroupSpec, member_id: str) -> tuple[bool, str]:
    instance_id = spec.members[member_id].instance_id
    return (instance_id is None, member_id if instance_id is None else instance_id)
