"""Live topics: read once as a batch, or followed into Delta, each request counted exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.audit.request_lines import document, heartbeat, line, to_json
from tests.kafka.jars import require_jars
from tools.spark_jars import DELTA, KAFKA_SOURCE

from doorkeeper.audit.follow import merge_findings, start_following
from doorkeeper.audit.progress import Progress
from doorkeeper.audit.readers import ReadOptions, TopicRecord
from doorkeeper.audit.run import AuditOptions, run_audit
from doorkeeper.audit.tables import TableFormat, Tables
from doorkeeper.audit.topics import read_records
from doorkeeper.cli import root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from doorkeeper.embedded import Doorkeeper

LONG = "g" * 250
SECONDS = 240


@pytest.fixture(scope="module")
def kafka() -> Iterator[Doorkeeper]:
    from doorkeeper.embedded import Doorkeeper

    require_jars(KAFKA_SOURCE)
    require_jars(DELTA)
    with Doorkeeper() as running:
        yield running


def produce(kafka: Doorkeeper, topic: str, *values: bytes) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in values:
        producer.produce(topic, value=value)
    assert producer.flush(30) == 0


def counts(spark: SparkSession, folder: Path, table_format: str) -> dict[str, int]:
    try:
        rows = spark.read.format(table_format).load(str(folder / "findings")).collect()
    except Exception:  # the table is not there yet
        return {}
    return {row.rule: row["count"] for row in rows}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_reads_lines_and_records_of_groups_without_spark() -> None:
    bare = to_json(document(client_id="a b")).encode()
    lines = [
        TopicRecord("log", 0, at, 1_000_000 * at, None, one) for at, one in enumerate((heartbeat(LONG), bare, b"junk"))
    ]
    records = [*lines, TopicRecord("__consumer_offsets", 3, 9, 5, None, b"")]
    rows = [row for batch in read_records(records, ReadOptions()) for row in batch.to_pylist()]
    seen = {row["kind"]: (row["file"], row["line"]) for row in rows if row["entry"] == "sighting"}
    assert seen == {"group_id": ("log-0", 0), "client_id": ("log-0", 1)}
    (client,) = (row for row in rows if row["kind"] == "client_id")
    assert client["first_seen"].timestamp() == 1
    totals = [(row["file"], row["outcome"], row["count"]) for row in rows if row["entry"] == "total"]
    assert sorted(totals) == [
        ("__consumer_offsets-3", "malformed", 1),
        ("__consumer_offsets-3", "read", 1),
        ("log-0", "judged", 2),
        ("log-0", "malformed", 1),
        ("log-0", "read", 3),
    ]


def test_reads_a_topic_as_a_batch(spark: SparkSession, kafka: Doorkeeper, tmp_path: Path) -> None:
    produce(kafka, "request-lines", heartbeat(LONG), line(), heartbeat(LONG))
    options = AuditOptions(("topic:request-lines",), str(tmp_path), bootstrap_server=kafka.bootstrap_servers)
    summary = run_audit(spark, options, Progress(None))
    assert counts(spark, tmp_path, "parquet") == {"GROUP_ID_TOO_LONG": 2}
    (source,) = summary.sources
    assert (source.kind, source.read, source.judged) == ("topic", 3, 3)


def test_follows_a_topic_through_a_restart(spark: SparkSession, kafka: Doorkeeper, tmp_path: Path) -> None:
    options = AuditOptions(
        ("topic:followed",), str(tmp_path), bootstrap_server=kafka.bootstrap_servers, table_format=TableFormat.DELTA
    )
    produce(kafka, "followed", heartbeat(LONG), line())
    for expected in (1, 3):
        query = start_following(spark, options, "1 second")
        until(lambda expected=expected: counts(spark, tmp_path, "delta").get("GROUP_ID_TOO_LONG") == expected)  # type: ignore[misc]
        query.stop()
        produce(kafka, "followed", heartbeat(LONG), heartbeat(LONG))
    tables = Tables(spark, str(tmp_path), TableFormat.DELTA)
    table = spark.read.format("delta").load(tables.path("findings"))
    last = table.agg({"batch": "max"}).collect()[0][0]
    merge_findings(tables, table.drop("batch"), last)  # what a crash after the merge would repeat
    assert counts(spark, tmp_path, "delta") == {"GROUP_ID_TOO_LONG": 3}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["topic:t", "--follow", "--bootstrap-server", "h:1"], "--follow needs --format delta"),
        (["topic:t"], "topic: needs --bootstrap-server"),
        (["a.log", "--follow", "--format", "delta"], "--follow reads topics only"),
        (["a.log", "--since", "yesterday"], "is no time in ISO 8601"),
        (["a.log", "--conf", "x"], "is not NAME=VALUE"),
        (["a.log", "--broker", "one=x"], "is not ID=FILE"),
    ],
)
def test_a_wrong_call_is_refused_in_one_sentence_before_spark_starts(arguments: list[str], words: str) -> None:
    result: Any = CliRunner().invoke(root, ["audit", *arguments, "--out", "nowhere"])
    assert result.exit_code == 2
    assert words in result.stderr
