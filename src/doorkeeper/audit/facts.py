"""What the summary says, as far as one bucket knows it, and how what many buckets know is added up.

Everything here is bounded: lists keep the worst rows and count the others. Rows are whole within a bucket, so that
cutting early loses nothing. Names of owners are in many buckets; they are counted apart (`owners`).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, Generic, TypeVar

import msgspec
import pyarrow as pa

from doorkeeper.audit.merging import HOUR, Row, greatest, least, sum_counts
from doorkeeper.audit.packing import shown_as
from doorkeeper.audit.schemas import Outcome, SourceKind, Verdict
from doorkeeper.audit.sightings import MAX_PLACES
from doorkeeper.audit.summary import MAX_ROWS, ConfigFinding, GroupedFinding, Place, RenamedClient, Weight
from doorkeeper.rules.fields import identifier_version, load_apis
from doorkeeper.rules.verdict import Kind, RuleId

MOST_NAMES: Final = 20  # clients, principals of one finding
MAX_HOURS: Final = 50_000  # of kinds and hours with refusals; older ones are left out of the chart
MAX_REASONS: Final = 1000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WEIGHTS: Final = (Weight.REFUSED, Weight.NOTICE, Weight.UNJUDGED)
_Listed = TypeVar("_Listed")


def iso(micros: int | None) -> str | None:
    """ISO 8601, UTC, with milliseconds."""
    if micros is None:
        return None
    moment = _EPOCH + timedelta(microseconds=micros)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Worst(msgspec.Struct, Generic[_Listed]):
    """The first rows of a list, and how many it has in all."""

    rows: list[_Listed] = []
    total: int = 0

    def add(self, rows: Iterable[_Listed], order: Callable[[_Listed], Any], total: int | None = None) -> None:
        """Take more rows in; `total` says how many they stand for."""
        more = list(rows)
        self.total += len(more) if total is None else total
        self.rows = heapq.nsmallest(MAX_ROWS, [*self.rows, *more], key=order)


def _finding_order(one: GroupedFinding) -> tuple[Any, ...]:
    return _WEIGHTS.index(one.weight), -one.count, one.kind, one.value, one.rule


def _config_order(one: ConfigFinding) -> tuple[Any, ...]:
    names = (one.principal, one.client_id, one.reason, one.last_seen)
    texts = (f"{one.resource}: {one.key}", one.rule, one.door, not one.stored)
    return _WEIGHTS.index(one.weight), -one.count, *texts, *((name is not None, name or "") for name in names)


def _renamed_order(one: RenamedClient) -> tuple[Any, ...]:
    return -one.count, one.client_id, one.sanitized


class Facts(msgspec.Struct):
    """The answers."""

    first_seen: int | None = None
    last_seen: int | None = None
    values: dict[tuple[str, Weight], int] = {}
    """Distinct values by kind and weight; a value is in one bucket only."""
    counts: dict[tuple[str, Weight], int] = {}
    findings: Worst[GroupedFinding] = msgspec.field(default_factory=Worst)
    configs: Worst[ConfigFinding] = msgspec.field(default_factory=Worst)
    renamed: Worst[RenamedClient] = msgspec.field(default_factory=Worst)
    callers: dict[tuple[str, int], int] = {}
    """By API and version, of those that are known."""
    hours: dict[tuple[int, str], int] = {}
    """Refusals by hour and kind."""
    unjudged: dict[str, int] = {}
    totals: dict[tuple[str, str, str], int] = {}
    """By source, outcome and reason."""
    places: list[Place] = []

    def add(self, other: Facts) -> None:
        """Take in what another bucket knows."""
        self.first_seen = least(self.first_seen, other.first_seen)
        self.last_seen = greatest(self.last_seen, other.last_seen)
        self.findings.add(other.findings.rows, _finding_order, other.findings.total)
        self.configs.add(other.configs.rows, _config_order, other.configs.total)
        self.renamed.add(other.renamed.rows, _renamed_order, other.renamed.total)
        for name in ("values", "counts", "callers", "totals"):
            setattr(self, name, _sum(getattr(self, name), getattr(other, name)))
        hours = _sum(self.hours, other.hours)
        self.hours = {hour: hours[hour] for hour in heapq.nlargest(MAX_HOURS, hours)}
        reasons = _sum(self.unjudged, other.unjudged)
        self.unjudged = {reason: reasons[reason] for reason in heapq.nsmallest(MAX_REASONS, reasons)}
        self.places = first_places([*self.places, *other.places])


def _sum(one: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:
    return Counter(one) + Counter(other) if one and other else one or other


def first_places(places: Iterable[Place]) -> list[Place]:
    """The first places of what is malformed."""
    return heapq.nsmallest(MAX_PLACES, places, key=lambda one: (one.source, one.file, one.at, one.reason))


def facts_of_totals(totals: Iterable[Row]) -> Facts:
    """What became of all that was read."""
    counts: Counter[tuple[str, str, str]] = Counter()
    places = []
    for row in totals:
        counts[row["source"], row["outcome"], row["reason"] or ""] += row["count"]
        if row["outcome"] == Outcome.MALFORMED:
            places.append(Place(source=row["source"], file=row["file"], at=row["line"], reason=row["reason"]))
    return Facts(totals=dict(counts), places=first_places(places))


def weight_of(finding: Row, enforced: frozenset[str]) -> Weight:
    """Refused or a notice, by the answer and by the kinds that the release enforces."""
    refused = finding["answer_new"] is not None and finding["kind"] in enforced
    return Weight.REFUSED if refused else Weight.NOTICE


def facts_of(judged: list[Row], findings: list[Row], callers: pa.Table, enforced: frozenset[str]) -> Facts:
    """What one bucket knows."""
    facts = Facts()
    groups: dict[tuple[str, str, str, Weight], list[Row]] = {}
    values: dict[tuple[str, Weight], set[tuple[str, str]]] = {}
    for row in findings:
        weight = weight_of(row, enforced)
        groups.setdefault((row["rule"], row["kind"], row["value"], weight), []).append(row)
        kind = row["kind"], weight
        values.setdefault(kind, set()).add((row["value"], row["value_hex"] or ""))
        facts.counts[kind] = facts.counts.get(kind, 0) + row["count"]
        facts.first_seen = least(facts.first_seen, row["first_seen"])
        facts.last_seen = greatest(facts.last_seen, row["last_seen"])
    facts.values = {kind: len(distinct) for kind, distinct in values.items()}
    facts.findings.add((_grouped(*key, rows) for key, rows in groups.items()), _finding_order)
    facts.renamed.add(_renamed(findings), _renamed_order)
    _add_judged(facts, judged)
    facts.callers = _calls(callers)
    return facts


def _add_judged(facts: Facts, judged: Iterable[Row]) -> None:
    changes: dict[tuple[Any, ...], list[Row]] = {}
    for row in judged:
        if row["verdict"] == Verdict.REFUSED and row["first_seen"] is not None:
            hour = row["first_seen"] // HOUR, row["kind"]
            facts.hours[hour] = facts.hours.get(hour, 0) + row["count"]
        elif row["verdict"] == Verdict.COULD_NOT_JUDGE:
            reason = row["detail"] or ""
            facts.unjudged[reason] = facts.unjudged.get(reason, 0) + row["count"]
        if row["kind"] == Kind.CONFIG_CHANGE:
            names = ("value", "rule", "verdict", "detail", "door", "source", "principal", "client_id")
            changes.setdefault(tuple(row[name] for name in names), []).append(row)
    facts.configs.add(map(_config, changes.values()), _config_order)


def _calls(callers: pa.Table) -> dict[tuple[str, int], int]:
    asked = sum_counts(callers, "api", "api_version").to_pylist()
    return {(row["api"], row["api_version"]): row["count"] for row in asked if row["api"] in first_new_versions()}


@cache
def first_new_versions() -> dict[str, int | None]:
    """The version of each API that knows the new error code, by the log's name; None where there is none."""
    return {api.log_name: identifier_version(api.key) for api in load_apis().values()}


