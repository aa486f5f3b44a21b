"""The summary document: read back as it was written, byte for byte the same, and honest in one word."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.audit.summary import (
    Answer,
    Bucket,
    ConfigFinding,
    GroupedFinding,
    KindTotals,
    SourceTotals,
    Summary,
    Timeline,
    Weight,
    answer_of,
)

NOW = "2026-11-16T00:00:00+00:00"
REFUSED = KindTotals(kind="group_id", weight=Weight.REFUSED, values=1, count=3, clients=1)
NOTICE = KindTotals(kind="client_id", weight=Weight.NOTICE, values=1, count=3, clients=1)
names = st.text(st.characters())


@given(names, names, st.none() | names)
def test_reads_back_what_it_wrote(value: str, client: str, detail: str | None) -> None:
    summary = Summary(
        generated=NOW,
        answer=Answer.REFUSED,
        sources=(SourceTotals(kind="requests", location=client, read=3, judged=1, ignored={"no identifier": 2}),),
        findings=(
            GroupedFinding(
                rule="R", kind="group_id", value=value, weight=Weight.REFUSED, clients=(client,), detail=detail
            ),
        ),
        timeline=Timeline(buckets=(Bucket(start=NOW, counts={"group_id": 3}),)),
        configs=(
            ConfigFinding(resource="broker 1", key=value, rule="R", weight=Weight.UNJUDGED, reason="", door="both"),
        ),
        could_not_judge={"hidden": 1},
    )
    text = summary.to_json()
    assert text.isascii()
    assert Summary.from_json(text) == summary
    assert Summary.from_json(text).to_json() == text


def test_passes_over_fields_that_a_newer_release_added() -> None:
    document = json.loads(Summary(generated=NOW).to_json()) | {"colour": "red"}
    assert Summary.from_json(json.dumps(document)) == Summary(generated=NOW)


@pytest.mark.parametrize("text", ["[]", "{}", '{"version": 2}', "{"])
def test_refuses_what_is_no_summary(text: str) -> None:
    with pytest.raises(ValueError):
        Summary.from_json(text)


def test_says_refused_as_soon_as_somebody_would_be() -> None:
    assert answer_of((NOTICE, REFUSED), judged=10, unjudged=2) is Answer.REFUSED


def test_says_safe_only_when_all_was_judged() -> None:
    assert answer_of((NOTICE,), judged=10, unjudged=0) is Answer.SAFE
    assert answer_of((NOTICE,), judged=10, unjudged=1) is Answer.UNKNOWN
    assert answer_of((), judged=0, unjudged=0) is Answer.UNKNOWN


@pytest.mark.parametrize(("read", "expected"), [(6, True), (5, False), (7, False)])
def test_reconciles_when_every_line_went_somewhere(read: int, expected: bool) -> None:
    totals = SourceTotals(kind="requests", location="x", read=read, judged=1, malformed=2, ignored={"a": 1, "b": 2})
    assert totals.reconciles is expected
