"""Spark's own Kafka source and sink, batch and streaming, against the embedded cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kafka.jars import require_jars
from tools.spark_jars import KAFKA_SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from doorkeeper.embedded import Doorkeeper

RECORDS = 300
PARTITIONS = 3


@pytest.fixture(scope="module")
def kafka() -> Iterator[Doorkeeper]:
    from doorkeeper.embedded import Doorkeeper

    require_jars(KAFKA_SOURCE)
    with Doorkeeper(brokers=2, configs={"num.partitions": str(PARTITIONS)}) as running:
        yield running


def produce(kafka: Doorkeeper, topic: str, first: int, count: int) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "compression.type": "zstd"})
    for number in range(first, first + count):
        producer.produce(
            topic,
            key=f"key-{number}",
            value=f"value-{number}",
            partition=number % PARTITIONS,
            timestamp=1_700_000_000_000 + number,
            headers=[("number", str(number).encode())],
        )
    assert producer.flush(30) == 0


def read(spark: SparkSession, kafka: Doorkeeper, topic: str, **options: str) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    return reader.options(subscribe=topic, **options).load()


def numbers(frame: DataFrame) -> list[int]:
    rows = frame.selectExpr("cast(substring(cast(value as string), 7) as int) as number").collect()
    return sorted(row.number for row in rows)


def test_a_batch_reads_every_record_with_key_header_offset_and_timestamp(
    spark: SparkSession, kafka: Doorkeeper
) -> None:
    produce(kafka, "batch", 0, RECORDS)
    frame = read(spark, kafka, "batch", startingOffsets="earliest", includeHeaders="true")
    assert numbers(frame) == list(range(RECORDS))
    row = frame.where("partition = 2 and offset = 1").collect()[0]
    assert (bytes(row.key), bytes(row.value), row.topic) == (b"key-5", b"value-5", "batch")
    assert [(header.key, bytes(header.value)) for header in row.headers] == [("number", b"5")]
    assert frame.where("timestamp = timestamp_millis(1700000000005)").count() == 1


def test_a_batch_between_given_offsets_and_from_a_timestamp(spark: SparkSession, kafka: Doorkeeper) -> None:
    produce(kafka, "slice", 0, 30)
    slice_ = read(
        spark, kafka, "slice",
        startingOffsets='{"slice": {"0": 2, "1": -2, "2": 10}}', endingOffsets='{"slice": {"0": 4, "1": 1, "2": -1}}',
    )  # fmt: skip
    assert numbers(slice_) == [1, 6, 9]
    late = read(spark, kafka, "slice", startingTimestamp="1700000000027", endingOffsets="latest")
    assert numbers(late) == [27, 28, 29]


def test_a_stream_goes_on_where_its_checkpoint_ends(spark: SparkSession, kafka: Doorkeeper, tmp_path: Path) -> None:
    seen: list[int] = []

    def run() -> None:
        stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        frame = stream.options(subscribe="stream", startingOffsets="earliest", maxOffsetsPerTrigger="100").load()
        writer = frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.foreachBatch(lambda batch, _: seen.extend(numbers(batch))).trigger(availableNow=True).start()
        assert query.awaitTermination(120)

    produce(kafka, "stream", 0, RECORDS)
    run()
    assert sorted(seen) == list(range(RECORDS))
    produce(kafka, "stream", RECORDS, 10)
    run()
    assert sorted(seen) == list(range(RECORDS + 10))


def test_what_spark_writes_is_read_again(spark: SparkSession, kafka: Doorkeeper) -> None:
    rows = spark.range(50).selectExpr("cast(id as string) as key", "concat('value-', id) as value")
    writer = rows.write.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    writer.option("topic", "sink").save()
    assert numbers(read(spark, kafka, "sink")) == list(range(50))
