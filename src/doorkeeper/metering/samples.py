"""Statistics over the latest windows of time. From SampledStat, Rate, Avg, Max and WindowedCount.

A statistic keeps one sample per window and one more, for the window that only overlaps the time looked at. A sample
begins with the first value after the window before it is full: silence makes no samples.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

MILLISECONDS_PER_SECOND: Final = 1000.0
NEVER_MS: Final = -1


class Windows(NamedTuple):
    """How many windows are looked at, and how long each is."""

    samples: int
    size_ms: int


QUOTA_WINDOWS: Final = Windows(11, 1000)
"""`quota.window.num` and `quota.window.size.seconds`."""
METRIC_WINDOWS: Final = Windows(2, 30_000)
"""`metrics.num.samples` and `metrics.sample.window.ms`."""


class _Sample:
    __slots__ = ("events", "last_ms", "start_ms", "value")

    def __init__(self, now_ms: int, initial: float) -> None:
        self.reset(now_ms, initial)

    def reset(self, now_ms: int, initial: float) -> None:
        self.value = initial
        self.events = 0
        self.start_ms = self.last_ms = now_ms


class SampledSum:
    """What was recorded within the windows, added up; the ground of the other statistics."""

    __slots__ = ("_current", "_index", "_samples", "_windows")

    initial: float = 0.0

    def __init__(self, windows: Windows = METRIC_WINDOWS) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []
        self._current: _Sample | None = None
        self._index = 0

    def record(self, value: float, now_ms: int) -> None:
        """Add a value; a negative one takes back what was recorded before."""
        sample = self._current
        if sample is None or now_ms - sample.start_ms >= self._windows.size_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.events += 1
        sample.last_ms = now_ms

    def record_many(self, value: float, events: int, first_ms: int, last_ms: int) -> None:
        """Add the sum of several values that came within one window; see `full_at`."""
        self.record(value, first_ms)
        assert self._current is not None
        self._current.events += events - 1
        self._current.last_ms = last_ms

    def full_at(self, now_ms: int) -> int:
        """When the window ends that a value of this time belongs to."""
        sample = self._current
        if sample is None or now_ms - sample.start_ms >= self._windows.size_ms:
            return now_ms + self._windows.size_ms
        return sample.start_ms + self._windows.size_ms

    def _advance(self, now_ms: int) -> _Sample:
        if self._current is not None:
            self._index = (self._index + 1) % (self._windows.samples + 1)
        if self._index >= len(self._samples):
            self._samples.append(_Sample(now_ms, self.initial))
        else:
            self._samples[self._index].reset(now_ms, self.initial)
        self._current = self._samples[self._index]
        return self._current

    @property
    def last_ms(self) -> int:
        """When something was recorded last; `NEVER_MS` if nothing was."""
        return NEVER_MS if self._current is None else self._current.last_ms

    def measure(self, now_ms: int) -> float:
        """The statistic at this time."""
        self._purge(now_ms)
        return self._total()

    def _total(self) -> float:
        return sum(sample.value for sample in self._samples)

    def _events(self) -> int:
        return sum(sample.events for sample in self._samples)

    def _purge(self, now_ms: int) -> None:
        """Forget samples that nothing was added to within the windows; one that overlaps their beginning stays."""
        oldest_ms = now_ms - self._windows.samples * self._windows.size_ms
        for sample in self._samples:
            if sample.last_ms <= oldest_ms:
                sample.reset(now_ms, self.initial)


class Count(SampledSum):
    """How often something was recorded."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:
        self._purge(now_ms)
        return float(self._events())


class Avg(SampledSum):
    """The mean of what was recorded; NaN if nothing was."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:
        self._purge(now_ms)
        events = self._events()
        return self._total() / events if events else math.nan


class Max(SampledSum):
    """The largest value recorded; NaN if there is none."""

    __slots__ = ()

    initial = -math.inf

    def record(self, value: float, now_ms: int) -> None:
        sample = self._current
        if sample is None or now_ms - sample.start_ms >= self._windows.size_ms:
            sample = self._advance(now_ms)
        sample.value = max(sample.value, value)
        sample.events += 1
        sample.last_ms = now_ms

    def measure(self, now_ms: int) -> float:
        self._purge(now_ms)
        return max((sample.value for sample in self._samples if sample.events), default=math.nan)


class Rate(SampledSum):
    """What was recorded, per second of the time looked at."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:
        self._purge(now_ms)
        return self._total() / (self.window_ms(now_ms) / MILLISECONDS_PER_SECOND)

    def window_ms(self, now_ms: int) -> int:
        """The time that the rate is taken over (Rate.windowSize).

        That is the time since the oldest sample began, but never less than all windows but one, so that a young rate
        is not a wild one.
        """
        self._purge(now_ms)
        elapsed = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        full = elapsed // self._windows.size_ms
        missing = self._windows.samples - 1 - full
        if missing > 0:
            elapsed += missing * self._windows.size_ms
        return max(elapsed, 1)
