"""The whole pipeline on Spark: what a plain loop finds, whatever the partitioning, in every format."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.audit import plain_audit
from tests.audit.request_lines import change, consumer_heartbeat, heartbeat, line
from tests.kafka.jars import require_jars
from tools.spark_jars import DELTA

from doorkeeper.audit import files, packing, range_tasks
from doorkeeper.audit.progress import Progress
from doorkeeper.audit.run import AuditOptions, run_audit
from doorkeeper.audit.schemas import FINDINGS
from doorkeeper.audit.summary import Answer, Summary
from doorkeeper.audit.tables import TableFormat
from doorkeeper.cli import root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = datetime(2026, 11, 16, tzinfo=UTC)
LONG = "x" * 250
OFFENDERS = [
    heartbeat("g" * 250, client_id="alpha"),
    heartbeat("g" * 250, client_id="alpha", principal="User:bob"),
    heartbeat("😀" * 125, client_id="beta one"),
    heartbeat("gr\udcffup", client_id="alpha"),
    consumer_heartbeat("m" * 37),
    line(client_id=LONG),
    line(client_id="my app"),
    line(client_id="my/app"),
    line(1, 2, {"topics": [{"topic": "t" * 250}]}, name="FETCH"),
    line(0, 9, {"transactionalId": "t" * 260, "topicData": []}, name="PRODUCE"),
    line(
        8,
        8,
        {"groupId": "g", "topics": [{"name": "t", "partitions": [{"committedMetadata": "m" * 4097}]}]},
        name="OFFSET_COMMIT",
    ),
    change(4, "1", ("num.io.threads", 0, "0")),
    change(2, "orders", ("retention.ms", 0, "x")),
    change(2, "orders", ("retention.ms", 0, "x"), forwarded=True, listener="CONTROLLER"),
    heartbeat("only-forwarded-" + LONG, forwarded=True),
]
LAWFUL = [line(client_id=f"app-{number}") for number in range(40)] + [
    heartbeat("g" * 249),
    consumer_heartbeat("m" * 36),
]
BROKEN = [line()[:100], b"junk", b"", b"[2026-11-15 10:00:00,123] INFO started (kafka.Kafka)"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two logs: a few hundred lines with offenders among them, in a fixed random order."""
    folder = tmp_path_factory.mktemp("logs")
    draw = random.Random(7)
    lines = OFFENDERS * 3 + LAWFUL * 5
    draw.shuffle(lines)
    half = len(lines) // 2
    (folder / "a.log").write_bytes(b"\n".join(lines[:half]) + b"\n")
    (folder / "b.log").write_bytes(b"\n".join(lines[half:]) + b"\n")
    return folder


def audited(spark: SparkSession, out: Path, *sources: Path, **fields: Any) -> Summary:
    options = AuditOptions(tuple(map(str, sources)), str(out), now=NOW, **fields)
    return run_audit(spark, options, Progress(None))


def findings(spark: SparkSession, out: Path, table_format: str = "parquet") -> list[dict[str, Any]]:
    rows = spark.read.format(table_format).load(str(out / "findings")).collect()
    return sorted((row.asDict() for row in rows), key=str)


def compared(rows: list[dict[str, Any]]) -> Counter[plain_audit.Finding]:
    """Findings as the plain loop has them; what only the whole log shows is left out."""
    counts: Counter[plain_audit.Finding] = Counter()
    for row in rows:
        if row["rule"] != "CLIENT_ID_LOOKS_ALIKE":
            counts[plain_audit.Finding(*(row[name] for name in plain_audit.Finding._fields))] += row["count"]
    return counts


@pytest.fixture(scope="module")
def first(spark: SparkSession, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Summary, Path]:
    """One audit that several tests look at."""
    out = tmp_path_factory.mktemp("out") / "audit"
    return audited(spark, out, logs), out


def test_finds_what_a_plain_loop_with_the_rulebook_finds(
    spark: SparkSession, logs: Path, first: tuple[Summary, Path]
) -> None:
    expected = plain_audit.audit(logs / "a.log", logs / "b.log")
    assert len(expected) > 12
    assert compared(findings(spark, first[1])) == expected


