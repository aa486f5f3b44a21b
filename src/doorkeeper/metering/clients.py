"""What each client uses, and the quotas that bind it.

Clients are told apart by their raw names; there are at most so many that have series of their own (`limit`), and who
comes later is counted under `<other>`, which no client can be called by: sanitised names have no angle brackets, and
quoted ones stand in quotes. A quota binds whom it names all the same: latecomers with a limit have sensors that are
not shown, the longest silent of which make room for others. Client ids may have tens of thousands of characters, and
each is told many times: all of them together have no more than as many lawful ones may have.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from doorkeeper.metering.quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Binding,
    Entity,
    QuotaTable,
)
from doorkeeper.metering.samples import QUOTA_WINDOWS, Windows
from doorkeeper.metering.sensors import MutationSensor, QuotaSensor
from doorkeeper.rules.client_id import QuotaType
from doorkeeper.rules.names import MAX_NAME_LENGTH

SERIES_LIMIT: Final = 10_000
UNLISTED_LIMIT: Final = 10_000
"""Latecomers with a limit that are remembered at a time."""
IDLE_MS: Final = 3_600_000
"""Series of clients that have been silent for an hour go (ClientQuotaManager: inactive sensors)."""
OTHER: Final = "<other>"
EVICTION_TRIES: Final = 16

RATE_QUOTAS: Final = (QuotaType.PRODUCE, QuotaType.FETCH, QuotaType.REQUEST)
_KEYS: Final = {
    QuotaType.PRODUCE: PRODUCER_BYTE_RATE,
    QuotaType.FETCH: CONSUMER_BYTE_RATE,
    QuotaType.REQUEST: REQUEST_PERCENTAGE,
    QuotaType.CONTROLLER_MUTATION: CONTROLLER_MUTATION_RATE,
}
_RATE_NAMES: Final = {
    QuotaType.PRODUCE: "byte-rate",
    QuotaType.FETCH: "byte-rate",
    QuotaType.REQUEST: "request-time",
}
_GONE: Final = -1
NANOSECONDS_TO_PERCENT: Final = 100.0 / 1e9

Sensor = QuotaSensor | MutationSensor


class SensorKey(NamedTuple):
    """Whose use is counted together."""

    kind: QuotaType
    user: str
    client_id: str
    is_other: bool = False
    """Whether it is all clients without series of their own; one of them may be called `<other>` itself."""


class ClientMeter:
    """One client: a user and a client id."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "client_id",
        "epoch",
        "fetch",
        "is_free",
        "last_ms",
        "listed",
        "mutation",
        "noted",
        "noted_bytes",
        "noted_first_ms",
        "noted_ns",
        "noted_until_ms",
        "produce",
        "request",
        "requests",
        "throttle_ms",
        "throttles",
        "user",
    )

    def __init__(self, user: str, client_id: str, *, epoch: int, now_ms: int, listed: bool = True) -> None:
        self.user = user
        self.client_id = client_id
        self.listed = listed
        self.last_ms = now_ms
        self.requests = self.bytes_in = self.bytes_out = self.throttles = self.throttle_ms = 0
        self.noted = self.noted_bytes = self.noted_ns = self.noted_first_ms = 0
        """Produce requests that are not in the sensors yet, and how large and long they were."""
        self.noted_until_ms = 0
        self.rebind(epoch)

    def rebind(self, epoch: int) -> None:
        """Look for sensors anew: the quotas have changed."""
        self.epoch = epoch
        """Of the quotas that the sensors are bound by; a meter of another epoch is to be asked for again."""
        self.produce: QuotaSensor | None = None
        self.fetch: QuotaSensor | None = None
        self.request: QuotaSensor | None = None
        self.mutation: MutationSensor | None = None
        self.is_free = False
        """Whether it is known that no quota binds its producing."""

    def forget(self, gone: set[int]) -> None:
        """Let go of sensors, given by their identities, that are shown no longer."""
        self.produce = None if id(self.produce) in gone else self.produce
        self.fetch = None if id(self.fetch) in gone else self.fetch
        self.request = None if id(self.request) in gone else self.request
        self.mutation = None if id(self.mutation) in gone else self.mutation
        self.is_free = self.is_free and self.produce is not None and self.request is not None

    def absorb(self, other: ClientMeter) -> None:
        """Count what another has used as one's own."""
        self.requests += other.requests
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.throttles += other.throttles
        self.throttle_ms += other.throttle_ms


