"""Records of share and streams groups among others, and against damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.record_vectors import KEY_BYTES, TYPE, load_rows

from doorkeeper.errors import RecordError
from doorkeeper.wire.coordinator_records import (
    RECORD_TYPES,
    CoordinatorRecord,
    UnknownCoordinatorRecord,
    read_coordinator_record,
    write_coordinator_record,
)
from doorkeeper.wire.streams_group_records import read_group_record


def test_the_embedded_clusters_reader_still_leaves_them_alone() -> None:
    keys = [row[KEY_BYTES] for row in load_rows("newer-group") if isinstance(row[TYPE], int)]
    records = [read_coordinator_record(bytes.fromhex(key), None) for key in keys]
    assert records
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
