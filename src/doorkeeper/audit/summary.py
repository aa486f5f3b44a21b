"""The summary document: what an audit found, small enough for a page and stable enough for a machine.

`DIR/summary.json` is `Summary.to_json()`, and `DIR/report.html` is made of it alone. Everything in it is bounded: the
lists hold the worst rows only and say how many more there are, so the document does not grow with the input. Every
order is fixed, so the same findings give the same bytes. Texts are an attacker's strings: they stand here as they are
(JSON escapes them); who shows them has to escape them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

SUMMARY_VERSION: Final = 1
MAX_ROWS: Final = 1000  # of each list; the rest is counted in `omitted`


class Answer(StrEnum):
    """The verdict in one word."""

    SAFE = "safe"
    """Nothing that was seen would be refused."""
    REFUSED = "refused"
    """Somebody would be refused."""
    UNKNOWN = "unknown"
    """Nothing would be refused, but not everything could be judged, or nothing was read."""


class Weight(StrEnum):
    """What a finding means for who turns the limits on."""

    REFUSED = "refused"
    NOTICE = "notice"
    """Nobody is refused, but something changes: a metric's name, a quota that binds nobody."""
    UNJUDGED = "could_not_judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTotals:
    """What was read of one SOURCE; `read` = `judged` + `malformed` + all of `ignored`, in lines or in records."""

    kind: str
    """requests, segments, metadata, verdicts or topic."""
    location: str
    files: int = 0
    bytes: int = 0
    unit: str = "lines"
    read: int = 0
    judged: int = 0
    malformed: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict)
    """Reason to number."""

    @property
    def reconciles(self) -> bool:
        """Whether every line or record read went somewhere."""
        return self.read == self.judged + self.malformed + sum(self.ignored.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A malformed line, a torn segment: where it is and what is wrong with it."""

    source: str
    file: str
    at: int
    """The line's number, from 1, or the byte's, from 0, where the source has no lines."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTotals:
    """All findings of one kind."""

    kind: str
    weight: Weight
    values: int
    """Distinct identifiers or changes."""
    count: int
    """How often they were seen."""
    clients: int
    """Distinct client ids that sent them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedFinding:
    """The findings of one (rule, kind, value)."""

    rule: str
    kind: str
    value: str
    weight: Weight
    length: int | None = None
    limit: int | None = None
    unit: str | None = None
    apis: tuple[str, ...] = ()
    answers: tuple[int, ...] = ()
    """The error codes that its clients would be told."""
    clients: tuple[str, ...] = ()
    client_count: int = 0
    principals: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    first_seen: str | None = None
    last_seen: str | None = None
    count: int = 0
    sanitized: str | None = None
    suggestion: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Somebody who would be refused: a principal, a client id, or a client software."""

    name: str
    values: int
    count: int
    kinds: tuple[str, ...] = ()
    last_seen: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """How many refusals a stretch of time would have had."""

    start: str
    """ISO 8601, UTC."""
    counts: Mapping[str, int]
    """Kind to number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Refusals over time; empty buckets are left out."""

    bucket_seconds: int = 3600
    buckets: tuple[Bucket, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFinding:
    """A config change that was seen, or a config that is stored, and would be refused or could not be judged."""

    resource: str
    """As `broker 1`, `broker default`, `topic orders`."""
    key: str
    rule: str
    weight: Weight
    reason: str
    door: str
    stored: bool = False
    """Whether it is in force in the metadata log, not a change in a request log."""
    principal: str | None = None
    client_id: str | None = None
    count: int = 1
    last_seen: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamedClient:
    """A client id whose metrics and quota paths will have another name (KIP-190)."""

    client_id: str
    sanitized: str
    count: int
    merged_with: tuple[str, ...] = ()
    """Other client ids that an exporter which replaces special characters would show under the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldCaller:
    """Callers on an API version that Kafka 4 has removed, or that can't understand the new error code."""

    api: str
    version: int
    count: int
    removed: bool
    software: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One audit. Lists are sorted, worst first, and cut at `MAX_ROWS`."""

    version: int = SUMMARY_VERSION
    answer: Answer = Answer.UNKNOWN
    release: str = "5.0"
    generated: str
    """The run's own time, ISO 8601, UTC; `--now` fixes it."""
    since: str | None = None
    until: str | None = None
    first_seen: str | None = None
    last_seen: str | None = None
    sources: tuple[SourceTotals, ...] = ()
    places: tuple[Place, ...] = ()
    kinds: tuple[KindTotals, ...] = ()
    findings: tuple[GroupedFinding, ...] = ()
    principals: tuple[Owner, ...] = ()
    clients: tuple[Owner, ...] = ()
    software: tuple[Owner, ...] = ()
    timeline: Timeline = field(default_factory=Timeline)
    configs: tuple[ConfigFinding, ...] = ()
    renamed_clients: tuple[RenamedClient, ...] = ()
    old_callers: tuple[OldCaller, ...] = ()
    could_not_judge: Mapping[str, int] = field(default_factory=dict)
    """Reason to number: hidden values, unknown prior state, unknown static configs."""
    omitted: Mapping[str, int] = field(default_factory=dict)
    """List's name to the number of rows that did not fit."""

    def to_json(self) -> str:
        """The document, ASCII only, with its last newline."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Summary:
        """Read a document back; a newer release's additional fields are passed over.

        :raises ValueError: if it is no summary of this version.
        """
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("version") != SUMMARY_VERSION:
            raise ValueError(f"not a summary of version {SUMMARY_VERSION}")
        return _build(cls, document)


def answer_of(kinds: tuple[KindTotals, ...], judged: int, unjudged: int) -> Answer:
    """The verdict: a refusal speaks for itself; without one, all that was read must have been judged."""
    if any(one.weight is Weight.REFUSED and one.count for one in kinds):
        return Answer.REFUSED
    return Answer.SAFE if judged and not unjudged else Answer.UNKNOWN


_Made = TypeVar("_Made")


def _build(made: type[_Made], document: Mapping[str, Any]) -> _Made:
    hints = get_type_hints(made)
    names = [one.name for one in fields(made) if one.name in document]  # type: ignore[arg-type]
    return made(**{name: _value(hints[name], document[name]) for name in names})


def _value(hint: Any, value: Any) -> Any:
    """A JSON value as the type that a field declares."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        (inner,) = (one for one in get_args(hint) if one is not type(None))
        return None if value is None else _value(inner, value)
    if origin is tuple:
        return tuple(_value(get_args(hint)[0], one) for one in value)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return _build(hint, value)
    return value
