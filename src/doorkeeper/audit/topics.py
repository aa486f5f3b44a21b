"""Live topics as a source, through Spark's own Kafka connector: once (batch), or as they grow (`follow`).

`__consumer_offsets` and `__transaction_state` are read as their segments are; any other topic carries lines of a
request log. The connector's jar comes by `--packages org.apache.spark:spark-sql-kafka-0-10_2.13:<Spark's version>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from doorkeeper.audit.packing import PACKED_DDL, pack
from doorkeeper.audit.readers import ReadOptions, TopicRecord
from doorkeeper.audit.requests.kernel import Kernel
from doorkeeper.audit.requests.lines import OUTSIDE
from doorkeeper.audit.schemas import Outcome, SourceKind
from doorkeeper.audit.segments import COORDINATOR_TOPICS, is_within, read_stored_record
from doorkeeper.audit.sightings import Tally
from doorkeeper.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from doorkeeper.audit.run import AuditOptions

_COLUMNS: Final = ("topic", "partition", "offset", "timestamp", "key", "value")


def read_topic(spark: SparkSession, topic: str, options: AuditOptions, buckets: int) -> DataFrame:
    """The sightings of all that a topic holds now, packed."""
    from pyspark.errors import AnalysisException

    reader = spark.read.format("kafka").options(**connector_options(topic, options))
    try:
        return to_sightings(reader.load(), options.read_options, buckets)
    except AnalysisException as error:
        raise InputError(_connector_missing(error)) from error


def connector_options(topic: str, options: AuditOptions) -> dict[str, str]:
    """What the connector is told; properties of a client get its prefix."""
    given = {f"kafka.{name}": value for name, value in options.kafka_options.items()}
    return given | {
        "kafka.bootstrap.servers": options.bootstrap_server or "",
        "subscribe": topic,
        "startingOffsets": "earliest",
        "failOnDataLoss": "false",
    }


def _connector_missing(error: Exception) -> str:
    if "kafka" in str(error).lower() and "find" in str(error).lower():
        return (
            "topic: needs Spark's Kafka connector: --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
            " (a folder of jars works, too: --conf spark.jars=…)"
        )
    return " ".join(str(error).split())[:300]


def to_sightings(records: DataFrame, options: ReadOptions, buckets: int) -> DataFrame:
    """Records as the connector gives them to packed sightings."""

    def read_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return pack(read_records(_records(batches), options), buckets)

    return records.select(*_COLUMNS).mapInArrow(read_batches, PACKED_DDL)


def _records(batches: Iterable[pa.RecordBatch]) -> Iterator[TopicRecord]:
    for batch in batches:
        columns: list[list[Any]] = [batch.column(name).to_pylist() for name in _COLUMNS if name != "timestamp"]
        times = batch.column("timestamp").cast(pa.int64()).to_pylist()
        for topic, partition, offset, key, value, time in zip(*columns, times, strict=True):
            yield TopicRecord(topic, partition, offset, time, key, value)


def read_records(records: Iterable[TopicRecord], options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The sightings in records of one task; each partition is counted on its own, by offset."""
    readers: dict[tuple[str, int], _PartitionReader] = {}
    for record in records:
        place = record.topic, record.partition
        reader = readers.get(place)
        if reader is None:
            reader = readers[place] = _PartitionReader(*place, options)
        reader.read(record)
    for reader in readers.values():
        yield from reader.batches()


class _PartitionReader:
    """Counts the records of one partition."""

    def __init__(self, topic: str, partition: int, options: ReadOptions) -> None:
        self._tally = Tally(SourceKind.TOPIC, f"{topic}-{partition}")
        self._kernel = Kernel(self._tally, options)
        self._options = options
        self._stored = 0

    def read(self, record: TopicRecord) -> None:
        if record.topic not in COORDINATOR_TOPICS:
            self._kernel.read_line((record.value or b"").rstrip(b"\r\n"), record.offset, record.timestamp)
            return
        self._stored += 1
        if not is_within(record.timestamp, self._options):
            self._tally.add_total(Outcome.IGNORED, OUTSIDE, record.offset)
            return
        stored = read_stored_record(record.topic, record.key, record.value)
        self._tally.add_total(stored.outcome, stored.reason, record.offset)
        for sighting in stored.sightings:
            self._tally.add(sighting, record.offset, time=record.timestamp)

    def batches(self) -> Iterator[pa.RecordBatch]:
        self._kernel.finish()
        if self._stored:
            self._tally.add_total(Outcome.READ, "", 0, self._stored)
        return self._tally.batches()
