"""The judged stage says what the rulebook says: on all vectors, on generated names, at every limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.audit.judging import Judge, judge_batch, limit_of
from doorkeeper.audit.schemas import JUDGED, SIGHTINGS, SourceKind
from doorkeeper.audit.sightings import Sighting, Tally, is_utf8
from doorkeeper.rules.client_id import is_plain, sanitize
from doorkeeper.rules.names import LIMITS
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind, RuleId

VECTORS = Path(__file__).parent.parent / "vectors"
FIVE, FOUR = (Judge(Rulebook.of_release(release)) for release in ("5.0", "4.x"))
JUDGED_KINDS = sorted(LIMITS)
with (VECTORS / "sanitizer-names.jsonl").open(encoding="utf-8") as lines:
    NAMES = sorted({text for line in lines if is_utf8(text := json.loads(line).get("text", ""))})
TEXTS = st.one_of(
    st.text(max_size=40),
    st.builds(lambda text, count: text * count, st.text(min_size=1, max_size=4), st.integers(1, 300)),
)


def judged(*sightings: Sighting, judge: Judge = FIVE) -> list[dict[str, Any]]:
    tally = Tally(SourceKind.REQUESTS, "file")
    for sighting in sightings:
        tally.add(sighting, 1)
    rows: list[dict[str, Any]] = []
    for batch in tally.batches():
        result = judge_batch(batch, judge)
        assert result.schema == JUDGED
        rows.extend(result.to_pylist())
    return rows


def seen(kind: Kind, value: str, **fields: Any) -> Sighting:
    return Sighting(kind, value, "field", **fields)


def assert_equals_the_rulebook(kind: Kind, values: list[str]) -> None:
    found = {row["value"]: row for row in judged(*(seen(kind, one) for one in values)) if row["limit"] is not None}
    expected = {}
    for value in values:
        violation = FIVE.rulebook.check(kind, value)
        if violation is not None and violation.rule is LIMITS[kind].rule:
            figures = tuple(violation.parameters[name] for name in ("length", "limit", "unit"))
            expected[value] = (violation.rule, *figures, violation.code, violation.code_old, "refused")
    columns = ("rule", "length", "limit", "unit", "answer_new", "answer_old", "verdict")
    assert {value: tuple(row[name] for name in columns) for value, row in found.items()} == expected


@pytest.mark.parametrize("kind", JUDGED_KINDS)
def test_equals_the_rulebook_on_all_vectors_and_on_both_sides_of_the_limit(kind: Kind) -> None:
    limit = LIMITS[kind].limit
    edges = ["a" * limit, "a" * (limit + 1), "😀" * (limit // 2), "😀" * (limit // 2 + 1)]
    assert_equals_the_rulebook(kind, [*NAMES, *edges])


@given(st.sampled_from(JUDGED_KINDS), st.lists(TEXTS, max_size=20))
def test_equals_the_rulebook_on_generated_names(kind: Kind, values: list[str]) -> None:
    assert_equals_the_rulebook(kind, values)


def test_a_client_id_that_is_not_plain_is_told_with_its_sanitised_form() -> None:
    rows = [row for row in judged(*(seen(Kind.CLIENT_ID, one) for one in NAMES)) if row["limit"] is None]
    assert {row["value"]: row["sanitized"] for row in rows} == {
        one: sanitize(one) for one in NAMES if not is_plain(one)
    }
    assert {(row["rule"], row["verdict"]) for row in rows} == {(RuleId.CLIENT_ID_NOT_PLAIN, "notice")}


def test_release_4_tells_governed_kinds_and_refuses_the_others() -> None:
    rows = judged(seen(Kind.GROUP_ID, "g" * 250), seen(Kind.TOPIC_NAME, "t" * 250), judge=FOUR)
    assert {row["kind"]: row["verdict"] for row in rows} == {"group_id": "notice", "topic_name": "refused"}


@pytest.mark.parametrize(
    ("api", "new"), [("JOIN_GROUP", 134), ("API_VERSIONS", 42), (None, 134), ("NOT_KNOWN_HERE", 42)]
)
def test_the_new_code_is_told_only_where_a_version_can_carry_it(api: str | None, new: int) -> None:
    (row,) = judged(seen(Kind.CLIENT_ID, "c" * 250, api=api, api_version=1))
    assert (row["answer_new"], row["answer_old"]) == (new, 42)


def test_bad_utf8_is_told_beside_a_breach() -> None:
    rows = judged(seen(Kind.GROUP_ID, "g" * 250 + "\udcff"))
    assert sorted(row["rule"] for row in rows) == ["GROUP_ID_TOO_LONG", "IDENTIFIER_NOT_UTF8"]
    assert {row["value_hex"] for row in rows} == {(b"g" * 250 + b"\xff").hex()}


def test_what_a_source_has_judged_stays_judged() -> None:
    rows = judged(
        seen(Kind.GROUP_ID, "short…", rule="GROUP_ID_TOO_LONG", limit=249, answer_new=134, answer_old=42, length=300),
        seen(Kind.CONFIG_CHANGE, "broker 1: k", rule="CONFIG_VALUE_INVALID", answer_new=42, answer_old=42),
        seen(Kind.CONFIG_CHANGE, "broker 2: k", could_not_judge=True, detail="why"),
        seen(Kind.QUOTA_ENTITY, "a%20b", rule="QUOTA_ENTITY_ENCODED_TWICE"),
        seen(Kind.CLIENT_ID, "c", rule="API_VERSION_REMOVED", api="FETCH"),
    )
    assert [(row["verdict"], row["rule"], row["length"]) for row in rows[:2]] == [
        ("refused", "GROUP_ID_TOO_LONG", 300),
        ("refused", "CONFIG_VALUE_INVALID", 11),
    ]
    assert (rows[2]["verdict"], rows[2]["detail"]) == ("could_not_judge", "why")
    assert (rows[3]["verdict"], rows[3]["suggestion"]) == ("notice", "a b")
    assert rows[4]["detail"] == "Kafka 4 serves FETCH from version 4 on"


def test_offset_metadata_is_judged_by_the_rulebooks_limit() -> None:
    judge = Judge(Rulebook(limits_enabled=True, offset_metadata_max=10))
    assert limit_of(Kind.OFFSET_METADATA, judge.rulebook) == 10
    assert [row["limit"] for row in judged(seen(Kind.OFFSET_METADATA, "m" * 11), judge=judge)] == [10]


def test_an_empty_batch_gives_an_empty_one() -> None:
    assert judge_batch(pa.RecordBatch.from_pylist([], schema=SIGHTINGS), FIVE).num_rows == 0
