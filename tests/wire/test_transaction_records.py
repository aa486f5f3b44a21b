"""Records of `__transaction_state`: what version 0 can't carry, and damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.record_vectors import VALUE, load_rows

from doorkeeper.errors import RecordError
from doorkeeper.wire.coordinator_records import CoordinatorRecord, UnknownCoordinatorRecord, write_coordinator_record
from doorkeeper.wire.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
    read_transaction_record,
)

KEY = TransactionLogKey(transactional_id="t")


def test_vectors_cover_every_state() -> None:
    values = [row[VALUE] for row in load_rows("transaction") if row[VALUE] is not None]
    assert {value["transactionStatus"] for value in values} == set(range(8))


def test_keeps_a_record_of_an_unknown_type_as_bytes() -> None:
    assert read_transaction_record(b"\x00\x01rest", b"v") == UnknownCoordinatorRecord(1, b"\x00\x01rest", b"v")


def test_keeps_a_value_of_an_unknown_version_as_bytes() -> None:
    key, value = write_coordinator_record(CoordinatorRecord(KEY, TransactionLogValue(), 1))
    assert value is not None
    newer = b"\x00\x02" + value[2:]
    assert read_transaction_record(key, newer) == UnknownCoordinatorRecord(0, key, newer)


@pytest.mark.parametrize(
    "value",
    [
        TransactionLogValue(previous_producer_id=0),
        TransactionLogValue(next_producer_id=0),
        TransactionLogValue(next_producer_epoch=0),
        TransactionLogValue(client_transaction_version=2),
    ],
)
def test_version_zero_refuses_what_it_cannot_carry(value: TransactionLogValue) -> None:
    with pytest.raises(RecordError):
        write_coordinator_record(CoordinatorRecord(KEY, value, 0))
    key, written = write_coordinator_record(CoordinatorRecord(KEY, value, 1))
    assert read_transaction_record(key, written) == CoordinatorRecord(KEY, value, 1)


@pytest.mark.parametrize("version", [-1, 2])
def test_refuses_to_write_a_version_that_does_not_exist(version: int) -> None:
    with pytest.raises(RecordError):
        write_coordinator_record(CoordinatorRecord(KEY, TransactionLogValue(), version))


def test_refuses_a_null_topic_in_a_partition_list() -> None:
    _, value = write_coordinator_record(
        CoordinatorRecord(KEY, TransactionLogValue(transaction_partitions=(PartitionsSchema(topic="a"),)), 0)
    )
    assert value is not None
    broken = value.replace(b"\x00\x01a", b"\xff\xff")
    with pytest.raises(RecordError):
        read_transaction_record(b"\x00\x00\x00\x01t", broken)


@given(st.binary(max_size=20), st.none() | st.binary(max_size=80), st.integers(0, 2))
def test_any_bytes_are_a_record_or_a_record_error(key: bytes, value: bytes | None, version: int) -> None:
    framed = None if value is None else version.to_bytes(2, "big") + value
    try:
        record = read_transaction_record(b"\x00\x00" + key, framed)
    except RecordError:
        return
    if isinstance(record, CoordinatorRecord):
        assert read_transaction_record(*write_coordinator_record(record)) == record
