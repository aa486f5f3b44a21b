"""The kernel: what it skips holds nothing, what it counts adds up, and ranges change neither."""

from __future__ import annotations

import gzip
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.request_lines import change, consumer_heartbeat, document, heartbeat, line, to_json

from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.requests.lines import OUTSIDE, TORN, parse_time
from doorkeeper.audit.requests.reader import BLOCK_BYTES, LINE_TOO_LONG, TORN_FILE, read_range, recognise

FAST = ReadOptions()
STRICT = ReadOptions(strict=True)
Rows = list[dict[str, Any]]


def rows_of(path: Path, options: ReadOptions = FAST, cuts: tuple[int, ...] = ()) -> Rows:
    """The rows of a file that is read in the ranges between the cuts."""
    size = path.stat().st_size
    edges = [0, *sorted(cut for cut in set(cuts) if 0 < cut < size), size]
    ranges = [ByteRange(str(path), start, end) for start, end in pairwise(edges)]
    batches = [batch for one in ranges for batch in read_range(one, options)]
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def log(folder: Path, *lines: bytes, end: bytes = b"\n") -> Path:
    path = folder / "requests.log"
    path.write_bytes(b"\n".join(lines) + end)
    return path


def totals(rows: Rows) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if row["entry"] == "total":
            counts[row["outcome"], row["reason"]] += row["count"]
    return counts


