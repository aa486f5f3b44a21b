"""A bucket of tokens that fills at the rate of a quota. From TokenBucket."""

from __future__ import annotations

from typing import Final

from doorkeeper.metering.samples import MILLISECONDS_PER_SECOND, Windows

LONG_AGO_MS: Final = -(10**15)


class TokenBucket:
    """Holds at most what the quota gives in all windows; may be overdrawn, and is exhausted while it is.

    Like Kafka's it was empty long ago, and so is full when it is first looked at.
    """

    __slots__ = ("_last_ms", "_seconds", "_tokens")

    def __init__(self, windows: Windows) -> None:
        self._seconds = windows.samples * (windows.size_ms / MILLISECONDS_PER_SECOND)
        self._tokens = 0.0
        self._last_ms = LONG_AGO_MS

    def record(self, value: float, quota: float, now_ms: int) -> None:
        """Take tokens, whether they are there or not."""
        self._refill(quota, now_ms)
        self._tokens = min(self._seconds * quota, self._tokens - value)

    def measure(self, quota: float, now_ms: int) -> float:
        """How many tokens are left; below zero the quota is exhausted."""
        self._refill(quota, now_ms)
        return self._tokens

    def _refill(self, quota: float, now_ms: int) -> None:
        gained = quota * ((now_ms - self._last_ms) / MILLISECONDS_PER_SECOND)
        self._tokens = min(self._seconds * quota, self._tokens + gained)
        self._last_ms = now_ms
