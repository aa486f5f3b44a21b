"""How fast addresses open connections (KIP-612). From ConnectionQuotas in SocketServer.scala."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping

from doorkeeper.metering.samples import Windows
from doorkeeper.metering.sensors import QuotaSensor

RATE_NAME = "connection-accept-rate"
IDLE_MS = 3_600_000


def canonical_address(text: str) -> str:
    """One spelling for each address, so that `::1` and `0:0:0:0:0:0:0:1` are one; a name stays as it is."""
    try:
        return str(ipaddress.ip_address(text.removeprefix("[").removesuffix("]").partition("%")[0]))
    except ValueError:
        return text


class ConnectionRates:
    """The rate of each address that has a limit; who has none is not counted, as in Kafka."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._limits: dict[str, float] = {}
        self._default: float | None = None
        self._sensors: dict[str, QuotaSensor] = {}

    def change_limits(self, limits: Mapping[str | None, float]) -> None:
        """Take other limits, by address; None is everybody else's."""
        self._default = limits.get(None)
        self._limits = {canonical_address(one): limit for one, limit in limits.items() if one is not None}

    def admit(self, address: str, now_ms: int) -> int:
        """Count a new connection; returns how long to wait before it is closed, or 0 if it may stay."""
        known = canonical_address(address)
        limit = self._limits.get(known, self._default)
        if limit is None:
            return 0
        sensor = self._sensors.get(known)
        if sensor is None:
            sensor = self._sensors[known] = QuotaSensor(RATE_NAME, self._windows, longest_ms=self._windows.size_ms)
        sensor.limit = limit
        throttle_ms = sensor.record(1.0, now_ms)
        if throttle_ms:
            sensor.record_only(-1.0, now_ms)
            sensor.note_throttle(throttle_ms, now_ms)
        return throttle_ms

    def expire(self, now_ms: int) -> None:
        """Forget addresses that have been silent for an hour."""
        for address in [one for one, sensor in self._sensors.items() if now_ms - sensor.last_ms >= IDLE_MS]:
            del self._sensors[address]

    def measured(self, now_ms: int) -> Iterator[tuple[str, Mapping[str, float]]]:
        """The attributes of each address."""
        for address, sensor in list(self._sensors.items()):
            yield address, sensor.measure(now_ms)