class ClientBook:
    """All clients of a node. Who keeps a meter compares its `epoch` with the book's before each use."""

    def __init__(self, windows: Windows = QUOTA_WINDOWS, *, limit: int = SERIES_LIMIT) -> None:
        self.windows = windows
        self.limit = limit
        self.epoch = 0
        self.characters = self.unlisted_characters = 0
        """Of the client ids with series of their own, and of those without that are remembered."""
        self.refused = 0
        """How often a client found no room for series of its own."""
        self._tables = dict.fromkeys(_KEYS, QuotaTable({}))
        self._meters: dict[tuple[str, str], ClientMeter] = {}
        self._unlisted: OrderedDict[tuple[str, str], ClientMeter] = OrderedDict()
        self._sensors: dict[SensorKey, Sensor] = {}
        self.other = ClientMeter("", OTHER, epoch=0, now_ms=0)

    def __len__(self) -> int:
        return len(self._meters)

    # --- producers that no quota binds ---------------------------------------------------------------------------

    def note_produce(self, meter: ClientMeter, size: int, spent_ns: int, now_ms: int) -> None:
        """Count a Produce request of a client that `is_free`.

        Its sensors are touched once a window only: with thousands of clients they are never in the processor's cache.
        """
        if now_ms >= meter.noted_until_ms:
            self._begin_notes(meter, now_ms)
        meter.noted += 1
        meter.noted_bytes += size
        meter.noted_ns += spent_ns
        meter.last_ms = now_ms

    def _begin_notes(self, meter: ClientMeter, now_ms: int) -> None:
        self._settle_notes(meter)
        assert meter.produce is not None
        assert meter.request is not None
        meter.noted_first_ms = now_ms
        meter.noted_until_ms = min(meter.produce.rate.full_at(now_ms), meter.request.rate.full_at(now_ms))

    def _settle_notes(self, meter: ClientMeter) -> None:
        """Tell the sensors what they would know by now."""
        if not meter.noted:
            return
        assert meter.produce is not None
        assert meter.request is not None
        span = meter.noted_first_ms, meter.last_ms
        meter.produce.rate.record_many(meter.noted_bytes, meter.noted, *span)
        meter.request.rate.record_many(meter.noted_ns * NANOSECONDS_TO_PERCENT, meter.noted, *span)
        meter.requests += meter.noted
        meter.bytes_in += meter.noted_bytes
        meter.noted = meter.noted_bytes = meter.noted_ns = meter.noted_until_ms = 0

    def settle(self) -> None:
        """Let every sensor know of everything."""
        for meter in (*self._meters.values(), *self._unlisted.values(), self.other):
            self._settle_notes(meter)

    # --- quotas --------------------------------------------------------------------------------------------------

    def change_quotas(self, quotas: Mapping[Entity, Mapping[str, float]]) -> None:
        """Take other quotas; they count from the next request on."""
        self.settle()
        self.epoch += 1
        self.other.rebind(self.epoch)
        for kind, key in _KEYS.items():
            limits = {entity: values[key] for entity, values in quotas.items() if key in values}
            self._tables[kind] = QuotaTable(limits)
        for (kind, user, client_id, is_other), sensor in self._sensors.items():
            sensor.limit = None if is_other else self._tables[kind].limit_of((user, client_id))

    def binding(self, kind: QuotaType, meter: ClientMeter) -> Binding:
        """The quota that binds a client."""
        return self._tables[kind].find(meter.user, meter.client_id)

    # --- meters --------------------------------------------------------------------------------------------------

    def find(self, user: str, client_id: str, now_ms: int) -> ClientMeter:
        """The meter of a client."""
        key = (user, client_id)
        meter = self._meters.get(key) or self._unlisted.get(key)
        if meter is None:
            meter = self._admit(key, now_ms)
        elif meter.epoch != self.epoch:
            meter.rebind(self.epoch)
        return meter

    def _admit(self, key: tuple[str, str], now_ms: int) -> ClientMeter:
        user, client_id = key
        length = len(client_id)
        if _fits(len(self._meters), self.characters + length, self.limit):
            self.characters += length
            meter = self._meters[key] = ClientMeter(user, client_id, epoch=self.epoch, now_ms=now_ms)
            return meter
        self.refused += 1
        if all(table.find(user, client_id).limit is None for table in self._tables.values()):
            return self.other
        while self._unlisted and not _fits(len(self._unlisted), self.unlisted_characters + length, UNLISTED_LIMIT):
            self._make_room(now_ms)
        self.unlisted_characters += length
        meter = self._unlisted[key] = ClientMeter(user, client_id, epoch=self.epoch, now_ms=now_ms, listed=False)
        return meter

    def _make_room(self, now_ms: int) -> None:
        """Forget an unlisted client, if possible one whose windows are empty by now."""
        busy_ms = self.windows.samples * self.windows.size_ms
        for _ in range(EVICTION_TRIES):
            key, meter = next(iter(self._unlisted.items()))
            if now_ms - meter.last_ms > busy_ms:
                break
            self._unlisted.move_to_end(key)
        self._forget_unlisted(next(iter(self._unlisted)))

    def _forget_unlisted(self, key: tuple[str, str]) -> None:
        meter = self._unlisted.pop(key)
        self.unlisted_characters -= len(meter.client_id)
        self._settle_notes(meter)
        meter.epoch = _GONE
        self.other.absorb(meter)

    def expire(self, now_ms: int) -> None:
        """Forget who has been silent for an hour."""
        self.settle()
        for key in [key for key, meter in self._meters.items() if now_ms - meter.last_ms > IDLE_MS]:
            meter = self._meters.pop(key)
            self.characters -= len(meter.client_id)
            meter.epoch = _GONE
        for key in [key for key, meter in self._unlisted.items() if now_ms - meter.last_ms > IDLE_MS]:
            self._forget_unlisted(key)
        self._drop({name for name, sensor in self._sensors.items() if now_ms - sensor.last_ms > IDLE_MS})

    def _drop(self, names: set[SensorKey]) -> None:
        """Forget sensors; a client that is here still, and does such a thing again, gets a new one that is shown."""
        if not names:
            return
        gone = {id(self._sensors.pop(name)) for name in names}
        for meter in (*self._meters.values(), *self._unlisted.values(), self.other):
            meter.forget(gone)

    # --- sensors -------------------------------------------------------------------------------------------------

    def produce(self, meter: ClientMeter) -> QuotaSensor:
        if meter.produce is None:
            meter.produce = self._rate_sensor(QuotaType.PRODUCE, meter)
        return meter.produce

    def fetch(self, meter: ClientMeter) -> QuotaSensor:
        if meter.fetch is None:
            meter.fetch = self._rate_sensor(QuotaType.FETCH, meter)
        return meter.fetch

    def request(self, meter: ClientMeter) -> QuotaSensor:
        if meter.request is None:
            meter.request = self._rate_sensor(QuotaType.REQUEST, meter)
        return meter.request

    def mutation(self, meter: ClientMeter) -> MutationSensor:
        if meter.mutation is None:
            sensor = self._sensor(QuotaType.CONTROLLER_MUTATION, meter)
            assert isinstance(sensor, MutationSensor)
            meter.mutation = sensor
        return meter.mutation

    def _rate_sensor(self, kind: QuotaType, meter: ClientMeter) -> QuotaSensor:
        sensor = self._sensor(kind, meter)
        assert isinstance(sensor, QuotaSensor)
        return sensor

    def _sensor(self, kind: QuotaType, meter: ClientMeter) -> Sensor:
        if meter is self.other:
            key, limit = SensorKey(kind, "", OTHER, True), None
        else:
            user, client_id, limit, _ = self.binding(kind, meter)
            key = SensorKey(kind, user, client_id)
        sensor = self._sensors.get(key)
        if sensor is None:
            sensor = self._new_sensor(kind)
            if meter.listed or not key.client_id:
                self._sensors[key] = sensor
        sensor.limit = limit
        return sensor

    def _new_sensor(self, kind: QuotaType) -> Sensor:
        if kind is QuotaType.CONTROLLER_MUTATION:
            return MutationSensor(self.windows)
        longest_ms = self.windows.size_ms if kind is QuotaType.REQUEST else None
        return QuotaSensor(_RATE_NAMES[kind], self.windows, longest_ms=longest_ms)

    # --- telling -------------------------------------------------------------------------------------------------

    def measured(self, now_ms: int) -> Iterator[tuple[SensorKey, Mapping[str, float]]]:
        """The attributes of every sensor that is shown."""
        self.settle()
        for key, sensor in list(self._sensors.items()):
            yield key, sensor.measure(now_ms)

    def meters(self) -> Iterator[tuple[ClientMeter, bool]]:
        """Every client with series of its own, and all others as one, which is marked so."""
        self.settle()
        for meter in list(self._meters.values()):
            yield meter, False
        rest = ClientMeter("", OTHER, epoch=self.epoch, now_ms=self.other.last_ms)
        rest.absorb(self.other)
        for meter in self._unlisted.values():
            rest.absorb(meter)
        if rest.requests:
            yield rest, True


def _fits(clients: int, characters: int, limit: int) -> bool:
    """Whether there is room for one more client, with whom the client ids have so many characters."""
    return clients < limit and characters <= limit * MAX_NAME_LENGTH
