"""Buckets: however the input is cut, and into however many buckets its sightings go, the same is told."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.request_lines import change, consumer_heartbeat, heartbeat, line

from doorkeeper.audit import facts
from doorkeeper.audit.facts import Facts, Worst
from doorkeeper.audit.judging import Judge
from doorkeeper.audit.merging import merge, only_once
from doorkeeper.audit.packing import Packed, Part, bucket_of, from_batches, from_payload, pack, shown_as
from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.requests.reader import read_range
from doorkeeper.audit.schemas import FINDINGS, SIGHTINGS
from doorkeeper.audit.stages import SummedUp, audit_bucket, enforced_kinds, sum_up_rows
from doorkeeper.rules.rulebook import Rulebook

JUDGE = Judge(Rulebook.of_release("5.0"))
LINES = [
    heartbeat("g" * 250, client_id="alpha"),
    heartbeat("g" * 250, client_id="beta", time="2026-11-16 11:00:00,000"),
    line(client_id="my app"),
    line(client_id="my/app"),
    b"junk",
    heartbeat("gr\udcffup", client_id="alpha"),
    consumer_heartbeat("m" * 37),
    change(4, "1", ("num.io.threads", 0, "0")),
    change(2, "orders", ("retention.ms", 0, "x")),
    change(2, "orders", ("retention.ms", 0, "x"), forwarded=True, listener="CONTROLLER"),
    heartbeat("h" * 250, forwarded=True),
    line(1, 2, {"topics": [{"topic": "t" * 250}]}, name="FETCH"),
]
LOG = b"\n".join(LINES * 2) + b"\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "requests.log"
    path.write_bytes(LOG)
    return path


def sightings(log: Path, cuts: set[int]) -> list[list[pa.RecordBatch]]:
    """What each task reads."""
    edges = [0, *sorted(cuts), len(LOG)]
    ranges = [ByteRange(str(log), start, end) for start, end in pairwise(edges) if end > start]
    return [list(read_range(one, ReadOptions())) for one in ranges]


def audit(tasks: list[list[pa.RecordBatch]], buckets: int) -> list[Packed]:
    rows: dict[int, list[pa.RecordBatch]] = {}
    for task in tasks:
        for packed in from_batches(pack(task, buckets)):
            rows.setdefault(packed.bucket, []).append(from_payload(packed.payload, SIGHTINGS))
    enforced = enforced_kinds(JUDGE.rulebook)
    made = [one for bucket in rows for one in audit_bucket(bucket, rows[bucket], JUDGE, enforced, buckets)]
    return sorted(made, key=lambda one: one.bucket)


def table(rows: list[Packed], part: Part, schema: pa.Schema) -> list[str]:
    return sorted(str(row) for one in rows if one.part is part for row in from_payload(one.payload, schema).to_pylist())


def summed_up(rows: list[Packed]) -> SummedUp:
    summed = sum_up_rows(one for one in rows if one.part in (Part.TOTALS, Part.FACTS, Part.OWNERS))
    for name in ("values", "counts", "callers", "hours", "unjudged", "totals"):
        setattr(summed.facts, name, dict(sorted(getattr(summed.facts, name).items())))
    return SummedUp(summed.facts, dict(sorted(summed.owners.items())))


@pytest.fixture(scope="module")
def whole(log: Path) -> list[Packed]:
    """Read by one task, in one bucket."""
    return audit(sightings(log, set()), 1)


@settings(max_examples=30)
@given(st.sets(st.integers(1, len(LOG) - 1), max_size=6), st.integers(1, 5))
def test_the_same_is_told_however_the_input_is_cut(
    log: Path, whole: list[Packed], cuts: set[int], buckets: int
) -> None:
    parts = audit(sightings(log, cuts), buckets)
    assert table(parts, Part.FINDINGS, FINDINGS) == table(whole, Part.FINDINGS, FINDINGS)
    assert table(parts, Part.SIGHTINGS, SIGHTINGS) == table(whole, Part.SIGHTINGS, SIGHTINGS)
    assert summed_up(parts) == summed_up(whole)


def test_all_that_was_read_is_told_once(log: Path) -> None:
    told = summed_up(audit(sightings(log, {500, 2000, 3000}), 3))
    totals = {outcome: count for (_, outcome, _), count in told.facts.totals.items()}
    assert totals == {"read": 24, "judged": 22, "malformed": 2}
    assert [place.at for place in told.facts.places] == [5, 17]


def test_a_name_is_one_owner_whatever_buckets_its_values_are_in(log: Path) -> None:
    told = summed_up(audit(sightings(log, set()), 5))
    (alpha,) = (one for one in told.owners["clients"].rows if one.name == "alpha")
    assert (alpha.values, alpha.count, alpha.kinds) == (1, 2, ("group_id",))
    assert told.owners["group_id refused"].total == 3


@given(st.text(), st.integers(1, 99))
def test_names_that_an_exporter_would_merge_meet_in_one_bucket(name: str, buckets: int) -> None:
    assert bucket_of(name, buckets) == bucket_of(shown_as(name), buckets) < buckets


def test_a_forwarded_request_counts_only_where_its_broker_did_not_log_it(log: Path) -> None:
    (task,) = sightings(log, set())
    rows = only_once(merge(task).sightings)
    assert {row["value"] for row in rows if row["forwarded"]} == {"h" * 250}


def test_a_list_keeps_its_first_rows_and_counts_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MAX_ROWS", 3)
    numbers: Worst[int] = Worst()
    for more in ([5, 1], [4, 9, 2], [0]):
        numbers.add(more, int)
    assert (numbers.rows, numbers.total) == ([0, 1, 2], 6)
    numbers.add([3], int, total=7)
    assert (numbers.rows, numbers.total) == ([0, 1, 2], 13)


def test_facts_of_nothing_add_nothing() -> None:
    empty: Any = Facts()
    empty.add(Facts())
    assert empty == Facts()
