"""One Spark task per byte range, or for several small ones: a reader turns each into rows of SIGHTINGS.

A range of numbers with one number per partition stands for the tasks, and `mapInArrow` does them. Python's DataSource
API would do the same, but starts three more Python processes to plan each reading: seconds, on small inputs most of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from doorkeeper.audit.files import SMALLEST_RANGE
from doorkeeper.audit.readers import READERS, ByteRange, ReadOptions, load
from doorkeeper.audit.schemas import SIGHTINGS_DDL, SourceKind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def packed(ranges: Sequence[ByteRange]) -> list[list[ByteRange]]:
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
    spark: SparkSession, kind: SourceKind, ranges: Sequence[ByteRange], options: ReadOptions
) -> DataFrame:
    """The sightings of one kind of source, lazily."""
    tasks = packed(ranges)
    reader = READERS[kind].read

    def read_tasks(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read = load(reader)
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for work in tasks[number]:
                    yield from read(work, options)

    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(read_tasks, SIGHTINGS_DDL)
