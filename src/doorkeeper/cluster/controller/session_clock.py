"""The clock of the brokers' sessions: it counts the time in which this controller could have heard of them.

Kafka's controller notes a contact outside of its queue (QuorumController.processBrokerHeartbeat), so that its own
backlog fences nobody. Here one event loop does everything: while it stands still, suspended or busy, no heartbeat is
read, and a combined node does not even send its own. Such time says nothing of a broker. So the clock is read often,
and a pause between two readings counts only up to a small part of a session.
"""

from __future__ import annotations

from typing import Final

READINGS_PER_SESSION: Final = 8
LATE_READINGS: Final = 2
"""A reading that comes as late as the next one should have is counted in full: it is a busy loop, not a stalled one."""


class SessionClock:
    """Starts at 0; never faster than time, and as fast as long as it is read every `tick_ms`."""

    def __init__(self, session_timeout_ms: int, now_ms: int) -> None:
        """:param now_ms: of any steady clock, here and in `read`."""
        self.tick_ms = max(1, session_timeout_ms // READINGS_PER_SESSION)
        self._seen_ms = now_ms
        self._time_ms = 0

    def read(self, now_ms: int) -> int:
        """What the sessions' clock shows now."""
        self._time_ms += min(now_ms - self._seen_ms, LATE_READINGS * self.tick_ms)
        self._seen_ms = now_ms
        return self._time_ms
