"""When small answers may gather before they are read: while Kafka is busy for longer than that anyway. Pure.

Kafka answers the requests of a connection one after the other, and every answer by itself costs a wake-up, a read and a
write. Where many requests are in flight their answers gather for a moment in upstream's socket, and are then read and
written together, as network cards spare interrupts. Kafka goes on working meanwhile; and a client with few requests in
flight never waits.
"""

from __future__ import annotations

from typing import Final

GATHER_SECONDS: Final = 0.001
GATHER_FROM: Final = 8
"""Unanswered requests below which nothing gathers; Kafka's own clients have 5."""
GATHER_BYTES: Final = 4096
"""A chunk of that size is worth a write of its own."""
LONGEST_GAP_SECONDS: Final = 0.000_25
"""What a pause counts as, at most: it may be the client's."""
_WEIGHT: Final = 0.25
"""Of the newest gap in the mean of all."""


class Pace:
    """How fast one connection's answers come."""

    __slots__ = ("_gap", "_last")

    def __init__(self) -> None:
        self._gap = 0.0
        """Seconds between two answers: a mean that forgets."""
        self._last = 0.0

    def is_busy(self, answered: int, pending: int, now: float) -> bool:
        """Take note of answers; returns whether Kafka has work for at least the time of gathering.

        :param answered: how many have come since the last time.
        :param pending: how many are to come.
        :param now: seconds of any clock that goes on.
        """
        gap = min((now - self._last) / max(answered, 1), LONGEST_GAP_SECONDS)
        self._gap += (gap - self._gap) * _WEIGHT
        self._last = now
        return pending >= GATHER_FROM and pending * self._gap >= GATHER_SECONDS
