"""From tables to the summary document: bounded questions asked of findings, judged sightings, callers and totals.

Only these answers come to the driver. Each has a fixed order and a fixed length at most, so the document is the same
for the same input, and does not grow with it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 - the usual name

from doorkeeper.audit.schemas import Entry, Outcome, Verdict
from doorkeeper.audit.sightings import MAX_PLACES
from doorkeeper.audit.stages import DAY, HOUR, malformed_places, read_totals
from doorkeeper.audit.summary import (
    MAX_ROWS,
    Bucket,
    ConfigFinding,
    GroupedFinding,
    KindTotals,
    OldCaller,
    Owner,
    Place,
    RenamedClient,
    SourceTotals,
    Summary,
    Timeline,
    Weight,
    answer_of,
)
from doorkeeper.rules.fields import identifier_version, load_apis
from doorkeeper.rules.verdict import Kind, RuleId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, Row

MOST_NAMES: Final = 20  # clients, principals of one finding
QUESTIONS_AT_ONCE: Final = 4
_BY_RECORD: Final = frozenset(("segments", "metadata", "topic"))


@dataclass(frozen=True, slots=True)
class Read:
    """One kind of source as it was asked for."""

    kind: str
    location: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Frame:
    """What the document says of the run itself."""

    release: str
    generated: datetime
    since: int | None
    until: int | None
    reads: tuple[Read, ...]


def iso(moment: datetime | None) -> str | None:
    """ISO 8601, UTC, with milliseconds."""
    if moment is None:
        return None
    aware = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _iso_micros(micros: int | None) -> str | None:
    return None if micros is None else iso(datetime.fromtimestamp(micros / 1_000_000, UTC))


def _millis(name: str) -> Column:
    """A time as text: collected timestamps would be in the zone of the driver."""
    return F.date_format(name, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def weight_column(enforced: Sequence[str]) -> Column:
    """Refused or a notice, by the answer and by the kinds that the release enforces."""
    refused = F.col("answer_new").isNotNull() & F.col("kind").isin(*enforced)
    return F.when(refused, Weight.REFUSED.value).otherwise(Weight.NOTICE.value)


def summarise(
    rows: DataFrame, summary: DataFrame, judged: DataFrame, findings: DataFrame, frame: Frame, enforced: Sequence[str]
) -> Summary:
    """The document.

    :param rows: sightings as they were read, with totals.
    :param enforced: the kinds that the release refuses.
    """
    weighed = findings.withColumn("weight", weight_column(enforced))
    refused = weighed.where(F.col("weight") == Weight.REFUSED.value)
    software = F.concat_ws(" ", "software_name", "software_version")
    omitted: dict[str, int] = {}
    # Small questions, which Spark may answer side by side: most of their time is planning.
    with ThreadPoolExecutor(QUESTIONS_AT_ONCE) as pool:
        kinds = pool.submit(_kinds, weighed)
        sources = pool.submit(_sources, rows, frame.reads)
        unjudged = pool.submit(_could_not_judge, judged)
        span = pool.submit(_span, findings)
        places = pool.submit(_places, rows)
        grouped = pool.submit(_grouped, weighed, omitted)
        principals = pool.submit(_owners, refused, F.col("principal"), "principals", omitted)
        clients = pool.submit(_owners, refused, F.col("client_id"), "clients", omitted)
        programs = pool.submit(_owners, refused, software, "software", omitted)
        timeline = pool.submit(_timeline, judged)
        configs = pool.submit(_configs, judged, omitted)
        renamed = pool.submit(_renamed, findings, omitted)
        old = pool.submit(_old_callers, summary, omitted)
    first, last = span.result()
    return Summary(
        answer=answer_of(kinds.result(), sum(one.judged for one in sources.result()), sum(unjudged.result().values())),
        release=frame.release,
        generated=iso(frame.generated) or "",
        since=_iso_micros(frame.since),
        until=_iso_micros(frame.until),
        first_seen=first,
        last_seen=last,
        sources=sources.result(),
        places=places.result(),
        kinds=kinds.result(),
        findings=grouped.result(),
        principals=principals.result(),
        clients=clients.result(),
        software=programs.result(),
        timeline=timeline.result(),
        configs=configs.result(),
        renamed_clients=renamed.result(),
        old_callers=old.result(),
        could_not_judge=unjudged.result(),
        omitted=dict(sorted(omitted.items())),
    )


def _cut(rows: list[Row], name: str, omitted: dict[str, int], total: int | None = None) -> list[Row]:
    more = (len(rows) if total is None else total) - MAX_ROWS
    if more > 0:
        omitted[name] = more
    return rows[:MAX_ROWS]


def _kinds(weighed: DataFrame) -> tuple[KindTotals, ...]:
    rows = (
        weighed.groupBy("kind", "weight")
        .agg(
            F.countDistinct("value", F.coalesce("value_hex", F.lit(""))).alias("values"),
            F.sum("count").alias("count"),
            F.countDistinct("client_id").alias("clients"),
        )
        .collect()
    )
    made = [
        KindTotals(
            kind=row.kind, weight=Weight(row.weight), values=row["values"], count=row["count"], clients=row.clients
        )
        for row in rows
    ]
    return tuple(sorted(made, key=lambda one: (one.weight is not Weight.REFUSED, -one.count, one.kind)))


def _sources(rows: DataFrame, reads: tuple[Read, ...]) -> tuple[SourceTotals, ...]:
    totals: dict[tuple[str, str], dict[str, int]] = {}
    for row in read_totals(rows).collect():
        totals.setdefault((row.source, row.outcome), {})[row.reason or ""] = row["count"]

    def counted(kind: str, outcome: Outcome) -> dict[str, int]:
        return totals.get((kind, outcome.value), {})

    return tuple(
        SourceTotals(
            kind=read.kind,
            location=read.location,
            files=read.files,
            bytes=read.bytes,
            unit="records" if read.kind in _BY_RECORD else "lines",
            read=sum(counted(read.kind, Outcome.READ).values()),
            judged=sum(counted(read.kind, Outcome.JUDGED).values()),
            malformed=sum(counted(read.kind, Outcome.MALFORMED).values()),
            ignored=dict(sorted(counted(read.kind, Outcome.IGNORED).items())),
        )
        for read in reads
    )


def _places(rows: DataFrame) -> tuple[Place, ...]:
    places = malformed_places(rows, MAX_PLACES).collect()
    return tuple(Place(source=row.source, file=row.file, at=row.line, reason=row.reason) for row in places)


def _span(findings: DataFrame) -> tuple[str | None, str | None]:
    seen = findings.agg(F.min("first_seen").alias("first"), F.max("last_seen").alias("last"))
    row = seen.select(_millis("first").alias("first"), _millis("last").alias("last")).collect()[0]
    return row.first, row.last


def _names(column: str) -> Column:
    return F.slice(F.array_sort(F.collect_set(column)), 1, MOST_NAMES)


def _answers() -> Column:
    """The codes that clients of a finding are told, each at its version."""
    versions = [(api.log_name, identifier_version(api.key)) for api in load_apis().values()]
    literals = [F.lit(part) for pair in versions if pair[1] is not None for part in pair]
    first_new = F.create_map(*literals)[F.col("api")]
    old = F.when(first_new.isNull() | (F.col("api_version_min") < first_new), F.col("answer_old"))
    new = F.when(first_new.isNotNull() & (F.col("api_version_max") >= first_new), F.col("answer_new"))
    return F.array_compact(F.array(old, new))


def _grouped(weighed: DataFrame, omitted: dict[str, int]) -> tuple[GroupedFinding, ...]:
    grouped = (
        weighed.withColumn("told", _answers())
        .groupBy("rule", "kind", "value", "weight")
        .agg(
            F.max("length").alias("length"),
            F.max("limit").alias("limit"),
            F.max("unit").alias("unit"),
            F.array_sort(F.collect_set("api")).alias("apis"),
            F.array_sort(F.array_distinct(F.flatten(F.collect_list("told")))).alias("answers"),
            _names("client_id").alias("clients"),
            F.countDistinct("client_id").alias("client_count"),
            _names("principal").alias("principals"),
            F.array_sort(F.collect_set("source")).alias("sources"),
            F.min("first_seen").alias("first_seen"),
            F.max("last_seen").alias("last_seen"),
            F.sum("count").alias("count"),
            F.min("sanitized").alias("sanitized"),
            F.min("suggestion").alias("suggestion"),
            F.min("detail").alias("detail"),
        )
        .withColumn("first_seen", _millis("first_seen"))
        .withColumn("last_seen", _millis("last_seen"))
    )
    order = [F.col("weight").desc(), F.col("count").desc(), F.col("kind"), F.col("value"), F.col("rule")]
    rows = grouped.orderBy(*order).limit(MAX_ROWS + 1).collect()
    total = None if len(rows) <= MAX_ROWS else grouped.count()
    return tuple(_grouped_finding(row.asDict()) for row in _cut(rows, "findings", omitted, total))


def _grouped_finding(row: Mapping[str, Any]) -> GroupedFinding:
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in row.items()}
    return GroupedFinding(**values | {"weight": Weight(row["weight"])})


def _owners(refused: DataFrame, name: Column, listed: str, omitted: dict[str, int]) -> tuple[Owner, ...]:
    grouped = (
        refused.withColumn("name", F.coalesce(name, F.lit("")))
        .groupBy("name")
        .agg(
            F.countDistinct("kind", "value").alias("values"),
            F.sum("count").alias("count"),
            F.array_sort(F.collect_set("kind")).alias("kinds"),
            F.max("last_seen").alias("last_seen"),
        )
        .withColumn("last_seen", _millis("last_seen"))
    )
    rows = grouped.orderBy(F.col("count").desc(), "name").limit(MAX_ROWS + 1).collect()
    total = None if len(rows) <= MAX_ROWS else grouped.count()
    return tuple(
        Owner(name=row.name, values=row["values"], count=row["count"], kinds=tuple(row.kinds), last_seen=row.last_seen)
        for row in _cut(rows, listed, omitted, total)
    )


def _timeline(judged: DataFrame) -> Timeline:
    """Refusals by hour; by day where there are too many hours."""
    refused = judged.where((F.col("verdict") == Verdict.REFUSED.value) & F.col("first_seen").isNotNull())
    buckets: dict[str, dict[str, int]] = {}
    for unit in (HOUR, DAY):
        start = F.date_format(F.date_trunc(unit, "first_seen"), "yyyy-MM-dd'T'HH:mm:ss'Z'")
        grouped = refused.groupBy(start.alias("start"), "kind").agg(F.sum("count").alias("count"))
        rows = grouped.orderBy("start", "kind").limit(MAX_ROWS * len(Kind)).collect()
        buckets = {}
        for row in rows:
            buckets.setdefault(row.start, {})[row.kind] = row["count"]
        if len(buckets) <= MAX_ROWS:
            break
    kept = list(buckets.items())[-MAX_ROWS:]
    seconds = 3600 if unit == HOUR else 86_400
    return Timeline(bucket_seconds=seconds, buckets=tuple(Bucket(start=start, counts=counts) for start, counts in kept))


def _configs(judged: DataFrame, omitted: dict[str, int]) -> tuple[ConfigFinding, ...]:
    changes = judged.where(F.col("kind") == Kind.CONFIG_CHANGE.value)
    grouped = (
        changes.groupBy("value", "rule", "verdict", "detail", "door", "source", "principal", "client_id")
        .agg(F.sum("count").alias("count"), F.max("last_seen").alias("last_seen"))
        .withColumn("last_seen", _millis("last_seen"))
    )
    worst = (F.col("verdict").desc(), F.col("count").desc())
    ordered = grouped.orderBy(*worst, "value", "rule", "door", "source", "principal", "client_id")
    rows = ordered.limit(MAX_ROWS + 1).collect()
    total = None if len(rows) <= MAX_ROWS else grouped.count()
    return tuple(_config(row) for row in _cut(rows, "configs", omitted, total))


def _config(row: Row) -> ConfigFinding:
    resource, _, key = row.value.partition(": ")
    return ConfigFinding(
        resource=resource,
        key=key,
        rule=row.rule or "",
        weight=Weight(row.verdict),
        reason=row.detail or "",
        door=row.door,
        stored=row.source == "metadata",
        principal=row.principal,
        client_id=row.client_id,
        count=row["count"],
        last_seen=row.last_seen,
    )


def _renamed(findings: DataFrame, omitted: dict[str, int]) -> tuple[RenamedClient, ...]:
    """Client ids that are not plain, with those that a lossy exporter would merge them with."""
    alike = findings.where(F.col("rule") == RuleId.CLIENT_ID_LOOKS_ALIKE.value)
    merged = alike.groupBy(F.col("sanitized").alias("shown")).agg(_names("value").alias("alike"))
    shown = F.regexp_replace("value", "[^A-Za-z0-9._-]", "_")
    plain = findings.where(F.col("rule") == RuleId.CLIENT_ID_NOT_PLAIN.value)
    grouped = (
        plain.groupBy("value", "sanitized")
        .agg(F.sum("count").alias("count"))
        .withColumn("shown", shown)
        .join(merged, "shown", "left")
    )
    rows = grouped.orderBy(F.col("count").desc(), "value").limit(MAX_ROWS + 1).collect()
    total = None if len(rows) <= MAX_ROWS else grouped.count()
    return tuple(
        RenamedClient(
            client_id=row.value,
            sanitized=row.sanitized,
            count=row["count"],
            merged_with=tuple(one for one in row.alike or () if one != row.value),
        )
        for row in _cut(rows, "renamed_clients", omitted, total)
    )


def _old_callers(summary: DataFrame, omitted: dict[str, int]) -> tuple[OldCaller, ...]:
    """APIs and versions that Kafka 4 has removed, and those of affected APIs that don't know the new code."""
    callers = summary.where(F.col("entry") == Entry.CALLER.value)
    rows = callers.groupBy("api", "api_version").agg(F.sum("count").alias("count")).limit(100 * MAX_ROWS).collect()
    apis = {api.log_name: api for api in load_apis().values()}
    made = []
    for row in rows:
        api = apis.get(row.api)
        if api is None:
            continue
        new = identifier_version(api.key)
        removed = row.api_version < api.first_version
        if removed or (new is not None and row.api_version < new):
            made.append(OldCaller(api=row.api, version=row.api_version, count=row["count"], removed=removed))
    made.sort(key=lambda one: (not one.removed, -one.count, one.api, one.version))
    if len(made) > MAX_ROWS:
        omitted["old_callers"] = len(made) - MAX_ROWS
    return tuple(made[:MAX_ROWS])


def _could_not_judge(judged: DataFrame) -> dict[str, int]:
    unjudged = judged.where(F.col("verdict") == Verdict.COULD_NOT_JUDGE.value)
    rows = unjudged.groupBy("detail").agg(F.sum("count").alias("count")).orderBy("detail").limit(MAX_ROWS).collect()
    return {row.detail or "": row["count"] for row in rows}
