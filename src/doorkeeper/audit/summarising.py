"""From tables to the summary document: bounded questions asked of findings, judged sightings, callers and totals.

Only these answers come to the driver. Each has a fixed order and a fixed length at most, so the document is the same
for the same input, and does not grow with it.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from doorkeeper.audit.schemas import Entry, Outcome, Verdict
from doorkeeper.audit.sightings import MAX_PLACES
from doorkeeper.audit.stages import HOUR, ReadTotals, malformed_places
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
MAX_HOURS: Final = 50_000  # of kinds and hours with refusals; older ones are left out of the chart
ALL: Final = "all"
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


@dataclass(frozen=True, slots=True)
class Told:
    """What the questions are asked of."""

    totals: ReadTotals
    rows: DataFrame
    """Sightings as they were read, with the places of what is malformed."""
    sightings: DataFrame
    judged: DataFrame
    findings: DataFrame


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


def summarise(told: Told, frame: Frame, enforced: Sequence[str]) -> Summary:
    """The document.

    :param enforced: the kinds that the release refuses.
    """
    weighed = told.findings.withColumn("weight", weight_column(enforced))
    sources = _sources(told.totals, frame.reads)
    malformed = any(one.malformed for one in sources)
    omitted: dict[str, int] = {}
    # Small questions, which Spark may answer side by side: most of their time is planning. Those whose answer is
    # empty, as others tell, are not asked.
    with ThreadPoolExecutor(QUESTIONS_AT_ONCE) as pool:
        asked = pool.submit(_facets, weighed), pool.submit(_judged_facets, told.judged)
        old = pool.submit(_old_callers, told.sightings, omitted)
        places = pool.submit(_places, told.rows) if malformed else None
        facets, verdicts = asked[0].result(), asked[1].result()
        found, changes = bool(facets), any(kind == Kind.CONFIG_CHANGE for kind, *_ in verdicts)
        grouped = pool.submit(_grouped, weighed, omitted) if found else None
        renamed = pool.submit(_renamed, told.findings, omitted) if found else None
        configs = pool.submit(_configs, told.judged, omitted) if changes else None
    unjudged = _could_not_judge(verdicts)
    kinds = _kinds(facets)
    span = [row for row in facets if row.facet == ALL]
    return Summary(
        answer=answer_of(kinds, sum(one.judged for one in sources), sum(unjudged.values())),
        release=frame.release,
        generated=iso(frame.generated) or "",
        since=_iso_micros(frame.since),
        until=_iso_micros(frame.until),
        first_seen=span[0].first_seen if span else None,
        last_seen=span[0].last_seen if span else None,
        sources=sources,
        places=places.result() if places else (),
        kinds=kinds,
        findings=grouped.result() if grouped else (),
        principals=_owners(facets, "principals", omitted),
        clients=_owners(facets, "clients", omitted),
        software=_owners(facets, "software", omitted),
        timeline=_timeline(verdicts),
        configs=configs.result() if configs else (),
        renamed_clients=renamed.result() if renamed else (),
        old_callers=old.result(),
        could_not_judge=unjudged,
        omitted=dict(sorted(omitted.items())),
    )


def _facets(weighed: DataFrame) -> list[Row]:
    """The findings counted by kind, by principal, by client, by software, and all together; in one question."""

    def facet(name: str, value: Column) -> Column:
        return F.struct(F.lit(name).alias("facet"), F.coalesce(value, F.lit("")).alias("name"))

    refused = F.col("weight") == Weight.REFUSED.value
    software = F.concat_ws(" ", "software_name", "software_version")
    owners = {"principals": F.col("principal"), "clients": F.col("client_id"), "software": software}
    every = [
        facet(ALL, F.lit("")),
        facet("kinds", F.concat_ws(" ", "kind", "weight")),
        *(F.when(refused, facet(name, value)) for name, value in owners.items()),
    ]
    counted = (
        weighed.withColumn("facet", F.explode(F.array_compact(F.array(*every))))
        .groupBy("facet.facet", "facet.name")
        .agg(
            F.countDistinct("kind", "value", F.coalesce("value_hex", F.lit(""))).alias("values"),
            F.countDistinct("client_id").alias("clients"),
            F.sum("count").alias("count"),
            F.array_sort(F.collect_set("kind")).alias("kinds"),
            F.min("first_seen").alias("first_seen"),
            F.max("last_seen").alias("last_seen"),
        )
    )
    of_facet = Window.partitionBy("facet")
    ranked = (
        counted.withColumn("rank", F.row_number().over(of_facet.orderBy(F.col("count").desc(), "name")))
        .withColumn("total", F.count(F.lit(1)).over(of_facet))
        .withColumn("first_seen", _millis("first_seen"))
        .withColumn("last_seen", _millis("last_seen"))
    )
    bounded = ranked.where(F.col("rank") <= MAX_ROWS).collect()
    return sorted(bounded, key=lambda row: (row.facet, row.rank))


_Verdicts: TypeAlias = "list[tuple[str, str, str | None, str | None, int]]"
"""(kind, verdict, hour, why it could not be judged, count)."""


def _judged_facets(judged: DataFrame) -> _Verdicts:
    """What is refused by hour, and what could not be judged by reason; in one question."""
    refused, unjudged = (F.col("verdict") == one.value for one in (Verdict.REFUSED, Verdict.COULD_NOT_JUDGE))
    hour = F.when(refused, F.date_format(F.date_trunc(HOUR, "first_seen"), "yyyy-MM-dd'T'HH:mm:ss'Z'"))
    grouped = (
        judged.groupBy("kind", "verdict", hour.alias("hour"), F.when(unjudged, F.col("detail")).alias("reason"))
        .agg(F.sum("count").alias("count"))
        .orderBy(F.col("hour").desc_nulls_first(), "kind", "verdict", "reason")
        .limit(MAX_HOURS)
    )
    return [(row.kind, row.verdict, row.hour, row.reason, row["count"]) for row in grouped.collect()]


def _cut(rows: list[Row], name: str, omitted: dict[str, int], total: int | None = None) -> list[Row]:
    more = (len(rows) if total is None else total) - MAX_ROWS
    if more > 0:
        omitted[name] = more
    return rows[:MAX_ROWS]


def _kinds(facets: list[Row]) -> tuple[KindTotals, ...]:
    made = []
    for row in facets:
        if row.facet == "kinds":
            kind, _, weight = row.name.partition(" ")
            made.append(
                KindTotals(
                    kind=kind, weight=Weight(weight), values=row["values"], count=row["count"], clients=row.clients
                )
            )
    return tuple(sorted(made, key=lambda one: (one.weight is not Weight.REFUSED, -one.count, one.kind)))


def _sources(totals: ReadTotals, reads: tuple[Read, ...]) -> tuple[SourceTotals, ...]:
    return tuple(
        SourceTotals(
            kind=read.kind,
            location=read.location,
            files=read.files,
            bytes=read.bytes,
            unit="records" if read.kind in _BY_RECORD else "lines",
            read=sum(totals.of(read.kind, Outcome.READ).values()),
            judged=sum(totals.of(read.kind, Outcome.JUDGED).values()),
            malformed=sum(totals.of(read.kind, Outcome.MALFORMED).values()),
            ignored=dict(sorted(totals.of(read.kind, Outcome.IGNORED).items())),
        )
        for read in reads
    )


def _places(rows: DataFrame) -> tuple[Place, ...]:
    places = malformed_places(rows, MAX_PLACES).collect()
    return tuple(Place(source=row.source, file=row.file, at=row.line, reason=row.reason) for row in places)


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


def _owners(facets: list[Row], listed: str, omitted: dict[str, int]) -> tuple[Owner, ...]:
    rows = [row for row in facets if row.facet == listed]
    if rows and rows[0].total > MAX_ROWS:
        omitted[listed] = rows[0].total - MAX_ROWS
    return tuple(
        Owner(name=row.name, values=row["values"], count=row["count"], kinds=tuple(row.kinds), last_seen=row.last_seen)
        for row in rows
    )


def _timeline(verdicts: _Verdicts) -> Timeline:
    """Refusals by hour; by day where there are too many hours."""
    hours: dict[str, Counter[str]] = {}
    for kind, verdict, hour, _, count in verdicts:
        if verdict == Verdict.REFUSED and hour is not None:
            hours.setdefault(hour, Counter())[kind] += count
    seconds = 3600
    if len(hours) > MAX_ROWS:
        seconds = 86_400
        days: dict[str, Counter[str]] = {}
        for hour, counts in hours.items():
            days.setdefault(hour[:11] + "00:00:00Z", Counter()).update(counts)
        hours = days
    kept = sorted(hours)[-MAX_ROWS:]
    buckets = (Bucket(start=start, counts=dict(sorted(hours[start].items()))) for start in kept)
    return Timeline(bucket_seconds=seconds, buckets=tuple(buckets))


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


def _could_not_judge(verdicts: _Verdicts) -> dict[str, int]:
    reasons: Counter[str] = Counter()
    for _, verdict, _, reason, count in verdicts:
        if verdict == Verdict.COULD_NOT_JUDGE:
            reasons[reason or ""] += count
    return dict(sorted(reasons.items()))