def test_the_table_has_the_columns_that_were_promised(spark: SparkSession, first: tuple[Summary, Path]) -> None:
    table = spark.read.parquet(str(first[1] / "findings"))
    assert table.columns == FINDINGS.names
    assert dict(table.dtypes)["answer_new"] == "smallint"
    assert dict(table.dtypes)["first_seen"] == "timestamp"


def test_the_summary_reconciles_and_puts_refusals_first(first: tuple[Summary, Path]) -> None:
    summary, out = first
    assert summary.answer is Answer.REFUSED
    assert all(source.reconciles for source in summary.sources)
    assert summary.sources[0].read == len(OFFENDERS) * 3 + len(LAWFUL) * 5
    assert summary.findings[0].weight.value == "refused"
    assert Summary.from_json((out / "summary.json").read_text()) == summary
    assert "<html" in (out / "report.html").read_text()


def test_client_ids_that_an_exporter_would_merge_are_paired(first: tuple[Summary, Path]) -> None:
    merged = {one.client_id: one.merged_with for one in first[0].renamed_clients}
    assert merged["my app"] == ("my/app",)
    assert merged["beta one"] == ()


def test_is_the_same_in_any_partitioning(
    spark: SparkSession, logs: Path, first: tuple[Summary, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SMALLEST_RANGE", 5_000)
    monkeypatch.setattr(files, "LARGEST_RANGE", 7_000)
    monkeypatch.setattr(range_tasks, "SMALLEST_RANGE", 20_000)
    monkeypatch.setattr(packing, "TASKS_PER_BUCKET", 2)
    audited(spark, tmp_path, logs, strict=True)
    for name in ("summary.json", "report.html"):
        assert (tmp_path / name).read_bytes() == (first[1] / name).read_bytes()
    assert findings(spark, tmp_path) == findings(spark, first[1])


def test_counts_broken_lines_with_their_places(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    log.write_bytes(b"\n".join([line(), *BROKEN, line()]) + b"\n")
    summary = audited(spark, tmp_path / "out", log)
    (source,) = summary.sources
    assert (source.read, source.judged, source.malformed, sum(source.ignored.values())) == (6, 2, 2, 2)
    assert [place.at for place in summary.places] == [2, 3]
    assert summary.answer is Answer.SAFE


def test_the_command_tells_the_verdict_and_fails_if_asked(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    log.write_bytes(heartbeat("g" * 250) + b"\n" + change(4, "1", ("num.io.threads", 0, "500")) + b"\n")
    arguments = ["audit", f"requests:{log}", "--out", str(tmp_path / "out"), "--now", "2026-11-16T00:00:00Z"]
    result = CliRunner().invoke(root, [*arguments, "--fail-on", "refused"])
    assert result.exit_code == 1, result.output
    assert "Somebody would be refused" in result.stdout
    assert "group_id" in result.stdout
    document = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert document["generated"] == "2026-11-16T00:00:00.000Z"
    assert document["could_not_judge"] == {"what was in force before is not known": 1}


def test_delta_tables_grow_by_what_is_new_and_stay_by_what_is_not(spark: SparkSession, tmp_path: Path) -> None:
    require_jars(DELTA)
    monday, tuesday, out = tmp_path / "monday.log", tmp_path / "tuesday.log", tmp_path / "out"
    monday.write_bytes(heartbeat("g" * 250) + b"\n")
    tuesday.write_bytes(heartbeat("g" * 250, time="2026-11-16 10:00:00,000") + b"\n" + line(client_id=LONG) + b"\n")

    def run(*logs: Path) -> dict[str, int]:
        audited(spark, out, *logs, table_format=TableFormat.DELTA)
        return {row["kind"]: row["count"] for row in findings(spark, out, "delta")}

    assert run(monday) == {"group_id": 1}
    assert run(tuesday) == {"group_id": 2, "client_id": 1}
    assert run(monday, tuesday) == {"group_id": 2, "client_id": 1}
    (group,) = (row for row in findings(spark, out, "delta") if row["kind"] == "group_id")
    assert (group["first_seen"].day, group["last_seen"].day) == (15, 16)
