"""Fields are found in place, and lengths are never trusted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.samples import sample
from tests.wire.strategies import ALL_CLASSES, any_message, messages

from doorkeeper.errors import LocalProtocolError, RemoteProtocolError
from doorkeeper.wire.codec import encode_body
from doorkeeper.wire.defaults import build
from doorkeeper.wire.fence import fenced, find_in_place, has_payload, is_harmless, is_screened
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.walking import MAX_ELEMENTS, minimum_size, read_unsigned_varint, write_unsigned_varint

PRODUCE_V11 = message_classes(0, 11).request
PRODUCE_V3 = message_classes(0, 3).request
HEARTBEAT_V4 = message_classes(12, 4).request
PATHS = ("transactional_id", "topic_data.name", "topic_data.partition_data.index", "topic_data.partition_data.records")


def expected_spans(request: Any) -> list[tuple[int, bytes | None]]:
    transactional_id = request.transactional_id
    found = [(0, None if transactional_id is None else transactional_id.encode())]
    for topic in request.topic_data:
        found.append((1, topic.name.encode()))
        for partition in topic.partition_data:
            found.append((2, partition.index.to_bytes(4, "big", signed=True)))
            found.append((3, partition.records))
    return found


@pytest.mark.parametrize("entity", [PRODUCE_V3, PRODUCE_V11])
@given(data=st.data())
def test_finds_names_and_records_of_a_produce_request_in_place(entity: type[Any], data: st.DataObject) -> None:
    request = data.draw(messages(entity))
    encoded = b"lead" + encode_body(request)
    spans = find_in_place(entity, PATHS, encoded, 4)
    assert [(path, None if start < 0 else encoded[start:end]) for path, start, end in spans] == expected_spans(request)


def test_finds_each_element_of_an_array_of_numbers_and_of_strings() -> None:
    groups = message_classes(15, 5).request
    encoded = encode_body(build(groups, {"groups": ("one", "two")}))
    spans = find_in_place(groups, ("groups",), encoded, 0)
    assert [encoded[start:end] for _, start, end in spans] == [b"one", b"two"]
    elections = message_classes(43, 2).request
    topic = sample(type(sample(elections).topic_partitions[0]), topic="t", partitions=(7, 8))
    encoded = encode_body(sample(elections, topic_partitions=(topic,)))
    spans = find_in_place(elections, ("topic_partitions.partitions",), encoded, 0)
    assert [int.from_bytes(encoded[start:end], "big") for _, start, end in spans] == [7, 8]


def test_refuses_a_path_that_leads_nowhere() -> None:
    with pytest.raises(LocalProtocolError, match="no such fields to find in place: group"):
        find_in_place(HEARTBEAT_V4, ("group_id", "group"), b"", 0)


@pytest.mark.parametrize("cut", [1, 5])
def test_finds_nothing_in_a_message_that_is_cut_short(cut: int) -> None:
    encoded = encode_body(build(HEARTBEAT_V4, {"group_id": "g", "member_id": "m"}))
    with pytest.raises(RemoteProtocolError, match="ends before"):
        find_in_place(HEARTBEAT_V4, ("group_id",), encoded[:-cut], 0)


@settings(max_examples=200, deadline=None)
@given(message=any_message())
def test_lets_every_lawful_message_pass_unchanged(message: Any) -> None:
    encoded = encode_body(message)
    assert fenced(type(message), encoded, 0) == (encoded, 0)
    assert len(encoded) >= minimum_size(type(message))


def test_no_class_has_elements_of_no_size() -> None:
    assert all(minimum_size(entity) >= 0 for entity in ALL_CLASSES)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**28, 2**32 - 1, 2**35 - 1])
def test_varints_survive(value: int) -> None:
    encoded = write_unsigned_varint(value)
    assert read_unsigned_varint(b"x" + encoded, 1) == (value, 1 + len(encoded))


def test_refuses_a_varint_of_six_bytes() -> None:
    with pytest.raises(RemoteProtocolError, match="five bytes"):
        read_unsigned_varint(b"\x80\x80\x80\x80\x80\x01", 0)


@given(value=st.integers(0, 2**35 - 1), before=st.binary(max_size=20), after=st.binary(max_size=20))
def test_calls_no_bytes_harmless_that_hold_a_length_of_two_million(value: int, before: bytes, after: bytes) -> None:
    encoded = before + write_unsigned_varint(value) + after
    if value >= 2**21:
        assert not is_harmless(encoded, 0)
        assert not is_harmless(encoded, len(before))


def test_calls_a_long_message_harmful() -> None:
    assert is_harmless(bytes(MAX_ELEMENTS), 0)
    assert not is_harmless(bytes(MAX_ELEMENTS + 1), 0)


def test_refuses_more_elements_than_a_python_process_should_hold() -> None:
    entity = message_classes(3, 0).request
    many = MAX_ELEMENTS + 1
    with pytest.raises(RemoteProtocolError, match="array elements"):
        fenced(entity, many.to_bytes(4, "big") + bytes(2 * many), 0)


def test_screens_flexible_messages_without_payload() -> None:
    assert is_screened(HEARTBEAT_V4)
    assert not is_screened(message_classes(12, 3).request)
    assert has_payload(PRODUCE_V11)
    assert not is_screened(PRODUCE_V11)


@pytest.mark.parametrize(("marker", "lawful"), [(0xFF, True), (0xFE, False), (0x80, False)])
def test_takes_minus_one_alone_for_a_null_struct(marker: int, lawful: bool) -> None:
    entity = message_classes(75, 0).request
    encoded = encode_body(build(entity, {"cursor": None}))
    assert encoded[-2:] == b"\xff\0"
    changed = encoded[:-2] + bytes((marker, 0))
    if lawful:
        assert fenced(entity, changed, 0) == (encoded, 0)
    else:
        with pytest.raises(RemoteProtocolError, match="neither null nor there"):
            fenced(entity, changed, 0)
