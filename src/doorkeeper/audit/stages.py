"""The pipeline's steps, DataFrame to DataFrame: place, group, judge, find. No RDDs, no row-at-a-time functions.

Every step gives the same rows whatever the partitioning: readers counted ahead, and what is left are sums, minima and
maxima over keys. A skewed key is one row per range by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from doorkeeper.audit.judging import Judge, judge_batch
from doorkeeper.audit.schemas import FINDING_KEY, FINDINGS, JUDGED, JUDGED_DDL, SIGHTINGS, Entry, Outcome, Verdict
from doorkeeper.rules.verdict import Kind, RuleId

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

HOUR: Final = "hour"
_COUNTED: Final = ("range_start", "line", "count", "first_seen", "last_seen")
SIGHTING_KEY: Final = tuple(name for name in SIGHTINGS.names if name not in _COUNTED)
_SAME_REQUEST: Final = ("source", "kind", "value", "value_hex", "where", "api", "api_version", "client_id", "principal")
FEW_ROWS: Final = 500_000  # that one task does faster than shuffles would spread them
MOST_ALIKE: Final = 5  # other client ids that are named
LOSSY: Final = "[^A-Za-z0-9._-]"
"""What an exporter that replaces special characters makes `_` of."""


def with_places(rows: DataFrame) -> DataFrame:
    """Lines counted from the beginning of the file: readers count from the beginning of their range.

    :param rows: persisted, or else they are read twice.
    """
    reads = rows.where((F.col("entry") == Entry.TOTAL.value) & (F.col("outcome") == Outcome.READ.value))
    reads = reads.select("file", "range_start", "count").coalesce(1)  # one row per range: not worth a shuffle
    before = Window.partitionBy("file").orderBy("range_start").rowsBetween(Window.unboundedPreceding, -1)
    ranges = (
        reads.groupBy("file", "range_start")
        .agg(F.sum("count").alias("lines"))
        .withColumn("before", F.coalesce(F.sum("lines").over(before), F.lit(0)))
        .where(F.col("before") > 0)
        .select("file", "range_start", "before")
    )
    placed = rows.join(F.broadcast(ranges), ["file", "range_start"], "left")
    return placed.withColumn("line", F.col("line") + F.coalesce("before", F.lit(0))).select(*SIGHTINGS.names)


def summarise_sightings(rows: DataFrame) -> DataFrame:
    """Sightings and callers counted over all ranges of a file; one row per hour in which they were seen.

    A forwarded request, which the controller logs again, counts only where the broker's own line is not there.
    """
    seen = rows.where(F.col("entry") != Entry.TOTAL.value).withColumn(HOUR, F.date_trunc("hour", "first_seen"))
    grouped = seen.groupBy(*SIGHTING_KEY, HOUR).agg(
        F.min("line").alias("line"),
        F.sum("count").alias("count"),
        F.min("first_seen").alias("first_seen"),
        F.max("last_seen").alias("last_seen"),
    )
    return grouped.select(
        *(F.lit(0).cast("bigint").alias(name) if name == "range_start" else name for name in SIGHTINGS.names)
    )


def only_once(summary: DataFrame) -> DataFrame:
    """Sightings without those of forwarded requests that a broker's own log shows, too."""
    sightings = summary.where(F.col("entry") == Entry.SIGHTING.value)
    direct = F.max(F.when(~F.col("forwarded"), 1).otherwise(0)).over(Window.partitionBy(*_SAME_REQUEST))
    return sightings.withColumn("direct", direct).where(~F.col("forwarded") | (F.col("direct") == 0)).drop("direct")


def with_judgements(sightings: DataFrame, judge: Judge) -> DataFrame:
    """The rows of JUDGED."""

    def judge_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield judge_batch(batch, judge)

    return sightings.select(*SIGHTINGS.names).mapInArrow(judge_batches, JUDGED_DDL)


def find(judged: DataFrame) -> DataFrame:
    """The rows of FINDINGS: what is refused or to be told, by all that is the same."""
    told = judged.where(F.col("verdict").isin(Verdict.REFUSED.value, Verdict.NOTICE.value))
    place = F.struct("file", "line")
    return (
        told.groupBy(*FINDING_KEY)
        .agg(
            F.min("api_version").alias("api_version_min"),
            F.max("api_version").alias("api_version_max"),
            F.min("first_seen").alias("first_seen"),
            F.max("last_seen").alias("last_seen"),
            F.sum("count").alias("count"),
            F.min("suggestion").alias("suggestion"),
            _detail(place).alias("detail"),
        )
        .select(*FINDINGS.names)
    )


