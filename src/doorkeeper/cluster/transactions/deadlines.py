"""One deadline for each transactional id, the earliest first. Nothing here sleeps."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Final

SMALL_HEAP: Final = 64  # entries that are not worth tidying up


def next_sweep(since_ms: int, interval_ms: int, earliest_ms: int) -> int:
    """The first sweep at or after a time, where sweeps come at regular intervals after `since_ms`."""
    sweeps = max(1, -((since_ms - earliest_ms) // interval_ms))
    return since_ms + sweeps * interval_ms


@dataclass(slots=True)
class Deadlines:
    """Deadlines by transactional id."""

    _pending: dict[str, int] = field(default_factory=dict)
    _heap: list[tuple[int, str]] = field(default_factory=list)

    def set(self, transactional_id: str, deadline_ms: int | None) -> None:
        """Set, move or, with None, cancel a deadline."""
        if deadline_ms is None:
            self._pending.pop(transactional_id, None)
            return
        if self._pending.get(transactional_id) == deadline_ms:
            return
        self._pending[transactional_id] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, transactional_id))
        if len(self._heap) > SMALL_HEAP and len(self._heap) > 4 * len(self._pending):
            self._heap = [(deadline, one) for one, deadline in self._pending.items()]
            heapq.heapify(self._heap)

    def next_deadline(self) -> int | None:
        while self._heap:
            deadline_ms, transactional_id = self._heap[0]
            if self._pending.get(transactional_id) == deadline_ms:
                return deadline_ms
            heapq.heappop(self._heap)  # moved or cancelled since
        return None

    def pop_due(self, now_ms: int) -> str | None:
        """Take the earliest deadline that is not later than now, or None."""
        deadline_ms = self.next_deadline()
        if deadline_ms is None or deadline_ms > now_ms:
            return None
        _, transactional_id = heapq.heappop(self._heap)
        del self._pending[transactional_id]
        return transactional_id
