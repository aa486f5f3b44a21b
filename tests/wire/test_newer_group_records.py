"""Records of share and streams groups against the bytes that Kafka's own classes write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.make_coordinator_vectors import from_json
from tools.make_newer_group_vectors import SHARE_STATE

from doorkeeper.errors import RecordError
from doorkeeper.wire.coordinator_records import (
    RECORD_TYPES,
    CoordinatorRecord,
    RecordKey,
    UnknownCoordinatorRecord,
    read_coordinator_record,
    write_coordinator_record,
)
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.share_group_records import SHARE_GROUP_RECORDS, SHARE_STATE_RECORDS, read_share_state_record
from doorkeeper.wire.streams_group_records import STREAMS_GROUP_RECORDS, read_group_record

VECTORS = Path(__file__).parent.parent / "vectors" / "newer-group-records-4.3.1.jsonl"
HEADER, *ROWS = [json.loads(line) for line in VECTORS.read_text(encoding="ascii").splitlines()]
CLASSES: dict[str, tuple[type[RecordKey], type[Message]]] = {
    **{str(key.api_key): (key, value) for key, value in (*SHARE_GROUP_RECORDS, *STREAMS_GROUP_RECORDS)},
    **{f"{SHARE_STATE}{key.api_key}": (key, value) for key, value in SHARE_STATE_RECORDS},
}


def name(row: list[Any]) -> str:
    return f"type-{row[0]}"


def record_of(row: list[Any]) -> CoordinatorRecord:
    record_type, version, key, value, *_ = row
    key_class, value_class = CLASSES[str(record_type)]
    parsed_key = from_json(key_class, key)
    assert isinstance(parsed_key, RecordKey)
    if value is None:
        return CoordinatorRecord(parsed_key)
    parsed_value = from_json(value_class, value)
    assert isinstance(parsed_value, Message)
    return CoordinatorRecord(parsed_key, parsed_value, version)


def test_vectors_cover_every_type() -> None:
    assert {str(row[0]) for row in ROWS if row[3] is not None} == CLASSES.keys()
    assert HEADER["rows"] == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_writes_the_bytes_that_kafka_writes(row: list[Any]) -> None:
    key, value = write_coordinator_record(record_of(row))
    assert (key.hex(), None if value is None else value.hex()) == (row[4], row[5])


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_reads_the_bytes_that_kafka_writes(row: list[Any]) -> None:
    value = None if row[5] is None else bytes.fromhex(row[5])
    read = read_share_state_record if str(row[0]).startswith(SHARE_STATE) else read_group_record
    assert read(bytes.fromhex(row[4]), value) == record_of(row)


def test_the_embedded_clusters_reader_still_leaves_them_alone() -> None:
    rows = [row for row in ROWS if isinstance(row[0], int)]
    records = [read_coordinator_record(bytes.fromhex(row[4]), None) for row in rows]
    assert rows
    assert all(isinstance(record, UnknownCoordinatorRecord) for record in records)


def test_reads_the_older_kinds_of_groups_too() -> None:
    for key_class, _ in RECORD_TYPES:
        key, _ = write_coordinator_record(CoordinatorRecord(key_class()))
        assert read_group_record(key, None) == CoordinatorRecord(key_class())


@pytest.mark.parametrize("record_type", [9, 18, 24])
def test_keeps_a_record_of_an_unknown_type_as_bytes(record_type: int) -> None:
    key = record_type.to_bytes(2, "big") + b"rest"
    assert read_group_record(key, b"v") == UnknownCoordinatorRecord(record_type, key, b"v")


@given(st.binary(max_size=40), st.none() | st.binary(max_size=80), st.integers(10, 23))
def test_any_bytes_are_a_record_or_a_record_error(key: bytes, value: bytes | None, record_type: int) -> None:
    framed = None if value is None else b"\x00\x00" + value
    try:
        record = read_group_record(record_type.to_bytes(2, "big") + key, framed)
    except RecordError:
        return
    if isinstance(record, CoordinatorRecord):
        assert read_group_record(*write_coordinator_record(record)) == record