def _detail(place: Column) -> Column:
    """The words on a finding, and where it was seen first."""
    first = F.min(place)
    where = F.concat(F.lit("first in "), first["file"], F.lit(":"), first["line"].cast("string"))
    return F.concat_ws("; ", F.min(F.when(F.col("detail") != "", F.col("detail"))), where)


def find_alike(summary: DataFrame) -> DataFrame:
    """Client ids that a lossy exporter would show under one name, as rows of FINDINGS; one of them is not plain."""
    clients = (
        summary.where((F.col("entry") == Entry.CALLER.value) & F.col("client_id").isNotNull())
        .groupBy("source", "client_id")
        .agg(F.sum("count").alias("count"))
        .withColumn("shown", F.regexp_replace("client_id", LOSSY, "_"))
    )
    merged = clients.groupBy("shown").agg(
        F.array_sort(F.collect_set("client_id")).alias("alike"),
        F.max(F.when(F.col("client_id") != F.col("shown"), 1).otherwise(0)).alias("special"),
        F.collect_list(F.struct("source", "client_id", "count")).alias("clients"),
    )
    merged = merged.where((F.size("alike") > 1) & (F.col("special") == 1))
    found = merged.select("shown", "alike", F.inline("clients"))
    others = F.slice(F.array_remove(F.col("alike"), F.col("client_id")), 1, MOST_ALIKE)
    values = {
        "rule": F.lit(RuleId.CLIENT_ID_LOOKS_ALIKE.value),
        "kind": F.lit(Kind.CLIENT_ID.value),
        "value": F.col("client_id"),
        "value_utf8_valid": F.lit(True),
        "door": F.lit("both"),
        "client_id": F.col("client_id"),
        "source": F.col("source"),
        "count": F.col("count"),
        "sanitized": F.col("shown"),
        "detail": F.concat(
            F.lit("an exporter that replaces special characters shows it as the same as: "),
            F.array_join(others, ", "),
        ),
    }
    return found.select(*(_column(name, values) for name in FINDINGS.names))


def _column(name: str, values: dict[str, Column]) -> Column:
    if name in values:
        return values[name].alias(name)
    types = {"string": "string", "bool": "boolean", "int16": "smallint", "int32": "int", "int64": "bigint"}
    kind = types.get(str(FINDINGS.field(name).type), "timestamp")
    return F.lit(None).cast(kind).alias(name)


def gathered(frame: DataFrame, *, few: bool) -> DataFrame:
    """A frame of few rows in one partition: then no step after it shuffles.

    Each shuffle costs a job or two, and these cost more than a single task needs for all of it.
    """
    return frame.coalesce(1) if few else frame


@dataclass(frozen=True, slots=True)
class ReadTotals:
    """What became of all that was read."""

    counts: Mapping[tuple[str, str], Mapping[str, int]]
    """(source, outcome) to counts by reason."""
    rows: int
    """How many rows of SIGHTINGS the readers made of it."""

    def of(self, source: str, outcome: Outcome) -> Mapping[str, int]:
        """The lines or records of a source with an outcome, by reason."""
        return self.counts.get((source, outcome.value), {})

    @property
    def read(self) -> int:
        """All lines and records."""
        by_reason = (counts for (_, outcome), counts in self.counts.items() if outcome == Outcome.READ)
        return sum(sum(counts.values()) for counts in by_reason)


def count_totals(rows: DataFrame) -> ReadTotals:
    """What became of lines and records: the question that makes Spark read them."""
    outcome = F.when(F.col("entry") == Entry.TOTAL.value, F.col("outcome"))
    reason = F.when(F.col("entry") == Entry.TOTAL.value, F.col("reason"))
    grouped = rows.groupBy("source", outcome.alias("outcome"), reason.alias("reason"))
    counts: dict[tuple[str, str], dict[str, int]] = {}
    made = 0
    for row in grouped.agg(F.sum("count").alias("count"), F.count(F.lit(1)).alias("rows")).collect():
        made += row.rows
        if row.outcome is not None:
            counts.setdefault((row.source, row.outcome), {})[row.reason or ""] = row["count"]
    return ReadTotals(counts, made)


def malformed_places(rows: DataFrame, most: int) -> DataFrame:
    """The first places of what is malformed."""
    bad = (F.col("entry") == Entry.TOTAL.value) & (F.col("outcome") == Outcome.MALFORMED.value)
    places = rows.where(bad).select("source", "file", "line", "reason", "count")
    return places.orderBy("source", "file", "line", "reason").limit(most)


assert set(FINDING_KEY) <= set(JUDGED.names)
