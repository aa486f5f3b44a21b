"""From what buckets know to the summary document; every order is fixed, so it is the same for the same input."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from doorkeeper.audit.facts import Facts, Worst, first_new_versions, iso
from doorkeeper.audit.merging import HOUR
from doorkeeper.audit.owners import CLIENTS, PRINCIPALS, SOFTWARE, clients_of
from doorkeeper.audit.schemas import Outcome
from doorkeeper.audit.summary import (
    MAX_ROWS,
    Bucket,
    KindTotals,
    OldCaller,
    SourceTotals,
    Summary,
    Timeline,
    Weight,
    answer_of,
)
from doorkeeper.rules.fields import load_apis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.audit.stages import SummedUp
    from doorkeeper.audit.summary import Owner

_BY_RECORD: Final = frozenset(("segments", "metadata", "topic"))
_MICROSECONDS: Final = 1_000_000
_HOURS_A_DAY: Final = 24


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


def summarise(told: SummedUp, frame: Frame) -> Summary:
    """The document."""
    facts = told.facts
    sources = tuple(_source(facts, read) for read in frame.reads)
    kinds = _kinds(facts, told.owners)
    old = _old_callers(facts.callers)
    lists = {
        "findings": facts.findings.total,
        "configs": facts.configs.total,
        "renamed_clients": facts.renamed.total,
        "old_callers": len(old),
        **{facet: _owners(told, facet).total for facet in (PRINCIPALS, CLIENTS, SOFTWARE)},
    }
    return Summary(
        answer=answer_of(kinds, sum(one.judged for one in sources), sum(facts.unjudged.values())),
        release=frame.release,
        generated=_text(frame.generated),
        since=iso(frame.since),
        until=iso(frame.until),
        first_seen=iso(facts.first_seen),
        last_seen=iso(facts.last_seen),
        sources=sources,
        places=tuple(facts.places),
        kinds=kinds,
        findings=tuple(facts.findings.rows),
        principals=tuple(_owners(told, PRINCIPALS).rows),
        clients=tuple(_owners(told, CLIENTS).rows),
        software=tuple(_owners(told, SOFTWARE).rows),
        timeline=_timeline(facts.hours),
        configs=tuple(facts.configs.rows),
        renamed_clients=tuple(facts.renamed.rows),
        old_callers=tuple(old[:MAX_ROWS]),
        could_not_judge=dict(sorted(facts.unjudged.items())),
        omitted={name: total - MAX_ROWS for name, total in sorted(lists.items()) if total > MAX_ROWS},
    )


def _text(moment: datetime) -> str:
    aware = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _owners(told: SummedUp, facet: str) -> Worst[Owner]:
    return told.owners.get(facet) or Worst()


def _kinds(facts: Facts, owners: Mapping[str, Worst[Owner]]) -> tuple[KindTotals, ...]:
    made = [
        KindTotals(
            kind=kind,
            weight=weight,
            values=facts.values[kind, weight],
            count=count,
            clients=clients.total if (clients := owners.get(clients_of(kind, weight))) else 0,
        )
        for (kind, weight), count in facts.counts.items()
    ]
    return tuple(sorted(made, key=lambda one: (one.weight is not Weight.REFUSED, -one.count, one.kind)))


def _source(facts: Facts, read: Read) -> SourceTotals:
    counts: dict[str, dict[str, int]] = {}
    for (source, outcome, reason), count in facts.totals.items():
        if source == read.kind:
            counts.setdefault(outcome, {})[reason] = count
    sums = {outcome: sum(by_reason.values()) for outcome, by_reason in counts.items()}
    return SourceTotals(
        kind=read.kind,
        location=read.location,
        files=read.files,
        bytes=read.bytes,
        unit="records" if read.kind in _BY_RECORD else "lines",
        read=sums.get(Outcome.READ, 0),
        judged=sums.get(Outcome.JUDGED, 0),
        malformed=sums.get(Outcome.MALFORMED, 0),
        ignored=dict(sorted(counts.get(Outcome.IGNORED, {}).items())),
    )


def _timeline(hours: Mapping[tuple[int, str], int]) -> Timeline:
    """Refusals by hour; by day where there are too many hours."""
    by_day = len({hour for hour, _ in hours}) > MAX_ROWS
    length = _HOURS_A_DAY if by_day else 1
    buckets: dict[int, Counter[str]] = {}
    for (hour, kind), count in hours.items():
        buckets.setdefault(hour // length, Counter())[kind] += count
    return Timeline(
        bucket_seconds=length * HOUR // _MICROSECONDS,
        buckets=tuple(
            Bucket(start=_start(number * length), counts=dict(sorted(buckets[number].items())))
            for number in sorted(buckets)[-MAX_ROWS:]
        ),
    )


def _start(hour: int) -> str:
    return datetime.fromtimestamp(hour * HOUR // _MICROSECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _old_callers(callers: Mapping[tuple[str, int], int]) -> list[OldCaller]:
    """APIs and versions that Kafka 4 has removed, and those of affected APIs that don't know the new code."""
    first = {api.log_name: api.first_version for api in load_apis().values()}
    made = []
    for (api, version), count in callers.items():
        new = first_new_versions()[api]
        removed = version < first[api]
        if removed or (new is not None and version < new):
            made.append(OldCaller(api=api, version=version, count=count, removed=removed))
    return sorted(made, key=lambda one: (not one.removed, -one.count, one.api, one.version))
