"""Records of `__consumer_offsets` against damage, and the consumer protocol in them against Kafka's bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.record_vectors import TYPE, VERSION, load_rows
from tools.make_coordinator_vectors import from_json

from doorkeeper.errors import RecordError
from doorkeeper.wire import consumer_protocol as protocol
from doorkeeper.wire.coordinator_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    CoordinatorRecord,
    GroupMetadataKey,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    OffsetCommitValue,
    UnknownCoordinatorRecord,
    read_coordinator_record,
    write_coordinator_record,
)
from doorkeeper.wire.metadata.schema import Message

EMBEDDED = [row for row in load_rows("coordinator") if isinstance(row[TYPE], str)]
EMBEDDED_CLASSES: dict[str, type[Message]] = {"subscription": protocol.Subscription, "assignment": protocol.Assignment}


@pytest.mark.parametrize("row", EMBEDDED, ids=lambda row: f"{row[TYPE]}-v{row[VERSION]}")
def test_reads_and_writes_the_embedded_consumer_protocol_as_kafka_does(row: list[Any]) -> None:
    kind, version, _, content, _, wire = row
    message = from_json(EMBEDDED_CLASSES[kind], content)
    data = bytes.fromhex(wire)
    if isinstance(message, protocol.Subscription):
        assert protocol.write_subscription(message, version) == data
        assert protocol.read_subscription(data) == message
    else:
        assert isinstance(message, protocol.Assignment)
        assert protocol.write_assignment(message, version) == data
        assert protocol.read_assignment(data) == message


def test_reads_a_subscription_of_a_future_version_as_the_newest_known() -> None:
    message = protocol.Subscription(topics=("a",), generation_id=3, rack_id="r")
    data = protocol.write_subscription(message)
    assert protocol.read_subscription(b"\x00\x63" + data[2:] + b"more") == message


def test_reads_only_the_topics_of_a_subscription_at_version_zero() -> None:
    data = protocol.write_subscription(protocol.Subscription(topics=("a",), rack_id="r"))
    assert protocol.read_subscription(data, 0) == protocol.Subscription(topics=("a",))


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff", b"\x00\x00", b"\x00\x00\x00\x00\x00\x05"])
def test_refuses_a_malformed_subscription(data: bytes) -> None:
    with pytest.raises(RecordError):
        protocol.read_subscription(data)


def test_drops_fields_that_an_older_version_may_lose() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=0)
    wire = write_coordinator_record(CoordinatorRecord(key, OffsetCommitValue(leader_epoch=7, expire_timestamp=5), 2))
    assert read_coordinator_record(*wire) == CoordinatorRecord(key, OffsetCommitValue(), 2)


def test_keeps_a_record_of_an_unknown_type_as_bytes() -> None:
    assert read_coordinator_record(b"\x00\x09rest", b"v") == UnknownCoordinatorRecord(9, b"\x00\x09rest", b"v")


def test_keeps_a_value_of_an_unknown_version_as_bytes() -> None:
    key, value = write_coordinator_record(CoordinatorRecord(ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue()))
    assert value is not None
    newer = b"\x00\x01" + value[2:]
    assert read_coordinator_record(key, newer) == UnknownCoordinatorRecord(3, key, newer)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\x00", None),
        (b"\x00\x02\x00\x05abc", None),
        (b"\x00\x02\x00\x01gg", None),
        (b"\x00\x02\xff\xff", None),
        (b"\x00\x02\x00\x01g", b"\x00"),
        (b"\x00\x02\x00\x01g", b"\x00\x00\x00\x05"),
    ],
)
def test_refuses_bytes_that_are_not_what_they_claim(key: bytes, value: bytes | None) -> None:
    with pytest.raises(RecordError):
        read_coordinator_record(key, value)


@pytest.mark.parametrize(
    "record",
    [
        CoordinatorRecord(GroupMetadataKey(group="g"), OffsetCommitValue()),
        CoordinatorRecord(OffsetCommitKey(), OffsetCommitValue(), 5),
        CoordinatorRecord(OffsetCommitKey(), OffsetCommitValue(), -1),
        CoordinatorRecord(LegacyOffsetCommitKey(group="g" * 32768)),
    ],
)
def test_refuses_to_write_what_kafka_could_not_read(record: CoordinatorRecord) -> None:
    with pytest.raises(RecordError):
        write_coordinator_record(record)


@given(st.binary(max_size=40), st.none() | st.binary(max_size=60), st.integers(0, 17))
def test_any_bytes_are_a_record_or_a_record_error(key: bytes, value: bytes | None, record_type: int) -> None:
    try:
        record = read_coordinator_record(record_type.to_bytes(2, "big") + key, value)
    except RecordError:
        return
    if isinstance(record, CoordinatorRecord):
        again = read_coordinator_record(*write_coordinator_record(record))
        assert again == record
