"""What an assignor is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias
from uuid import UUID

Partitions: TypeAlias = Mapping[UUID, frozenset[int]]
GroupAssignment: TypeAlias = dict[str, Partitions]
"""The partitions of each member, by its id; topics without partitions are left out."""


class SubscriptionType(Enum):
    """Whether all members subscribe to the same topics; assignors take a shorter way if they do."""

    HOMOGENEOUS = auto()
    HETEROGENEOUS = auto()


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member, as an assignor sees it."""

    subscribed: frozenset[UUID]
    """Topics that exist, by id."""
    current: Partitions = field(default_factory=dict)
    """The member's part of the present target assignment."""
    instance_id: str | None = None
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A whole group, as an assignor sees it."""

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[UUID, int]
    """For every topic that any member is subscribed to."""
    subscription_type: SubscriptionType


Assignor: TypeAlias = Callable[[GroupSpec], GroupAssignment]
