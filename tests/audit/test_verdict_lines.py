"""Verdict and identity lines: what our doors wrote is read back, whole or in ranges, and garbage is counted."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit.stored import rows_of, sightings, totals
from tests.door.requests import filled, header

from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.verdict_lines import read_range, recognise, unescaped
from doorkeeper.door.judge import judge_request
from doorkeeper.door.verdicts import Caller, VerdictBook
from doorkeeper.rules.javatext import escape_for_display, utf16_length
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.wire.registry import Door

HEARTBEAT = 12
NOW = datetime(2026, 11, 16, 4, 30, tzinfo=UTC)
CALLER = Caller("User:alice", "10.0.0.7", "PLAINTEXT", "librdkafka", "2.6.0")
LONG = "g" * 250


def identity(**changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "time": NOW.isoformat(timespec="milliseconds"),
        "door": "broker",
        "api": "JOIN_GROUP",
        "api_version": 5,
        "client_id": "billing",
        "principal": "User:billing",
        "address": "10.1.2.3",
        "listener": "broker 1",
        "software_name": "apache-kafka-java",
        "software_version": "4.3.1",
        "identifiers": [{"kind": "group_id", "field": "group_id", "value": "invoices"}],
    } | changes


def written(folder: Path, *lines: object) -> Path:
    path = folder / "verdicts.log"
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def door_lines(client_id: str, group: str) -> list[str]:
    """What a real door writes of a request with these names."""
    asked = header(HEARTBEAT, 4, client_id)
    verdict = judge_request(asked, replace(filled(HEARTBEAT, 4), group_id=group), Rulebook.of_release("5.0"))
    records = VerdictBook().note(verdict, asked, Door.BROKER, CALLER, NOW.timestamp())
    return [record.to_json() for record in records]


def test_reads_what_a_door_wrote(tmp_path: Path) -> None:
    lines = door_lines("plain", "a\n\u202e" + LONG)
    assert len(lines) == 1
    rows = rows_of(read_range, written(tmp_path, *lines))
    (row,) = (row for row in rows if row["entry"] == "sighting")
    assert row["value"] == "a\n\u202e" + LONG
    assert (row["rule"], row["kind"], row["length"], row["limit"]) == ("GROUP_ID_TOO_LONG", "group_id", 253, 249)
    assert (row["answer_new"], row["answer_old"], row["api"], row["api_version"]) == (134, 42, "HEARTBEAT", 4)
    assert (row["principal"], row["address"], row["software_name"]) == ("User:alice", "10.0.0.7", "librdkafka")
    assert row["first_seen"] == NOW
    assert totals(rows) == {("judged", ""): 1}


def test_a_value_that_was_cut_keeps_its_length(tmp_path: Path) -> None:
    rows = rows_of(read_range, written(tmp_path, *door_lines("c", "g" * 5000)))
    (row,) = (row for row in rows if row["entry"] == "sighting")
    assert row["length"] == 5000
    assert row["value"] == "g" * 299 + "…"


@given(st.text(st.characters(), max_size=80))
def test_an_escaped_text_is_read_back(text: str) -> None:
    assert unescaped(escape_for_display(text, 10 * 80)) == text


def test_judges_what_an_identity_line_names(tmp_path: Path) -> None:
    identifiers = [
        {"kind": "group_id", "field": "group_id", "value": LONG},
        {"kind": "group_instance_id", "field": "group_instance_id", "value": "i" * 249},
        {"kind": "transactional_id", "field": "transactional_id", "value": "t" * 1000, "length": 4000},
        {"kind": "quota_entity", "field": "entries[].entity[].entity_name", "value": "q" * 250},
    ]
    rows = rows_of(read_range, written(tmp_path, identity(), identity(client_id="a b", identifiers=identifiers)))
    assert sightings(rows) == [
        ("client_id", "a b"),
        ("group_id", LONG),
        ("quota_entity", "q" * 250),
        ("transactional_id", "t" * 1000),
    ]
    found = {row["kind"]: row for row in rows if row["entry"] == "sighting"}
    assert found["transactional_id"]["length"] == 4000
    assert found["quota_entity"]["rule"] == "RESOURCE_NAME_TOO_LONG"
    assert "rule" not in found["group_id"]
    callers = {(row["client_id"], row["api"], row["count"]) for row in rows if row["entry"] == "caller"}
    assert callers == {("billing", "JOIN_GROUP", 1), ("a b", "JOIN_GROUP", 1)}


def test_tells_versions_that_are_gone(tmp_path: Path) -> None:
    rows = rows_of(
        read_range, written(tmp_path, identity(api="FETCH", api_version=3), identity(api="FETCH", api_version=4))
    )
    assert [(row["rule"], row["api_version"]) for row in rows if "rule" in row] == [("API_VERSION_REMOVED", 3)]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "null",
        "17",
        json.dumps(identity(version=2)),
        json.dumps(identity(time="yesterday")),
        json.dumps(identity(time="2026-11-16T00:00:00")),
        json.dumps(identity(identifiers=[{"kind": "colour", "field": "f", "value": "red"}])),
        json.dumps({key: value for key, value in identity().items() if key != "door"}),
        json.dumps({key: value for key, value in identity().items() if key != "identifiers"}),
    ],
)
def test_a_line_that_is_neither_is_counted_with_its_place(tmp_path: Path, line: str) -> None:
    rows = rows_of(read_range, written(tmp_path, identity(), line, "", identity()))
    assert totals(rows) == {
        ("judged", ""): 2,
        ("malformed", "neither a verdict nor an identity line"): 1,
        ("ignored", "blank line"): 1,
    }
    assert [row["line"] for row in rows if row.get("outcome") == "malformed"] == [2]


def test_only_the_time_asked_for_counts(tmp_path: Path) -> None:
    path = written(
        tmp_path, identity(), identity(time="2026-11-16T05:00:00+01:00"), identity(time="2026-11-16T05:30:00+00:00")
    )
    since = int(NOW.timestamp() * 1e6)
    rows = rows_of(read_range, path, ReadOptions(since=since, until=since + 1))
    assert totals(rows) == {("judged", ""): 1, ("ignored", "outside --since and --until"): 2}


def test_ranges_and_compression_make_no_difference(tmp_path: Path) -> None:
    lines = [identity(identifiers=[{"kind": "group_id", "field": "g", "value": f"{LONG}{at}"}]) for at in range(20)]
    path = written(tmp_path, *lines)
    whole = sightings(rows_of(read_range, path))
    packed = tmp_path / "verdicts.log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert sightings(rows_of(read_range, packed)) == whole
    size = path.stat().st_size
    parts = [
        row
        for start in range(0, size, 1000)
        for batch in read_range(ByteRange(str(path), start, min(size, start + 1000)), ReadOptions())
        for row in batch.to_pylist()
    ]
    assert sightings(parts) == whole
    assert len(whole) == 20


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (json.dumps(identity()).encode(), True),
        (door_lines("c", LONG)[0].encode() + b"\nmore", True),
        (b'{"isForwarded":false,"requestHeader":{"requestApiKey":1}}', False),
        (b"[2026-11-16] DEBUG Completed request:{}", False),
        (b"", False),
    ],
)
def test_recognises_a_file_by_its_first_line(head: bytes, expected: bool) -> None:
    assert recognise("any", head) is expected


def test_lengths_are_kafkas(tmp_path: Path) -> None:
    lines = [identity(identifiers=[{"kind": "rack_id", "field": "r", "value": "😀" * count}]) for count in (124, 125)]
    rows = rows_of(read_range, written(tmp_path, *lines))
    assert [utf16_length(value) for _, value in sightings(rows)] == [250]
