"""Segments and metadata logs on disk, written by Doorkeeper's own codec, and what a reader makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from doorkeeper.audit.readers import ByteRange, ReadOptions, ReadRange
from doorkeeper.audit.schemas import SIGHTINGS
from doorkeeper.wire.coordinator_records import CoordinatorRecord, write_coordinator_record
from doorkeeper.wire.records import Record, write_batch

TIME = 1_700_000_000_000  # milliseconds


def segment(folder: Path, topic_partition: str, batches: Iterable[bytes], base: int = 0) -> Path:
    """Write a segment file of these batches."""
    path = folder / topic_partition / f"{base:020}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(batches))
    return path


def batch_of(records: Sequence[CoordinatorRecord], base: int = 0, compression: int = 0) -> bytes:
    """A batch of coordinator records, one millisecond apart."""
    written = [
        Record(value, key, TIME + base + at) for at, (key, value) in enumerate(map(write_coordinator_record, records))
    ]
    return write_batch(written, base_offset=base, compression=compression)


def rows_of(read: ReadRange, path: Path | str, options: ReadOptions | None = None) -> list[dict[str, Any]]:
    """What a reader gives for a whole file, as rows without the columns that are empty."""
    return rows_of_files(read, [Path(path)], options)


def rows_of_files(read: ReadRange, paths: Sequence[Path], options: ReadOptions | None = None) -> list[dict[str, Any]]:
    """The same for files that are read together."""
    first, *others = paths
    work = ByteRange(str(first), 0, first.stat().st_size, tuple(map(str, others)))
    batches = list(read(work, options or ReadOptions()))
    assert all(batch.schema == SIGHTINGS for batch in batches)
    rows = pa.Table.from_batches(batches, schema=SIGHTINGS).to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def sightings(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """(kind, value) of every sighting, sorted."""
    return sorted((row["kind"], row["value"]) for row in rows if row["entry"] == "sighting")


def totals(rows: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    """(outcome, reason) to the number of records, after a look at whether they add up to those read."""
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        if row["entry"] == "total":
            key = row["outcome"], row["reason"]
            counts[key] = counts.get(key, 0) + row["count"]
    assert counts.pop(("read", ""), 0) == sum(counts.values())
    return counts
