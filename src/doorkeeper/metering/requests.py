"""Counts and times of requests by API, under the names of Kafka's RequestMetrics.

Kafka fills one histogram for each part of a request's time. Here nothing waits in a queue before a handler or after
it, and most requests are answered at once, whose local time is their total: so those take one histogram, and the rest
is worked out when somebody asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from doorkeeper.metering.histogram import BUCKETS, Histogram
from doorkeeper.metering.measured import Buckets, Measured

TICK_SECONDS: Final = 5.0
_MINUTES: Final = {"OneMinuteRate": 1, "FiveMinuteRate": 5, "FifteenMinuteRate": 15}
_PERCENTILES: Final = {
    "50thPercentile": 0.5,
    "75thPercentile": 0.75,
    "95thPercentile": 0.95,
    "98thPercentile": 0.98,
    "99thPercentile": 0.99,
    "999thPercentile": 0.999,
}
MICROSECONDS_PER_MILLISECOND: Final = 1000.0
DOMAIN, KIND = "kafka.network", "RequestMetrics"
COUNT: Final = frozenset(("Count",))
_TOLD: Final = {
    "TotalTimeMs": ("total_time_seconds", 1e-6),
    "LocalTimeMs": ("local_time_seconds", 1e-6),
    "RemoteTimeMs": ("remote_time_seconds", 1e-6),
    "ThrottleTimeMs": ("throttle_time_seconds", 1e-3),
    "RequestBytes": ("request_bytes", 1.0),
}
"""How Prometheus is told the parts: the name, and what one is in base units."""


class Meter:
    """How often something happens: a count, and averages that fade over minutes (com.yammer.metrics' Meter)."""

    __slots__ = ("_counted", "_rates", "_started_ms", "count")

    def __init__(self, now_ms: int) -> None:
        self.count = 0
        self._counted = 0
        self._started_ms = now_ms
        self._rates: dict[str, float] | None = None

    def tick(self) -> None:
        """To be called every `TICK_SECONDS`."""
        new = (self.count - self._counted) / TICK_SECONDS
        self._counted = self.count
        if self._rates is None:
            self._rates = dict.fromkeys(_MINUTES, new)
            return
        for name, minutes in _MINUTES.items():
            weight = 1 - math.exp(-TICK_SECONDS / 60 / minutes)
            self._rates[name] += weight * (new - self._rates[name])

    def measure(self, now_ms: int) -> dict[str, float]:
        seconds = max(now_ms - self._started_ms, 1) / 1000
        rates = self._rates or dict.fromkeys(_MINUTES, 0.0)
        return {"Count": self.count, "MeanRate": self.count / seconds, **rates}


class Times(NamedTuple):
    """The parts of all requests' times."""

    total: Histogram
    local: Histogram
    remote: Histogram
    throttle: Histogram


class ApiMeter:
    """One API. Times are in microseconds, throttle times in milliseconds."""

    __slots__ = ("_later_local", "_later_remote", "_later_total", "_now", "_throttle", "request_bytes", "versions")

    def __init__(self) -> None:
        self.versions: dict[int, Meter] = {}
        self.request_bytes = Histogram()
        self._now = Histogram()
        self._later_total = Histogram()
        self._later_local = Histogram()
        self._later_remote = Histogram()
        self._throttle = Histogram()

    def note(self, microseconds: int, request_bytes: int) -> None:
        """A request that was answered at once."""
        # `Histogram.record`, twice: two calls are a tenth of what metering a request may cost.
        times = self._now
        length = microseconds.bit_length()
        times.buckets[length if length < BUCKETS else BUCKETS - 1] += 1
        times.total += microseconds
        if microseconds > times.largest:
            times.largest = microseconds
        sizes = self.request_bytes
        sizes.buckets[request_bytes.bit_length()] += 1  # no request has a tebibyte
        sizes.total += request_bytes
        if request_bytes > sizes.largest:
            sizes.largest = request_bytes

    def note_later(self, total: int, local: int, request_bytes: int) -> None:
        """A request that had to wait for something."""
        self._later_total.record(total)
        self._later_local.record(local)
        self._later_remote.record(max(0, total - local))
        self.request_bytes.record(request_bytes)

    def note_throttle(self, milliseconds: int) -> None:
        """A request, noted besides, whose client is throttled."""
        self._throttle.record(milliseconds)

    def times(self) -> Times:
        at_once = self._now.count
        return Times(
            total=self._now.plus(self._later_total),
            local=self._now.plus(self._later_local),
            remote=self._later_remote.with_zeros(at_once),
            throttle=self._throttle.with_zeros(self.request_bytes.count - self._throttle.count),
        )


class RequestBook:
    """All APIs of a node."""

    def __init__(self) -> None:
        self.apis: dict[str, ApiMeter] = {}

    def find(self, api: str, version: int, now_ms: int) -> tuple[ApiMeter, Meter]:
        """The meters of an API's version."""
        meter = self.apis.get(api)
        if meter is None:
            meter = self.apis[api] = ApiMeter()
        count = meter.versions.get(version)
        if count is None:
            count = meter.versions[version] = Meter(now_ms)
        return meter, count

    def tick(self) -> None:
        for api in self.apis.values():
            for meter in api.versions.values():
                meter.tick()

    def measured(self, now_ms: int) -> Iterator[Measured]:
        """Everything, by API."""
        for api, meter in sorted(self.apis.items()):
            for version, count in sorted(meter.versions.items()):
                versioned = (("name", "RequestsPerSec"), ("request", api), ("version", str(version)))
                yield Measured(DOMAIN, KIND, versioned, count.measure(now_ms), COUNT)
            times = meter.times()
            for part, histogram, unit in (
                ("TotalTimeMs", times.total, MICROSECONDS_PER_MILLISECOND),
                ("LocalTimeMs", times.local, MICROSECONDS_PER_MILLISECOND),
                ("RemoteTimeMs", times.remote, MICROSECONDS_PER_MILLISECOND),
                ("ThrottleTimeMs", times.throttle, 1.0),
                ("RequestBytes", meter.request_bytes, 1.0),
            ):
                name, told_unit = _TOLD[part]
                tags = (("name", part), ("request", api))
                buckets = Buckets(name, histogram, told_unit)
                yield Measured(DOMAIN, KIND, tags, summary(histogram, unit), buckets=buckets)


def summary(histogram: Histogram, unit: float) -> dict[str, float]:
    """The attributes of a histogram, as Kafka's JMX shows them."""
    return {
        "Count": histogram.count,
        "Max": histogram.largest / unit,
        "Mean": histogram.mean() / unit,
        **{name: histogram.percentile(share) / unit for name, share in _PERCENTILES.items()},
    }
