"""Rows on their way between tasks: Arrow batches in a binary column, each for one bucket.

Spark carries a few rows with large cells instead of many with thirty columns, which it would take apart, compare and
put together again: that costs it more than all the reading. What belongs together is in the same bucket, whatever task
it comes from: a value and all its sightings, a client id and all that an exporter would show as the same. A bucket is
as small as memory asks, for there may be many of them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from doorkeeper.audit.readers import READERS
from doorkeeper.audit.schemas import SIGHTINGS, Entry, Outcome, to_ddl

ROWS_PER_PAYLOAD: Final = 50_000
TASKS_PER_BUCKET: Final = 4
"""A bucket holds at most what so many tasks hold of the sources while they count."""
BUCKETS_OF_A_TABLE: Final = 32
"""Where sightings come from elsewhere than tasks that read files."""
_READ_IN_PARTS: Final = frozenset(kind.value for kind, reader in READERS.items() if reader.splittable)
_LOSSY: Final = re.compile("[^A-Za-z0-9._-]")

PACKED: Final = pa.schema([("bucket", pa.int32()), ("part", pa.string()), ("payload", pa.binary())])
PACKED_DDL: Final = to_ddl(PACKED)


class Part(StrEnum):
    """What a payload holds."""

    SIGHTINGS = "sightings"
    """A batch of SIGHTINGS."""
    FINDINGS = "findings"
    """A batch of FINDINGS."""
    FILES = "files"
    """A batch of FILES."""
    TOTALS = "totals"
    """What became of all that was read: `facts.Facts`."""
    FACTS = "facts"
    """What one bucket adds to the summary: `facts.Facts`."""
    OWNERS = "owners"
    """Who sent what would be refused: `owners.Share`, by buckets of their own."""


class Packed(NamedTuple):
    """One row of PACKED."""

    bucket: int
    part: Part
    payload: bytes


def to_batch(rows: Iterable[Packed]) -> pa.RecordBatch:
    """The rows as Spark takes them."""
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, PACKED, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PACKED)


def from_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[Packed]:
    """The rows as Spark gives them."""
    for batch in batches:
        for bucket, part, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Packed(bucket, Part(part), payload)


def to_payload(batch: pa.RecordBatch) -> bytes:
    """A batch without its schema."""
    payload: bytes = batch.serialize().to_pybytes()
    return payload


def from_payload(payload: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """The inverse of `to_payload`."""
    return pa.ipc.read_record_batch(pa.py_buffer(payload), schema)


def shown_as(name: str) -> str:
    """What an exporter that replaces special characters makes of a name."""
    return _LOSSY.sub("_", name)


def bucket_of(name: str, buckets: int) -> int:
    """The bucket of a value or client id; the same in every process."""
    return zlib.crc32(shown_as(name).encode()) % buckets


def buckets_for(tasks: int) -> int:
    """How many buckets the sightings of so many reading tasks want."""
    return max(1, tasks // TASKS_PER_BUCKET)


def pack(batches: Iterable[pa.RecordBatch], buckets: int) -> Iterator[pa.RecordBatch]:
    """Rows of SIGHTINGS to rows of PACKED."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_PER_PAYLOAD:
            yield to_batch(_packed(waiting, buckets))
            waiting, rows = [], 0
    if rows:
        yield to_batch(_packed(waiting, buckets))


def _packed(batches: Sequence[pa.RecordBatch], buckets: int) -> Iterator[Packed]:
    table = pa.Table.from_batches(batches).cast(SIGHTINGS).combine_chunks()
    if buckets == 1:
        yield from (Packed(0, Part.SIGHTINGS, to_payload(batch)) for batch in table.to_batches())
        return
    places = _buckets(table, buckets)
    lines = _counts_lines(table)
    for bucket in range(buckets):
        rows = np.flatnonzero((places == bucket) | lines)
        for batch in table.take(pa.array(rows)).combine_chunks().to_batches():
            yield Packed(bucket, Part.SIGHTINGS, to_payload(batch))


def _buckets(table: pa.Table, buckets: int) -> np.ndarray:
    """Totals are in the first bucket."""
    columns = (table[name].to_pylist() for name in ("entry", "value", "client_id"))
    known: dict[str, int] = {}
    made = []
    for entry, value, client_id in zip(*columns, strict=True):
        name = (value if entry == Entry.SIGHTING else client_id if entry == Entry.CALLER else None) or ""
        bucket = 0 if entry == Entry.TOTAL else known.get(name)
        if bucket is None:
            bucket = known[name] = bucket_of(name, buckets)
        made.append(bucket)
    return np.array(made, np.int32)


def _counts_lines(table: pa.Table) -> np.ndarray:
    """Which rows say how many lines a range has: every bucket wants them, to count lines from a file's beginning."""
    columns = (table[name].to_pylist() for name in ("source", "entry", "outcome"))
    wanted = [
        entry == Entry.TOTAL and outcome == Outcome.READ and source in _READ_IN_PARTS
        for source, entry, outcome in zip(*columns, strict=True)
    ]
    return np.array(wanted, bool)
