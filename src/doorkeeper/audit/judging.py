"""The judged stage: the rulebook asked about every sighting, as a function of Arrow batches that any engine can run.

Nothing here decides: limits are rows of `rules.names.LIMITS`, config changes go to `rules.config_change`. Lengths are
those of the sighting, since a source may cut a value and say how long it was. Of topic names only the length is
judged: Kafka refuses the rest today, with or without limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import pyarrow as pa

from doorkeeper.audit.config_changes import NOTHING_KNOWN, Change, KnownConfigs, judge_change
from doorkeeper.audit.schemas import JUDGED, Verdict
from doorkeeper.audit.suggestions import generator_of, shorten
from doorkeeper.rules.catalogue import CATALOGUE
from doorkeeper.rules.client_id import QuotaType, desanitize, is_plain, quota_metric_name, sanitize
from doorkeeper.rules.fields import identifier_version, load_apis
from doorkeeper.rules.names import LIMITS, Limit
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind, RuleId

REPLACEMENT: Final = "\ufffd"


@dataclass(frozen=True, slots=True)
class Judge:
    """What judging depends on. Picklable."""

    rulebook: Rulebook
    known: KnownConfigs = NOTHING_KNOWN


class Judgement(NamedTuple):
    """The columns that judging adds, or replaces."""

    rule: str | None
    verdict: Verdict
    limit: int | None = None
    answer_new: int | None = None
    answer_old: int | None = None
    door: str | None = None
    """None: the sighting's own."""
    sanitized: str | None = None
    suggestion: str | None = None
    detail: str | None = None


def judge_batch(batch: pa.RecordBatch, judge: Judge) -> pa.RecordBatch:
    """The rows of JUDGED for rows of SIGHTINGS."""
    return pa.RecordBatch.from_pylist(judge_rows(batch.to_pylist(), judge), schema=JUDGED)


def judge_rows(sightings: Iterable[dict[str, Any]], judge: Judge) -> list[dict[str, Any]]:
    """The rows of JUDGED; a sighting that breaks two rules has two, a lawful one none."""
    rows = []
    for row in sightings:
        for judgement in judge_sighting(row, judge):
            judged = row | judgement._asdict() | {"door": judgement.door or row["door"]}
            rows.append({name: judged[name] for name in JUDGED.names})
    return rows


def judge_sighting(row: dict[str, Any], judge: Judge) -> Iterator[Judgement]:
    """Everything that the rulebook says of one sighting."""
    if row["outcome"] == Verdict.COULD_NOT_JUDGE:
        yield Judgement(row["rule"], Verdict.COULD_NOT_JUDGE, detail=row["detail"])
        return
    if row["rule"] is not None:
        yield _prejudged(row, judge.rulebook)
        return
    kind = Kind(row["kind"])
    if kind is Kind.CONFIG_CHANGE:
        yield from _change(row["detail"], judge.known)
        return
    if not row["value_utf8_valid"]:
        shown = "the bytes of value_hex are no UTF-8; value has U+FFFD for what could not be read"
        yield Judgement(RuleId.IDENTIFIER_NOT_UTF8.value, Verdict.NOTICE, detail=shown)
    limit = limit_of(kind, judge.rulebook)
    if limit is not None and row["length"] > limit:
        yield _too_long(row, LIMITS[kind], limit, judge.rulebook)
    if kind is Kind.CLIENT_ID and not is_plain(row["value"]):
        yield _not_plain(row["value"])


def limit_of(kind: Kind, rulebook: Rulebook) -> int | None:
    """The limit of a kind in UTF-16 code units; None where the kind alone does not say it."""
    if kind is Kind.OFFSET_METADATA:
        return rulebook.offset_metadata_max
    return LIMITS[kind].limit if kind in LIMITS else None


def _too_long(row: dict[str, Any], limit_row: Limit, limit: int, rulebook: Rulebook) -> Judgement:
    kind, value = limit_row.kind, row["value"]
    knows = row["api"] is None or has_new_version(row["api"])
    return Judgement(
        rule=limit_row.rule.value,
        verdict=Verdict.REFUSED if rulebook.enforces(kind) else Verdict.NOTICE,
        limit=limit,
        answer_new=int(limit_row.code if knows else limit_row.code_old),
        answer_old=int(limit_row.code_old),
        sanitized=_sanitized(kind, value),
        suggestion=shorten(value, limit, kind),
        detail=_words(kind, value, row["detail"]),
    )


def _words(kind: Kind, value: str, detail: str | None) -> str | None:
    if detail:
        return detail
    looks = generator_of(value)
    return None if looks is None or kind is Kind.OFFSET_METADATA else f"looks like {looks}"


def _sanitized(kind: Kind, value: str) -> str | None:
    return sanitize(value) if kind is Kind.CLIENT_ID and not is_plain(value) else None


def _not_plain(value: str) -> Judgement:
    sanitized = sanitize(value)
    detail = f"its metrics are {quota_metric_name(QuotaType.REQUEST, client_id=value)} and the like"
    if REPLACEMENT in value:
        detail += "; U+FFFD in a log stands for bytes that were no UTF-8"
    return Judgement(RuleId.CLIENT_ID_NOT_PLAIN.value, Verdict.NOTICE, sanitized=sanitized, detail=detail)


def _change(detail: str, known: KnownConfigs) -> Iterator[Judgement]:
    judged = judge_change(Change.from_detail(detail), known)
    if judged.verdict is Verdict.LAWFUL:
        return
    yield Judgement(
        judged.rule, judged.verdict, None, judged.answer, judged.answer, door=judged.door, detail=judged.reason
    )


def _prejudged(row: dict[str, Any], rulebook: Rulebook) -> Judgement:
    """The source's own word; what its rule says of refusing holds all the same."""
    rule, kind, value = row["rule"], Kind(row["kind"]), row["value"]
    answers = {"limit": row["limit"], "answer_new": row["answer_new"], "answer_old": row["answer_old"]}
    if rule == RuleId.API_VERSION_REMOVED:
        return Judgement(rule, Verdict.NOTICE, detail=_removed(row["api"]))
    if rule == RuleId.QUOTA_ENTITY_ENCODED_TWICE:
        return Judgement(rule, Verdict.NOTICE, sanitized=sanitize(value), suggestion=desanitize(value))
    if not CATALOGUE[RuleId(rule)].codes:
        return Judgement(rule, Verdict.NOTICE, **answers, sanitized=_sanitized(kind, value), detail=row["detail"])
    refused = kind is Kind.CONFIG_CHANGE or rulebook.enforces(kind)
    shortened = row["limit"] is not None and row["length"] > row["limit"]
    return Judgement(
        rule,
        Verdict.REFUSED if refused else Verdict.NOTICE,
        **answers,
        sanitized=_sanitized(kind, value),
        suggestion=shorten(value, row["limit"], kind) if shortened else None,
        detail=_words(kind, value, row["detail"]) if kind is not Kind.CONFIG_CHANGE else row["detail"],
    )


@cache
def _apis_by_log_name() -> dict[str, int]:
    return {api.log_name: api.key for api in load_apis().values()}


@cache
def has_new_version(api: str) -> bool:
    """Whether some version of the API knows the new error code."""
    key = _apis_by_log_name().get(api)
    return key is not None and identifier_version(key) is not None


def _removed(api: str) -> str:
    key = _apis_by_log_name().get(api)
    return "" if key is None else f"Kafka 4 serves {api} from version {load_apis()[key].first_version} on"
