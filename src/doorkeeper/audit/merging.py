"""What many ranges have counted, counted together: the rows of one bucket to sightings, callers and totals.

Sums, minima and maxima over keys: the same whatever the partitioning. Lines count from the beginning of their file from
here on; readers count from the beginning of their range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from doorkeeper.audit.schemas import FILES, SIGHTINGS, TIME, Entry, Outcome

Row: TypeAlias = dict[str, Any]
"""A row of SIGHTINGS, JUDGED or FINDINGS; times are in microseconds since the epoch."""

HOUR: Final = 3_600_000_000  # microseconds
ROWS_PER_BATCH: Final = 10_000
_COUNTED: Final = ("range_start", "line", "count", "first_seen", "last_seen")
SIGHTING_KEY: Final = tuple(name for name in SIGHTINGS.names if name not in _COUNTED)
_CALLER_KEY: Final = ("source", "file", "api", "api_version", "client_id")
CALLERS: Final = pa.schema([SIGHTINGS.field(name) for name in (*_CALLER_KEY, "count")])
"""How often a client called an API, as one file says."""
_SAME_REQUEST: Final = ("source", "kind", "value", "value_hex", "where", "api", "api_version", "client_id", "principal")
_NO_TIMES: Final = pa.schema([one.with_type(pa.int64()) if one.type == TIME else one for one in SIGHTINGS])


@dataclass(slots=True)
class Merged:
    """What one bucket holds."""

    sightings: list[Row] = field(default_factory=list)
    callers: pa.Table = field(default_factory=lambda: CALLERS.empty_table())
    """Rows of CALLERS."""
    totals: list[Row] = field(default_factory=list)
    """Rows of all ranges as they came, with the lines placed; only the first bucket has all of them."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Sightings and callers as rows of SIGHTINGS."""
        yield from to_batches(self.sightings, SIGHTINGS)
        for batch in self.callers.to_batches(ROWS_PER_BATCH):
            yield _caller_batch(batch)

    def files(self) -> Iterator[pa.RecordBatch]:
        """The files that totals tell of, as rows of FILES."""
        files = sorted({(row["source"], row["file"]) for row in self.totals})
        return to_batches([dict(zip(FILES.names, file, strict=True)) for file in files], FILES)


def to_batches(rows: list[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in batches of a bounded size."""
    for start in range(0, len(rows), ROWS_PER_BATCH):
        yield pa.RecordBatch.from_pylist(rows[start : start + ROWS_PER_BATCH], schema=schema)


def _caller_batch(callers: pa.RecordBatch) -> pa.RecordBatch:
    size = callers.num_rows
    constants = {"entry": pa.scalar(Entry.CALLER.value), "range_start": pa.scalar(0, pa.int64())}
    arrays = [
        callers[one.name]
        if one.name in CALLERS.names
        else pa.repeat(constants[one.name], size)
        if one.name in constants
        else pa.nulls(size, one.type)
        for one in SIGHTINGS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SIGHTINGS)


def merge(batches: Iterable[pa.RecordBatch]) -> Merged:
    """Count together what the batches of one bucket hold."""
    table = pa.Table.from_batches(batches, schema=SIGHTINGS).cast(_NO_TIMES)
    rows = table.filter(pc.not_equal(table["entry"], Entry.CALLER.value)).to_pylist()
    totals = [row for row in rows if row["entry"] == Entry.TOTAL]
    before = _lines_before(totals)
    for row in rows:
        row["line"] += before.get(_range(row), 0)
    sightings = _sightings(row for row in rows if row["entry"] == Entry.SIGHTING)
    return Merged(sightings, _callers(table), totals)


def _range(row: Row) -> tuple[str, str, int]:
    return row["source"], row["file"], row["range_start"]


def _lines_before(totals: Iterable[Row]) -> dict[tuple[str, str, int], int]:
    """How many lines of the file come before each range."""
    lines: Counter[tuple[str, str, int]] = Counter()
    for row in totals:
        if row["outcome"] == Outcome.READ:
            lines[_range(row)] += row["count"]
    before: dict[tuple[str, str, int], int] = {}
    for _, ranges in groupby(sorted(lines), key=lambda one: one[:2]):
        total = 0
        for one in ranges:
            before[one] = total
            total += lines[one]
    return before


def _sightings(rows: Iterable[Row]) -> list[Row]:
    """One row per hour in which the same was seen, over all ranges of a file."""
    merged: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        first = row["first_seen"]
        key = (*(row[name] for name in SIGHTING_KEY), None if first is None else first // HOUR)
        known = merged.get(key)
        if known is None:
            merged[key] = row | {"range_start": 0}
            continue
        known["line"] = min(known["line"], row["line"])
        known["count"] += row["count"]
        known["first_seen"] = least(known["first_seen"], first)
        known["last_seen"] = greatest(known["last_seen"], row["last_seen"])
    return list(merged.values())


def _callers(table: pa.Table) -> pa.Table:
    """There are many of them: they never become Python's objects."""
    callers = table.filter(pc.equal(table["entry"], Entry.CALLER.value))
    return sum_counts(callers, *_CALLER_KEY).combine_chunks()


def sum_counts(table: pa.Table, *keys: str) -> pa.Table:
    """The table's counts by some of its columns."""
    counted = table.group_by(list(keys)).aggregate([("count", "sum")])
    return counted.rename_columns([*keys, "count"])


def only_once(sightings: Iterable[Row]) -> list[Row]:
    """Sightings without those of forwarded requests that a broker's own log shows, too."""
    rows = list(sightings)
    direct = {_request(row) for row in rows if not row["forwarded"]}
    return [row for row in rows if not row["forwarded"] or _request(row) not in direct]


def _request(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _SAME_REQUEST)


def least(one: Any, other: Any) -> Any:
    """The smaller; None stands for nothing known."""
    return other if one is None else one if other is None else min(one, other)


def greatest(one: Any, other: Any) -> Any:
    """The greater; None stands for nothing known."""
    return other if one is None else one if other is None else max(one, other)
