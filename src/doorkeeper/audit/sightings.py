"""What a reader gives: sightings, callers and totals, counted as far as one byte range goes.

A `Tally` counts in a plain dict and ends as a few Arrow batches, so that a client with a billion lines is one row per
range and never a skewed key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from doorkeeper.audit.schemas import SIGHTINGS, Entry, Outcome, SourceKind, Verdict
from doorkeeper.rules.javatext import utf16_length
from doorkeeper.rules.names import UNIT
from doorkeeper.rules.verdict import Kind

MAX_PLACES: Final = 20  # malformed lines of one range that are told apart; further ones share the last one's place
ROWS_PER_BATCH: Final = 10_000
BROKER_DOOR: Final = "broker"  # as in Kafka's schemas, `listeners`; wire.registry.Door would bring kio into each task
CONTROLLER_DOOR: Final = "controller"
BOTH_DOORS: Final = "both"
_HOUR: Final = 3_600_000_000  # microseconds


class Sighting(NamedTuple):
    """One identifier or config change, without where in the input and when: what is equal is counted together."""

    kind: Kind
    value: str
    """May hold lone surrogates where the bytes were no UTF-8 (`surrogateescape`)."""
    where: str
    door: str = BOTH_DOORS
    """The doors that would judge it: broker, controller or both."""
    api: str | None = None
    """As Kafka's request log writes it."""
    api_version: int | None = None
    client_id: str | None = None
    principal: str | None = None
    address: str | None = None
    listener: str | None = None
    software_name: str | None = None
    software_version: str | None = None
    forwarded: bool = False
    """Whether a broker passed the request on to the controller, which logged it again."""
    detail: str | None = None
    rule: str | None = None
    """Set where the source says the verdict itself; with a `limit` and answers, where it says those."""
    limit: int | None = None
    answer_new: int | None = None
    answer_old: int | None = None
    length: int | None = None
    """Where the source cut the value and says how long it was; None: the value's own."""
    could_not_judge: bool = False
    """Whether the source says that nobody can tell; `detail` says why."""


class _Seen:
    """How often, when, and where first."""

    __slots__ = ("count", "first", "last", "line")

    def __init__(self, line: int) -> None:
        self.count = 0
        self.first: int | None = None
        self.last: int | None = None
        self.line = line

    def add(self, count: int, time: int | None, until: int | None, line: int) -> None:
        self.count += count
        self.line = min(self.line, line)
        if time is not None:
            until = time if until is None else until
            self.first = time if self.first is None else min(self.first, time)
            self.last = until if self.last is None else max(self.last, until)


class _Total(NamedTuple):
    outcome: Outcome
    reason: str
    line: int