def counted(rows: Rows) -> Counter[tuple[Any, ...]]:
    """Sightings and callers, whatever ranges they were counted in."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if row["entry"] != "total":
            key = ("entry", "kind", "value", "value_hex", "where", "api", "api_version", "client_id", "principal")
            counts[tuple(row[name] for name in (*key, "detail", "rule", "forwarded"))] += row["count"]
    return counts


def sightings(rows: Rows) -> list[tuple[str, str]]:
    return sorted((row["kind"], row["value"]) for row in rows if row["entry"] == "sighting")


def assert_reconciles(rows: Rows) -> None:
    counts = totals(rows)
    read = sum(count for (outcome, _), count in counts.items() if outcome == "read")
    rest = sum(count for (outcome, _), count in counts.items() if outcome != "read")
    assert read == rest


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("g" * 249, False),
        ("g" * 250, True),
        ("é" * 249, False),
        ("é" * 250, True),
        ("😀" * 124 + "g", False),
        ("😀" * 125, True),
        ('"' * 249, False),
        ('"' * 250, True),
        ("\\" * 250, True),
        ("\u2028" * 250, True),
    ],
)
@pytest.mark.parametrize("options", [FAST, STRICT], ids=["fast", "strict"])
def test_sees_a_group_id_over_the_limit(tmp_path: Path, text: str, seen: bool, options: ReadOptions) -> None:
    rows = rows_of(log(tmp_path, heartbeat("short"), heartbeat(text), heartbeat("short")), options)
    assert sightings(rows) == ([("group_id", text)] if seen else [])
    assert totals(rows) == {("read", ""): 3, ("judged", ""): 3}


@pytest.mark.parametrize("options", [FAST, STRICT], ids=["fast", "strict"])
def test_sees_a_clients_own_member_id_of_37_but_never_a_classic_one(tmp_path: Path, options: ReadOptions) -> None:
    rows = rows_of(log(tmp_path, heartbeat("g"), consumer_heartbeat("m" * 36), consumer_heartbeat("m" * 37)), options)
    assert sightings(rows) == [("member_id", "m" * 37)]


@pytest.mark.parametrize("options", [FAST, STRICT], ids=["fast", "strict"])
def test_sees_client_ids_that_are_not_plain(tmp_path: Path, options: ReadOptions) -> None:
    lines = [line(client_id=name) for name in ("plain-1.a_b", "a b", "é", "a\u2028b", 'q"uote', "back\\slash", "")]
    rows = rows_of(log(tmp_path, *lines), options)
    assert [value for _, value in sightings(rows)] == sorted(["a b", "é", "a\u2028b", 'q"uote', "back\\slash"])


@pytest.mark.parametrize("options", [FAST, STRICT], ids=["fast", "strict"])
def test_sees_every_config_change(tmp_path: Path, options: ReadOptions) -> None:
    rows = rows_of(log(tmp_path, line(), change(2, "orders", ("retention.ms", 0, "x"))), options)
    assert sightings(rows) == [("config_change", "topic orders: retention.ms=x")]


@pytest.mark.parametrize("options", [FAST, STRICT], ids=["fast", "strict"])
def test_sees_versions_that_kafka_4_has_removed(tmp_path: Path, options: ReadOptions) -> None:
    rows = rows_of(log(tmp_path, line(1, 4, name="FETCH"), line(1, 3, name="FETCH")), options)
    assert [(row["rule"], row["api_version"]) for row in rows if row["entry"] == "sighting"] == [
        ("API_VERSION_REMOVED", 3)
    ]


@pytest.mark.parametrize("options", [FAST, STRICT], ids=["fast", "strict"])
def test_says_the_bytes_of_a_name_that_is_no_utf8(tmp_path: Path, options: ReadOptions) -> None:
    rows = rows_of(log(tmp_path, line(), heartbeat("gr\udcffp"), line(client_id="ü")), options)
    (found,) = (row for row in rows if row["kind"] == "group_id")
    assert (found["value"], found["value_hex"], found["value_utf8_valid"]) == ("gr\ufffdp", b"gr\xffp".hex(), False)


def test_reads_no_secret_of_a_scram_credential(tmp_path: Path) -> None:
    request = {"deletions": [], "upsertions": [{"name": "u" * 260, "mechanism": 1, "saltedPassword": "c2VjcmV0" * 40}]}
    rows = rows_of(log(tmp_path, line(51, 0, request, name="ALTER_USER_SCRAM_CREDENTIALS")))
    assert "c2VjcmV0" not in str(rows)


def test_tells_the_callers_by_api_version_and_client(tmp_path: Path) -> None:
    rows = rows_of(log(tmp_path, line(), line(), line(3, 9), heartbeat("g", client_id="other one")))
    callers = {
        (row["api"], row["api_version"], row["client_id"]): row["count"] for row in rows if row["entry"] == "caller"
    }
    assert callers == {("METADATA", 12, "app"): 2, ("METADATA", 9, "app"): 1, ("HEARTBEAT", 4, "other one"): 1}


def test_leaves_out_what_is_older_or_newer_than_asked(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        *(heartbeat("g" * 250, time=f"2026-11-15 {hour}:00:00,000") for hour in ("09", "10", "11")),
        *(line(time=f"2026-11-15 {hour}:00:00,000") for hour in ("09", "10", "11")),
        to_json(document()).encode(),
    )
    options = ReadOptions(since=parse_time("2026-11-15T10:00"), until=parse_time("2026-11-15T11:00:00Z"))
    rows = rows_of(path, options)
    assert totals(rows) == {("read", ""): 7, ("judged", ""): 3, ("ignored", OUTSIDE): 4}
    assert totals(rows_of(path, ReadOptions(strict=True, since=options.since, until=options.until))) == totals(rows)


def test_places_a_torn_line_where_it_is(tmp_path: Path) -> None:
    rows = rows_of(log(tmp_path, line(), line()[:200], line()))
    (torn,) = (row for row in rows if row["outcome"] == "malformed")
    assert (torn["line"], torn["reason"]) == (2, TORN)


def test_counts_a_last_line_without_its_end(tmp_path: Path) -> None:
    rows = rows_of(log(tmp_path, line(), heartbeat("g" * 250), end=b""))
    assert sightings(rows) == [("group_id", "g" * 250)]
    assert totals(rows)["read", ""] == 2


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_reads_compressed_logs_and_says_where_one_is_torn(tmp_path: Path, compress: Any) -> None:
    lines = [heartbeat(f"{number}-" + "g" * 250) for number in range(300)]
    data = b"\n".join(lines) + b"\n"
    whole = tmp_path / "a.log.1"
    whole.write_bytes(compress(data) + compress(data))
    assert len(sightings(rows_of(whole))) == 300
    assert totals(rows_of(whole))["judged", ""] == 600
    torn = tmp_path / "torn.gz"
    torn.write_bytes(compress(data)[:-20])
    rows = rows_of(torn)
    assert totals(rows)["malformed", TORN_FILE] == 1
    assert_reconciles(rows)


def test_a_line_longer_than_any_is_counted_and_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorkeeper.audit.requests.reader.LONGEST_LINE", 2 * BLOCK_BYTES)
    rows = rows_of(log(tmp_path, line(), b"x" * 5 * BLOCK_BYTES, line()))
    assert totals(rows)["malformed", LINE_TOO_LONG] == 1
    assert totals(rows)["judged", ""] == 2
    assert_reconciles(rows)


def test_recognises_a_request_log_by_its_lines() -> None:
    assert recognise("a", b"[x] INFO start\n" + line())
    assert recognise("a", to_json(document()).encode())
    assert recognise("a", b"[2020-01-01 00:00:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH) -- {}")
    assert not recognise("a", b'{"isForwarded')
    assert not recognise("a", b"\x00\x01\x02")


NAMES = st.one_of(
    st.text(max_size=12),
    st.builds(lambda text, count: text * count, st.text(min_size=1, max_size=3), st.integers(60, 300)),
    st.sampled_from(["plain", "a b", "x" * 249, "x" * 250, "ü" * 130, '"' * 130, "\\" * 249]),
)
LINES = st.one_of(
    st.builds(heartbeat, NAMES, client_id=NAMES),
    st.builds(consumer_heartbeat, NAMES),
    st.builds(lambda name: to_json(document(client_id=name)).encode("utf-8", "replace"), NAMES),
    st.builds(lambda name, cut: heartbeat(name)[:cut], NAMES, st.integers(0, 300)),
    st.builds(change, st.sampled_from([2, 4]), NAMES),
    st.sampled_from([b"", b"junk", b"\xff\xfe", b"[2026-11-15 10:00:00,123] INFO started (kafka.Kafka)", line()]),
)


@settings(max_examples=60)
@given(st.lists(LINES, min_size=1, max_size=30), st.lists(st.integers(0, 20_000), max_size=4), st.booleans())
def test_fast_strict_and_every_cut_agree(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cuts: list[int], ended: bool
) -> None:
    lines = [one.replace(b"\n", b" ") for one in lines]
    path = log(tmp_path_factory.mktemp("log"), *lines, end=b"\n" if ended else b"")
    fast, strict, cut = rows_of(path), rows_of(path, STRICT), rows_of(path, FAST, tuple(cuts))
    for rows in (fast, strict, cut):
        assert_reconciles(rows)
        assert counted(rows) == counted(strict)
        assert totals(rows) == totals(strict)
    expected = len(lines) if ended or lines[-1] else len(lines) - 1
    assert totals(fast)["read", ""] == expected
