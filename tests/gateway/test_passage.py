"""What goes through the gateway: bytes as they came, in any pieces, answers in the order of the questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.door.requests import filled
from tests.gateway.rig import OURS, Rig, cut, framed_request, framed_response, move
from tests.wire.samples import sample
from tests.wire.strategies import ALL_VERSIONS, messages

from doorkeeper.door.judged import Keeper, judged_fields
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.address_table import NodeKind, address_row
from doorkeeper.gateway.plans import CONFIG_CHANGES
from doorkeeper.wire.codec import decode_response, read_request_header
from doorkeeper.wire.framing import NEED_DATA, FrameReader
from doorkeeper.wire.messages import (
    API_VERSIONS,
    FETCH,
    METADATA,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    is_known,
    message_classes,
    newest_stable_version,
)

HEARTBEAT, INCREMENTAL_ALTER_CONFIGS, GROUP = 12, 44, 32
TALKED = {API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE}
OFFERED = [(key, version) for key, version in ALL_VERSIONS if version <= newest_stable_version(key)]
SIZES = st.lists(st.integers(1, 400), min_size=1, max_size=5)
LONG = "g" * 250


def frames_of(data: bytes) -> list[bytes]:
    reader = FrameReader()
    reader.receive_data(data)
    found = []
    while (frame := reader.next_frame()) is not NEED_DATA:
        found.append(bytes(frame))
    return found


def lawful_request(api_key: int, version: int) -> Any:
    body = filled(api_key, version)
    if api_key in CONFIG_CHANGES:
        return replace(body, resources=tuple(replace(one, resource_type=GROUP) for one in body.resources))
    return replace(body, acks=1) if api_key == PRODUCE else body


@pytest.mark.parametrize("mode", ["off", "evaluate", "enforce"])
@pytest.mark.parametrize(("api_key", "version"), OFFERED)
def test_every_lawful_request_goes_on_byte_for_byte(api_key: int, version: int, mode: str) -> None:
    rig = Rig(mode, "config_change=off")
    sent = framed_request(lawful_request(api_key, version), 77)
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent
    assert [one[0] for one in rig.pending] == [77]


@settings(max_examples=200)
@given(st.lists(st.sampled_from([one for one in OFFERED if one[0] not in TALKED]), min_size=1, max_size=6), SIZES)
def test_requests_in_any_pieces_go_on_byte_for_byte(asked: list[tuple[int, int]], sizes: list[int]) -> None:
    rig = Rig("enforce", "config_change=off")
    sent = b"".join(framed_request(lawful_request(*one), number) for number, one in enumerate(asked))
    for chunk in cut(sent, sizes):
        rig.requests.feed(chunk)
    assert rig.take_upstream() == sent
    assert [one[0] for one in rig.pending] == list(range(len(asked)))
    assert rig.requests.held_bytes == 0


@pytest.mark.parametrize(("api_key", "version"), OFFERED)
def test_every_response_without_addresses_comes_back_byte_for_byte(api_key: int, version: int) -> None:
    if address_row(api_key, version) is not None or api_key == API_VERSIONS:
        return
    rig = Rig("enforce", "config_change=off")
    rig.ask(lawful_request(api_key, version), 5)
    sent = framed_response(sample(message_classes(api_key, version).response), 5)
    for chunk in cut(sent, [7]):
        rig.responses.feed(chunk)
    assert rig.take_client() == sent
    assert not rig.pending


def endpoints(value: Any) -> Iterator[Any]:
    """Everything in a message that has a host and a port of a node."""
    if isinstance(value, tuple):
        for one in value:
            yield from endpoints(one)
    elif is_dataclass(value) and not isinstance(value, type):
        names = {one.name for one in fields(value)}
        if {"host", "port"} <= names:
            yield value
        for name in names:
            yield from endpoints(getattr(value, name))


ADDRESSED = [(key, version) for key, version in OFFERED if address_row(key, version) is not None]


@pytest.mark.parametrize(("api_key", "version"), ADDRESSED)
@settings(max_examples=15)
@given(data=st.data())
def test_every_address_is_the_gateways_and_nothing_else_changes(api_key: int, version: int, data: Any) -> None:
    response = data.draw(messages(message_classes(api_key, version).response))
    sizes = data.draw(st.one_of(st.just([1 << 20]), SIZES))
    rig = Rig("off")
    rig.ask(lawful_request(api_key, version), 9)
    for chunk in cut(framed_response(response, 9), sizes):
        rig.responses.feed(chunk)
    (frame,) = frames_of(rig.take_client())
    got = decode_response(api_key, version, frame)
    told = list(endpoints(got))
    assert all(not one.host or one.host == OURS for one in told)
    assert not rig.pending
    plain = decode_response(api_key, version, framed_response(response, 9)[4:])
    if len(told) == len(list(endpoints(plain))):
        assert without_addresses(got) == without_addresses(plain)


def without_addresses(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(without_addresses, value))
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value)]
        addressed = {"host", "port"} <= set(names)
        return {
            name: without_addresses(getattr(value, name))
            for name in names
            if not (addressed and name in ("host", "port"))
        }
    return value


def test_a_long_fetch_response_passes_while_it_arrives_and_its_endpoints_are_ours() -> None:
    rig = Rig("off")
    rig.ask(lawful_request(FETCH, 17), 3)
    entity = message_classes(FETCH, 17).response
    response = sample(entity)
    partition = replace(response.responses[0].partitions[0], records=b"r" * 100_000)
    topic = replace(response.responses[0], partitions=(partition,))
    node = replace(response.node_endpoints[0], node_id=2, host="real-broker-2.internal.example", port=9092)
    sent = framed_response(replace(response, responses=(topic,), node_endpoints=(node,)), 3)
    rig.responses.feed(sent[:50_000])
    assert len(rig.take_client()) == 50_000
    rig.responses.feed(sent[50_000:])
    got = rig.take_client()
    assert len(got) == len(sent) - 50_000
    assert b"real-broker" not in got
    whole = decode_response(FETCH, 17, sent[4:50_000] + got)
    assert [(one.host, one.port) for one in whole.node_endpoints] == [move(NodeKind.BROKER, 2, "", 0)]


def test_endpoints_that_have_no_room_are_left_out_of_a_response_that_has_begun() -> None:
    rig = Rig("off")
    rig.ask(lawful_request(FETCH, 17), 3)
    response = sample(message_classes(FETCH, 17).response)
    node = replace(response.node_endpoints[0], node_id=2, host="b2", port=9092, rack=None)
    sent = framed_response(replace(response, node_endpoints=(node,)), 3)
    rig.responses.feed(sent[:30])
    rig.responses.feed(sent[30:])
    (frame,) = frames_of(rig.take_client())
    assert decode_response(FETCH, 17, frame).node_endpoints == ()


def test_an_answer_of_the_gateways_own_waits_for_its_turn() -> None:
    rig = Rig("enforce")
    classes = message_classes(HEARTBEAT, 4)
    lawful = filled(HEARTBEAT, 4)
    rig.ask(lawful, 1)
    rig.ask(replace(lawful, group_id=LONG), 2)
    rig.ask(lawful, 3)
    rig.ask(replace(lawful, group_id=LONG), 4)
    assert rig.take_client() == b""
    assert len(frames_of(rig.take_upstream())) == 2
    rig.answer(sample(classes.response), 1)
    assert [int.from_bytes(one[:4], "big") for one in frames_of(rig.take_client())] == [1, 2]
    rig.answer(sample(classes.response), 3)
    assert [int.from_bytes(one[:4], "big") for one in frames_of(rig.take_client())] == [3, 4]
    assert not rig.pending


def test_an_answer_of_the_gateways_own_waits_for_the_rest_of_a_response() -> None:
    rig = Rig("enforce")
    lawful = filled(HEARTBEAT, 4)
    rig.ask(lawful, 1)
    response = framed_response(sample(message_classes(HEARTBEAT, 4).response), 1)
    rig.responses.feed(response[:9])
    rig.ask(replace(lawful, group_id=LONG), 2)
    rig.responses.feed(response[9:])
    assert [int.from_bytes(one[:4], "big") for one in frames_of(rig.take_client())] == [1, 2]


def test_refused_items_come_back_in_the_callers_order() -> None:
    rig = Rig("enforce", "config_change=off")
    classes = message_classes(INCREMENTAL_ALTER_CONFIGS, 1)
    body = filled(INCREMENTAL_ALTER_CONFIGS, 1)
    names = ("a", LONG, "c", LONG + "x")
    resources = tuple(replace(body.resources[0], resource_type=GROUP, resource_name=name) for name in names)
    rig.ask(replace(body, resources=resources), 6)
    (sent,) = frames_of(rig.take_upstream())
    header = read_request_header(sent)
    assert (header.correlation_id, header.client_id) == (6, "client")
    assert LONG.encode() not in sent
    result = replace(sample(classes.response).responses[0], resource_type=GROUP)
    answers = (replace(result, resource_name="c"), replace(result, resource_name="a"))
    rig.answer(sample(classes.response, responses=answers), 6)
    (frame,) = frames_of(rig.take_client())
    got = [
        (one.resource_name, one.error_code) for one in decode_response(INCREMENTAL_ALTER_CONFIGS, 1, frame).responses
    ]
    assert got == [("a", 0), (LONG, 42), ("c", 0), (LONG + "x", 42)]


def test_in_evaluate_a_breach_passes_and_is_written_down() -> None:
    rig = Rig("evaluate")
    sent = framed_request(replace(filled(HEARTBEAT, 4), group_id=LONG), 1)
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent
    (record,) = rig.records
    assert (record.rule, record.mode, record.address, record.length) == (
        "GROUP_ID_TOO_LONG",
        "evaluate",
        "10.0.0.1",
        250,
    )


def test_a_rule_that_is_off_is_not_even_written_down() -> None:
    rig = Rig("enforce", "group_id=off")
    sent = framed_request(replace(filled(HEARTBEAT, 4), group_id=LONG), 1)
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent
    assert not rig.records


def test_an_over_long_client_id_is_refused_on_any_request() -> None:
    rig = Rig("enforce")
    rig.ask(filled(METADATA, 12), 1, LONG)
    (frame,) = frames_of(rig.take_client())
    assert {one.error_code for one in decode_response(METADATA, 12, frame).topics} == {42}
    assert rig.take_upstream() == b""


@pytest.mark.parametrize(("length", "passes"), [(249, True), (250, False)])
def test_text_that_is_no_utf_8_goes_on_byte_for_byte_and_is_as_long_as_kafka_finds_it(
    length: int, *, passes: bool
) -> None:
    """Three bytes of a surrogate are one unit to Java."""
    rig = Rig("enforce")
    named = replace(filled(HEARTBEAT, 4), group_id="~" * 3 * length)
    sent = framed_request(named, 1).replace(b"~~~", b"\xed\xa0\x80")
    rig.requests.feed(sent)
    assert rig.take_upstream() == (sent if passes else b"")


@pytest.mark.parametrize("mode", ["off", "evaluate", "enforce"])
@pytest.mark.parametrize("size", [4, 100, 600])
def test_a_client_id_that_is_no_utf_8_goes_on_byte_for_byte(mode: str, size: int) -> None:
    rig = Rig(mode)
    sent = framed_request(filled(HEARTBEAT, 4), 1, "~" * size).replace(b"~~~", b"\xed\xa0\x80")
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent


def test_a_classic_member_id_of_any_length_passes() -> None:
    rig = Rig("enforce")
    rig.ask(replace(filled(HEARTBEAT, 4), member_id="m" * 5000), 1)
    assert rig.take_upstream()


def test_produce_without_acks_awaits_no_answer() -> None:
    for mode in ("off", "enforce"):
        rig = Rig(mode)
        rig.ask(replace(filled(PRODUCE, 9), acks=0), 1)
        rig.ask(replace(filled(PRODUCE, 13), acks=0), 2)
        assert not rig.pending
        assert len(frames_of(rig.take_upstream())) == 2


def test_a_produce_request_passes_before_it_is_whole() -> None:
    rig = Rig("enforce")
    sent = framed_request(replace(filled(PRODUCE, 9), acks=1), 1)
    rig.requests.feed(sent[:60])
    assert rig.take_upstream() == sent[:60]


@pytest.mark.parametrize("size", [-1, 0, 9, (1 << 20) + 1, 2**31 - 1])
def test_a_frame_of_an_impossible_size_ends_the_connection(size: int) -> None:
    rig = Rig("off")
    with pytest.raises(RemoteProtocolError):
        rig.requests.feed(size.to_bytes(4, "big", signed=True) + b"\0\3\0\1" + bytes(40))


def test_unknown_apis_and_versions_are_not_let_in() -> None:
    for api_key, version in ((999, 0), (PRODUCE, 99), (PRODUCE, 14), (METADATA, 14)):
        rig = Rig("off")
        sent = b"\0\0\0\x10" + api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(12)
        rig.requests.feed(sent)
        assert rig.requests.closing is not None
        assert rig.take_upstream() == b""


def test_a_setting_passes_unknown_apis() -> None:
    rig = Rig("enforce", pass_unknown=True)
    sent = b"\0\0\0\x10" + (999).to_bytes(2, "big") + bytes(14)
    rig.requests.feed(sent)
    assert rig.take_upstream() == sent


def test_api_versions_of_an_unknown_version_is_answered_with_the_known_range() -> None:
    rig = Rig("off")
    rig.requests.feed(b"\0\0\0\x0a" + b"\0\x12\0\x63" + (5).to_bytes(4, "big") + b"\xff\xff")
    (frame,) = frames_of(rig.take_client())
    got = decode_response(API_VERSIONS, 0, frame)
    assert (got.error_code, [(one.api_key, one.max_version) for one in got.api_keys]) == (35, [(18, 4)])


def test_api_versions_is_the_intersection() -> None:
    for unstable, highest in ((False, 13), (True, 14)):
        rig = Rig("off", unstable_versions=unstable)
        rig.ask(sample(message_classes(API_VERSIONS, 3).request), 1)
        response = sample(message_classes(API_VERSIONS, 3).response, supported_features=(), finalized_features=())
        entry = response.api_keys[0]
        keys = ((PRODUCE, 0, 13), (METADATA, 0, 99), (999, 0, 3), (HEARTBEAT, 0, 2))
        entries = tuple(replace(entry, api_key=k, min_version=low, max_version=high) for k, low, high in keys)
        rig.answer(replace(response, api_keys=entries), 1)
        (frame,) = frames_of(rig.take_client())
        got = {
            one.api_key: (one.min_version, one.max_version) for one in decode_response(API_VERSIONS, 3, frame).api_keys
        }
        assert got == {PRODUCE: (0, highest), METADATA: (0, 13), HEARTBEAT: (0, 2)}


def test_a_request_at_a_new_version_goes_on_at_kafkas_newest() -> None:
    rig = Rig("enforce", unstable_versions=True)
    rig.ask(filled(HEARTBEAT, 5), 1)
    assert rig.take_upstream() == framed_request(filled(HEARTBEAT, 4), 1)
    rig.ask(replace(filled(HEARTBEAT, 5), group_id=LONG), 2)
    rig.answer(sample(message_classes(HEARTBEAT, 4).response), 1)
    _, refused = frames_of(rig.take_client())
    assert decode_response(HEARTBEAT, 5, refused).error_code == 134


def test_a_response_to_nothing_ends_the_connection() -> None:
    rig = Rig("off")
    with pytest.raises(RemoteProtocolError):
        rig.answer(sample(message_classes(HEARTBEAT, 4).response), 1)


def test_a_response_to_another_request_ends_the_connection() -> None:
    rig = Rig("off")
    rig.ask(filled(HEARTBEAT, 4), 1)
    with pytest.raises(RemoteProtocolError):
        rig.answer(sample(message_classes(HEARTBEAT, 4).response), 2)


def test_draining_takes_no_more_requests_but_ends_the_one_that_has_begun() -> None:
    rig = Rig("off")
    first = framed_request(replace(filled(PRODUCE, 9), acks=1), 1)
    rig.requests.feed(first[:60])
    rig.requests.draining = True
    assert not rig.requests.is_between_frames
    rig.requests.feed(first[60:] + framed_request(filled(METADATA, 12), 2))
    assert rig.requests.is_between_frames
    assert rig.take_upstream() == first
    rig.requests.feed(framed_request(filled(METADATA, 12), 3))
    assert rig.take_upstream() == b""


def test_every_judged_version_is_known() -> None:
    assert all(is_known(key, version) and judged_fields(key, version, Keeper.GATEWAY) for key, version in OFFERED)
