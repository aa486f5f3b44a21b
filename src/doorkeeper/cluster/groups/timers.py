"""Deadlines of the coordinator. Nothing here sleeps: the owner asks for the next one and says when it has passed."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple


class TimerKind(Enum):
    """What a deadline is about; each kind has one action in the coordinator."""

    CLASSIC_HEARTBEAT = auto()
    CLASSIC_JOIN = auto()
    """The end of a join phase."""
    CLASSIC_INITIAL_JOIN = auto()
    """The end of a join phase of a group that was empty: it may be put off (group.initial.rebalance.delay.ms)."""
    CLASSIC_SYNC = auto()
    CONSUMER_SESSION = auto()
    CONSUMER_REBALANCE = auto()
    CONSUMER_JOIN = auto()
    """A classic member of a consumer group was told to rejoin."""
    CONSUMER_SYNC = auto()
    REGEX = auto()
    """Regular expressions wait to be resolved."""
    CLEANUP = auto()
    """Offsets and empty groups may have expired."""


class TimerKey(NamedTuple):
    """At most one deadline is pending for a key."""

    kind: TimerKind
    group_id: str = ""
    member_id: str = ""


class Due(NamedTuple):
    """A deadline that has passed, with what was said when it was set."""

    key: TimerKey
    detail: tuple[int, ...]


@dataclass(slots=True)
class Timers:
    """Deadlines by key, the earliest first; those set at the same time fire in the order in which they were set."""

    _pending: dict[TimerKey, tuple[int, int, tuple[int, ...]]] = field(default_factory=dict)
    _heap: list[tuple[int, int, TimerKey]] = field(default_factory=list)
    _count: int = 0

    def schedule(self, key: TimerKey, deadline_ms: int, detail: tuple[int, ...] = ()) -> None:
        """Set, or move, the deadline of a key."""
        self._count += 1
        self._pending[key] = (deadline_ms, self._count, detail)
        heapq.heappush(self._heap, (deadline_ms, self._count, key))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._pending):
            self._heap = [(deadline, count, key) for key, (deadline, count, _) in self._pending.items()]
            heapq.heapify(self._heap)

    def schedule_if_absent(self, key: TimerKey, deadline_ms: int) -> None:
        if key not in self._pending:
            self.schedule(key, deadline_ms)

    def cancel(self, key: TimerKey) -> None:
        self._pending.pop(key, None)

    def is_scheduled(self, key: TimerKey) -> bool:
        return key in self._pending

    def deadline_of(self, key: TimerKey) -> int | None:
        pending = self._pending.get(key)
        return None if pending is None else pending[0]

    def next_deadline(self) -> int | None:
        """The earliest deadline, or None if there is none."""
        while self._heap:
            deadline, count, key = self._heap[0]
            pending = self._pending.get(key)
            if pending is not None and pending[1] == count:
                return deadline
            heapq.heappop(self._heap)  # moved or cancelled since
        return None

    def pop_due(self, now_ms: int) -> Due | None:
        """Take the earliest deadline that is not later than now, or None."""
        deadline = self.next_deadline()
        if deadline is None or deadline > now_ms:
            return None
        _, _, key = heapq.heappop(self._heap)
        _, _, detail = self._pending.pop(key)
        return Due(key, detail)
