"""What is counted of one client for one quota, and what the quota says to it.

From Sensor, ClientQuotaManager, ClientRequestQuotaManager and the controller mutation quotas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from doorkeeper.metering.samples import METRIC_WINDOWS, Avg, Rate, Windows
from doorkeeper.metering.throttling import refill_time_ms, throttle_time_ms
from doorkeeper.metering.token_bucket import TokenBucket
from doorkeeper.rules.javatext import LONG_MAX

UNLIMITED: Final = float(LONG_MAX)


class QuotaSensor:
    """A rate, its limit, and how long its owner was throttled."""

    __slots__ = ("_longest_ms", "_throttle_time", "limit", "rate", "rate_name")

    def __init__(self, rate_name: str, windows: Windows, *, longest_ms: int | None = None) -> None:
        """:param longest_ms: no throttle time is longer: one window, for request_percentage and connections."""
        self.rate_name = rate_name
        self.rate = Rate(windows)
        self.limit: float | None = None
        self._longest_ms = longest_ms
        self._throttle_time = Avg(METRIC_WINDOWS)

    @property
    def last_ms(self) -> int:
        return self.rate.last_ms

    def record(self, value: float, now_ms: int) -> int:
        """Count a value; returns for how many milliseconds its owner is to be throttled."""
        self.rate.record(value, now_ms)
        limit = self.limit
        if limit is None:
            return 0
        observed = self.rate.measure(now_ms)
        if observed <= limit:
            return 0
        return throttle_time_ms(observed, limit, self.rate.window_ms(now_ms), self._longest_ms)

    def record_only(self, value: float, now_ms: int) -> None:
        """Count a value that nobody is throttled for now; a negative one takes back what was counted."""
        self.rate.record(value, now_ms)

    def note_throttle(self, time_ms: int, now_ms: int) -> None:
        """Its owner is throttled."""
        self._throttle_time.record(time_ms, now_ms)

    def most_in_window(self, windows: Windows) -> float | None:
        """More than this at once is throttled for certain (ClientQuotaManager.maxValueInQuotaWindow)."""
        return None if self.limit is None else self.limit * (windows.samples - 1) * (windows.size_ms / 1000)

    def measure(self, now_ms: int) -> Mapping[str, float]:
        """The attributes under the sensor's object name."""
        return {self.rate_name: self.rate.measure(now_ms), "throttle-time": self._throttle_time.measure(now_ms)}


class MutationSensor:
    """Partitions made and deleted, against a bucket of tokens (KIP-599)."""

    __slots__ = ("_bucket", "_rate", "_throttle_time", "limit")

    def __init__(self, windows: Windows) -> None:
        self.limit: float | None = None
        self._rate = Rate(METRIC_WINDOWS)
        self._bucket = TokenBucket(windows)
        self._throttle_time = Avg(METRIC_WINDOWS)

    @property
    def last_ms(self) -> int:
        return self._rate.last_ms

    @property
    def _bound(self) -> float:
        """Without a limit the bucket fills as fast as Kafka can count."""
        return UNLIMITED if self.limit is None else self.limit

    def exhausted_ms(self, now_ms: int) -> int:
        """How long until the bucket is no longer overdrawn; 0 while it is not."""
        tokens = self._bucket.measure(self._bound, now_ms)
        return refill_time_ms(tokens, self._bound) if tokens < 0 else 0

    def record(self, mutations: float, now_ms: int) -> None:
        self._rate.record(mutations, now_ms)
        self._bucket.record(mutations, self._bound, now_ms)

    def note_throttle(self, time_ms: int, now_ms: int) -> None:
        """Its owner is throttled."""
        self._throttle_time.record(time_ms, now_ms)

    def measure(self, now_ms: int) -> Mapping[str, float]:
        """The attributes under the sensor's object name."""
        return {
            "mutation-rate": self._rate.measure(now_ms),
            "tokens": self._bucket.measure(self._bound, now_ms),
            "throttle-time": self._throttle_time.measure(now_ms),
        }


class MutationQuota:
    """One request's account with its client's bucket (Strict- and PermissiveControllerMutationQuota).

    Strict: nothing is let through once the bucket is overdrawn, and what is let through is not throttled. Permissive,
    for versions that don't know the error: everything is let through, and throttled for.
    """

    __slots__ = ("_sensor", "_strict", "_throttle_ms", "_throttled_at_ms")

    def __init__(self, sensor: MutationSensor, *, strict: bool) -> None:
        self._sensor = sensor
        self._strict = strict
        self._throttle_ms = 0
        self._throttled_at_ms = 0

    def charge(self, mutations: int, now_ms: int) -> bool:
        """Pay for some mutations; False: they are not to happen."""
        if not self._strict:
            self._sensor.record(mutations, now_ms)
        exhausted = self._sensor.exhausted_ms(now_ms)
        if exhausted:
            self._throttle_ms, self._throttled_at_ms = exhausted, now_ms
            return not self._strict
        if self._strict:
            self._sensor.record(mutations, now_ms)
        return True

    def throttle_ms(self, now_ms: int) -> int:
        """What is left of the time for which the client is throttled."""
        if not self._throttle_ms:
            return 0
        return max(0, self._throttle_ms - (now_ms - self._throttled_at_ms))

    def note_throttle(self, time_ms: int, now_ms: int) -> None:
        self._sensor.note_throttle(time_ms, now_ms)
