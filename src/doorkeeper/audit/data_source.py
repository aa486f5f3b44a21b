"""The audit's data source: Spark plans one task per byte range, and a reader turns each into rows of SIGHTINGS.

Python's DataSource API (Spark 4), so it runs wherever Python workers do, Spark Connect included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from doorkeeper.audit.readers import READERS, ByteRange, ReadOptions, load
from doorkeeper.audit.schemas import SIGHTINGS_DDL, SourceKind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT: Final = "doorkeeper"


class RangePartition(InputPartition):
    """One task's work."""

    def __init__(self, work: ByteRange) -> None:
        super().__init__(work.start)
        self.work = work


class RangeReader(DataSourceReader):
    """Runs a reader's function on each range."""

    def __init__(self, read: str, ranges: Sequence[ByteRange], options: ReadOptions) -> None:
        self._read = read
        self._ranges = ranges
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        return [RangePartition(work) for work in self._ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        batches: Iterator[pa.RecordBatch] = load(self._read)(partition.work, self._options)
        return batches


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