class Tally:
    """Counts what one range of one file holds."""

    def __init__(self, source: SourceKind, file: str, range_start: int = 0) -> None:
        self._source = source
        self._file = file
        self._range_start = range_start
        self._sightings: dict[tuple[Sighting, int | None], _Seen] = {}
        self._callers: dict[tuple[str, int, str], int] = {}
        self._totals: dict[tuple[Outcome, str], tuple[int, int]] = {}
        self._places: list[_Total] = []

    def add(
        self, sighting: Sighting, line: int, *, count: int = 1, time: int | None = None, until: int | None = None
    ) -> None:
        """Count a sighting; `time` is in microseconds since the epoch, `until` the last one where many are added.

        Each hour has its own row, so that a report can show when.
        """
        key = sighting, None if time is None else time // _HOUR
        seen = self._sightings.get(key)
        if seen is None:
            seen = self._sightings[key] = _Seen(line)
        seen.add(count, time, until, line)

    def add_caller(self, api: str, api_version: int, client_id: str, count: int = 1) -> None:
        """Count requests of a client."""
        key = (api, api_version, client_id)
        self._callers[key] = self._callers.get(key, 0) + count

    def add_total(self, outcome: Outcome, reason: str, line: int, count: int = 1) -> None:
        """Count lines or records by what became of them; malformed ones keep their places.

        Who reads also counts all that he has read, as `Outcome.READ`.
        """
        if outcome is Outcome.MALFORMED and count == 1 and len(self._places) < MAX_PLACES:
            self._places.append(_Total(outcome, reason, line))
            return
        before, first = self._totals.get((outcome, reason), (0, line))
        self._totals[outcome, reason] = before + count, min(first, line)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All of it as rows of SIGHTINGS, in a fixed order of kinds of rows."""
        rows: list[dict[str, object]] = []
        for row in self._rows():
            rows.append(row)
            if len(rows) == ROWS_PER_BATCH:
                yield pa.RecordBatch.from_pylist(rows, schema=SIGHTINGS)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=SIGHTINGS)
        if self._callers:
            yield self._caller_batch()

    def _place(self) -> dict[str, object]:
        return {"source": self._source.value, "file": to_text(self._file), "range_start": self._range_start}

    def _rows(self) -> Iterator[dict[str, object]]:
        place = self._place()
        for (sighting, _), seen in self._sightings.items():
            yield place | _sighting_row(sighting, seen)
        for total in self._places:
            yield place | _total_row(total, 1)
        for (outcome, reason), (count, line) in self._totals.items():
            yield place | _total_row(_Total(outcome, reason, line), count)

    def _caller_batch(self) -> pa.RecordBatch:
        """The callers, column by column: there are many of them, and most columns are empty."""
        apis, versions, clients = zip(*self._callers, strict=True)
        columns = {
            "api": pa.array(apis, pa.string()),
            "api_version": pa.array(versions, pa.int16()),
            "client_id": pa.array(map(to_text, clients), pa.string()),
            "count": pa.array(self._callers.values(), pa.int64()),
        }
        constants = self._place() | {"entry": Entry.CALLER.value}
        size = len(self._callers)
        return pa.RecordBatch.from_arrays(
            [
                columns[field.name]
                if field.name in columns
                else pa.repeat(pa.scalar(constants.get(field.name), field.type), size)
                for field in SIGHTINGS
            ],
            schema=SIGHTINGS,
        )


def _total_row(total: _Total, count: int) -> dict[str, object]:
    return {
        "entry": Entry.TOTAL.value,
        "outcome": total.outcome.value,
        "reason": total.reason,
        "line": total.line,
        "count": count,
    }


def _sighting_row(sighting: Sighting, seen: _Seen) -> dict[str, object]:
    valid = is_utf8(sighting.value)
    return {
        "entry": Entry.SIGHTING.value,
        "line": seen.line,
        "outcome": Verdict.COULD_NOT_JUDGE.value if sighting.could_not_judge else None,
        "kind": sighting.kind.value,
        "value": to_text(sighting.value),
        "value_hex": None if valid else to_bytes(sighting.value).hex(),
        "value_utf8_valid": valid,
        "length": utf16_length(sighting.value) if sighting.length is None else sighting.length,
        "unit": UNIT,
        "where": sighting.where,
        "api": sighting.api,
        "api_version": sighting.api_version,
        "client_id": to_text(sighting.client_id),
        "principal": to_text(sighting.principal),
        "address": to_text(sighting.address),
        "listener": to_text(sighting.listener),
        "software_name": to_text(sighting.software_name),
        "software_version": to_text(sighting.software_version),
        "door": sighting.door,
        "forwarded": sighting.forwarded,
        "count": seen.count,
        "first_seen": seen.first,
        "last_seen": seen.last,
        "detail": to_text(sighting.detail),
        "rule": sighting.rule,
        "limit": sighting.limit,
        "answer_new": sighting.answer_new,
        "answer_old": sighting.answer_old,
    }


def is_utf8(text: str) -> bool:
    """Whether the text was made of valid UTF-8: no lone surrogate stands for a byte or for itself."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def to_bytes(text: str) -> bytes:
    """The bytes that the text was read from; a surrogate that stands for no byte is kept in its three bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def to_text(text: str | None) -> str | None:
    """The text as a table can hold it: U+FFFD for what was no UTF-8."""
    if text is None or is_utf8(text):
        return text
    return to_bytes(text).decode("utf-8", "replace")


def door_of(listeners: tuple[str, ...]) -> str:
    """The doors that judge an API's requests, by the listeners that serve it (`rules.fields.Api.listeners`)."""
    doors = {BROKER_DOOR, CONTROLLER_DOOR} & set(listeners)
    return doors.pop() if len(doors) == 1 else BOTH_DOORS
