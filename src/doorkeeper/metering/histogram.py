"""How values are spread, in buckets of powers of two: one list index and two additions for each value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

BUCKETS: Final = 41
"""Values from 2**40 on share the last one: 12 days in microseconds, 1 TiB in bytes."""


class Histogram:
    """Counts of whole numbers that are not negative."""

    __slots__ = ("buckets", "largest", "total")

    def __init__(self) -> None:
        self.buckets = [0] * BUCKETS
        self.total = 0
        self.largest = 0

    def record(self, value: int) -> None:
        length = value.bit_length()
        self.buckets[length if length < BUCKETS else BUCKETS - 1] += 1
        self.total += value
        if value > self.largest:
            self.largest = value

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def plus(self, other: Histogram) -> Histogram:
        """Both in one."""
        both = Histogram()
        both.buckets = [ours + theirs for ours, theirs in zip(self.buckets, other.buckets, strict=True)]
        both.total = self.total + other.total
        both.largest = max(self.largest, other.largest)
        return both

    def with_zeros(self, count: int) -> Histogram:
        """The same with so many zeros more."""
        more = self.plus(Histogram())
        more.buckets[0] += count
        return more

    def mean(self) -> float:
        count = self.count
        return self.total / count if count else 0.0

    def percentile(self, share: float) -> float:
        """The value that this share of all does not exceed; between the bounds of a bucket it is a guess."""
        wanted = share * self.count
        seen = 0
        for length, count in enumerate(self.buckets):
            if count and seen + count >= wanted:
                low, high = (0, 0) if length == 0 else (1 << (length - 1), (1 << length) - 1)
                guess = low + (high - low) * (wanted - seen) / count
                return min(guess, float(self.largest))
            seen += count
        return 0.0

    def cumulative(self, unit: float) -> Iterator[tuple[float, int]]:
        """(upper bound, how many are not above it), up to the first bound above the largest value, then infinity."""
        seen = 0
        for length, count in enumerate(self.buckets[:-1]):
            seen += count
            yield ((1 << length) - 1) * unit, seen
            if (1 << length) > self.largest:
                break
        yield math.inf, self.count