def _answers(row: Row) -> list[int | None]:
    """The codes that the clients of a finding are told, each at its version."""
    first_new = first_new_versions().get(row["api"])
    lowest, highest = row["api_version_min"], row["api_version_max"]
    if first_new is None:
        return [row["answer_old"]]
    old = row["answer_old"] if lowest is not None and lowest < first_new else None
    new = row["answer_new"] if highest is not None and highest >= first_new else None
    return [old, new]


def _distinct(values: Iterable[Any]) -> list[Any]:
    return sorted({value for value in values if value is not None})


def _least(rows: Iterable[Row], name: str) -> Any:
    return min((row[name] for row in rows if row[name] is not None), default=None)


def _greatest(rows: Iterable[Row], name: str) -> Any:
    return max((row[name] for row in rows if row[name] is not None), default=None)


def _grouped(rule: str, kind: str, value: str, weight: Weight, rows: list[Row]) -> GroupedFinding:
    clients = _distinct(row["client_id"] for row in rows)
    return GroupedFinding(
        rule=rule,
        kind=kind,
        value=value,
        weight=weight,
        length=_greatest(rows, "length"),
        limit=_greatest(rows, "limit"),
        unit=_greatest(rows, "unit"),
        apis=tuple(_distinct(row["api"] for row in rows)),
        answers=tuple(_distinct(code for row in rows for code in _answers(row))),
        clients=tuple(clients[:MOST_NAMES]),
        client_count=len(clients),
        principals=tuple(_distinct(row["principal"] for row in rows)[:MOST_NAMES]),
        sources=tuple(_distinct(row["source"] for row in rows)),
        first_seen=iso(_least(rows, "first_seen")),
        last_seen=iso(_greatest(rows, "last_seen")),
        count=sum(row["count"] for row in rows),
        sanitized=_least(rows, "sanitized"),
        suggestion=_least(rows, "suggestion"),
        detail=_least(rows, "detail"),
    )


def _config(rows: list[Row]) -> ConfigFinding:
    first = rows[0]
    resource, _, key = first["value"].partition(": ")
    return ConfigFinding(
        resource=resource,
        key=key,
        rule=first["rule"] or "",
        weight=Weight(first["verdict"]),
        reason=first["detail"] or "",
        door=first["door"],
        stored=first["source"] == SourceKind.METADATA,
        principal=first["principal"],
        client_id=first["client_id"],
        count=sum(row["count"] for row in rows),
        last_seen=iso(_greatest(rows, "last_seen")),
    )


def _renamed(findings: Iterable[Row]) -> list[RenamedClient]:
    """Client ids that are not plain, with those that a lossy exporter would merge them with."""
    alike: dict[str, set[str]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for row in findings:
        if row["rule"] == RuleId.CLIENT_ID_LOOKS_ALIKE:
            alike.setdefault(row["sanitized"], set()).add(row["value"])
        elif row["rule"] == RuleId.CLIENT_ID_NOT_PLAIN:
            counts[row["value"], row["sanitized"]] += row["count"]
    return [
        RenamedClient(
            client_id=value,
            sanitized=sanitized,
            count=count,
            merged_with=tuple(one for one in sorted(alike.get(shown_as(value), ()))[:MOST_NAMES] if one != value),
        )
        for (value, sanitized), count in counts.items()
    ]
