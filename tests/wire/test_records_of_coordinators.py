"""Records of groups, share state and transactions, of every type, against the bytes that Kafka's own classes write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.wire.record_vectors import KEY, KEY_BYTES, TYPE, VALUE, VALUE_BYTES, VERSION, Row, load_rows
from tools.make_coordinator_vectors import from_json
from tools.make_newer_group_vectors import SHARE_STATE

from doorkeeper.wire.coordinator_records import (
    RECORD_TYPES,
    CoordinatorRecord,
    RecordKey,
    read_coordinator_record,
    write_coordinator_record,
)
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.share_group_records import SHARE_GROUP_RECORDS, SHARE_STATE_RECORDS, read_share_state_record
from doorkeeper.wire.streams_group_records import STREAMS_GROUP_RECORDS, read_group_record
from doorkeeper.wire.transaction_records import TransactionLogKey, TransactionLogValue, read_transaction_record

Classes = dict[str, tuple[type[RecordKey], type[Message]]]


def by_type(*pairs: tuple[type[RecordKey], type[Message]], prefix: str = "") -> Classes:
    return {f"{prefix}{key.api_key}": (key, value) for key, value in pairs}


OLDER_GROUPS = by_type(*RECORD_TYPES)
NEWER_GROUPS = by_type(*SHARE_GROUP_RECORDS, *STREAMS_GROUP_RECORDS)
SHARE_STATES = by_type(*SHARE_STATE_RECORDS, prefix=SHARE_STATE)
TRANSACTIONS = by_type((TransactionLogKey, TransactionLogValue))


@dataclass(frozen=True)
class Kept:
    """A row, and the classes and the reader of the topic that it is kept in."""

    row: Row
    classes: Classes
    read: Callable[[bytes, bytes | None], Any]

    @property
    def record(self) -> CoordinatorRecord:
        key_class, value_class = self.classes[str(self.row[TYPE])]
        key = from_json(key_class, self.row[KEY])
        assert isinstance(key, RecordKey)
        if self.row[VALUE] is None:
            return CoordinatorRecord(key)
        value = from_json(value_class, self.row[VALUE])
        assert isinstance(value, Message)
        return CoordinatorRecord(key, value, self.row[VERSION])


def kept(name: str, classes: Classes, read: Callable[[bytes, bytes | None], Any]) -> list[Kept]:
    return [Kept(row, classes, read) for row in load_rows(name) if str(row[TYPE]) in classes]


KINDS = {
    "older groups": kept("coordinator", OLDER_GROUPS, read_coordinator_record),
    "newer groups": kept("newer-group", NEWER_GROUPS, read_group_record),
    "share states": kept("newer-group", SHARE_STATES, read_share_state_record),
    "transactions": kept("transaction", TRANSACTIONS, read_transaction_record),
}
every_record = pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, id=f"{kind}-type-{one.row[TYPE]}-v{one.row[VERSION]}")
        for kind, found in KINDS.items()
        for one in found
    ],
)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_cover_every_type_at_every_version(kind: str) -> None:
    found = KINDS[kind]
    assert {(str(one.row[TYPE]), one.row[VERSION]) for one in found if one.row[VALUE] is not None} == {
        (record_type, version)
        for record_type, (_, value) in found[0].classes.items()
        for version in range(value.highest_version + 1)
    }


@every_record
def test_writes_the_bytes_that_kafka_writes(one: Kept) -> None:
    key, value = write_coordinator_record(one.record)
    assert (key.hex(), None if value is None else value.hex()) == (one.row[KEY_BYTES], one.row[VALUE_BYTES])


@every_record
def test_reads_the_bytes_that_kafka_writes(one: Kept) -> None:
    value = one.row[VALUE_BYTES]
    assert one.read(bytes.fromhex(one.row[KEY_BYTES]), None if value is None else bytes.fromhex(value)) == one.record
