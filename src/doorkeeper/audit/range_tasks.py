"""One Spark task per byte range, or for several small ones: a reader turns each into sightings.

A range of numbers with one number per partition stands for the tasks, and `mapInArrow` does them. Python's DataSource
API would do the same, but starts three more Python processes to plan each reading: seconds, on small inputs most of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from doorkeeper.audit.files import SMALLEST_RANGE
from doorkeeper.audit.packing import PACKED_DDL, pack
from doorkeeper.audit.readers import READERS, ByteRange, ReadOptions, load
from doorkeeper.audit.schemas import SourceKind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def tasks_of(ranges: Sequence[ByteRange]) -> list[list[ByteRange]]:
    """The ranges of each task, in their order: a broker has thousands of small segments."""
    tasks: list[list[ByteRange]] = []
    room = 0
    for one in ranges:
        if room <= 0:
            tasks.append([])
            room = SMALLEST_RANGE
        tasks[-1].append(one)
        room -= one.end - one.start
    return tasks


def read_sightings(
    spark: SparkSession, kind: SourceKind, tasks: Sequence[Sequence[ByteRange]], options: ReadOptions, buckets: int
) -> DataFrame:
    """The sightings of one kind of source, packed, lazily."""
    reader = READERS[kind].read

    def read_tasks(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read = load(reader)
        batches = (
            batch
            for some in numbers
            for number in some.column(0).to_pylist()
            for work in tasks[number]
            for batch in read(work, options)
        )
        return pack(batches, buckets)

    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(read_tasks, PACKED_DDL)
