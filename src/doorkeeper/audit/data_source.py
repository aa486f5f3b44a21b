"""The audit's data source: Spark plans one task per byte range, and a reader turns each into rows of SIGHTINGS.

Python's DataSource API (Spark 4), so it runs wherever Python workers do, Spark Connect included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from doorkeeper.audit.files import SMALLEST_RANGE
from doorkeeper.audit.readers import READERS, ByteRange, ReadOptions, load
from doorkeeper.audit.schemas import SIGHTINGS_DDL, SourceKind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT: Final = "doorkeeper"


class RangePartition(InputPartition):
    """One task's work: a range, or small ones that would each cost more to start than to read."""

    def __init__(self, work: Sequence[ByteRange]) -> None:
        super().__init__(work[0].start)
        self.work = tuple(work)


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


class RangeReader(DataSourceReader):
    """Runs a reader's function on each range."""

    def __init__(self, read: str, ranges: Sequence[ByteRange], options: ReadOptions) -> None:
        self._read = read
        self._ranges = ranges
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        return [RangePartition(work) for work in packed(self._ranges)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        read = load(self._read)
        for work in partition.work:
            yield from read(work, self._options)


class SightingsSource(DataSource):
    """`format("doorkeeper")` with the options `kind`, `ranges` and `options`, the latter two in JSON."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SIGHTINGS_DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        ranges = [ByteRange(*one) for one in json.loads(self.options["ranges"])]
        kind = SourceKind(self.options["kind"])
        return RangeReader(READERS[kind].read, ranges, ReadOptions(**json.loads(self.options["options"])))


def read_sightings(
    spark: SparkSession, kind: SourceKind, ranges: Sequence[ByteRange], options: ReadOptions
) -> DataFrame:
    """The sightings of one kind of source, lazily."""
    spark.dataSource.register(SightingsSource)
    return (
        spark.read.format(FORMAT)
        .option("kind", kind.value)
        .option("ranges", json.dumps([[one.file, one.start, one.end, one.beside] for one in ranges]))
        .option("options", json.dumps(asdict(options)))
        .load()
    )
