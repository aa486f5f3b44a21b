"""Order, matching, pausing and ending, without a socket."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory import ConnectionPair, registry_of_everything

from doorkeeper.errors import LocalProtocolError
from doorkeeper.wire.codec import encode_request
from doorkeeper.wire.connection import (
    MAX_CORRELATION_ID,
    ClientConnection,
    Closed,
    Draining,
    Open,
    ServerConnection,
)
from doorkeeper.wire.defaults import build
from doorkeeper.wire.events import PAUSED, ProtocolViolation, RequestReceived, ResponseReceived
from doorkeeper.wire.framing import NEED_DATA, frame
from doorkeeper.wire.messages import message_classes

HEARTBEAT = build(message_classes(12, 4).request, {"group_id": "g", "member_id": "m"})


def heartbeat(correlation_id: int) -> bytes:
    return frame(encode_request(HEARTBEAT, correlation_id, "me"))


def response(correlation_id: int) -> bytes:
    return correlation_id.to_bytes(4, "big") + b"rest"


class TestOrder:
    @given(data=st.data())
    def test_responses_leave_in_the_order_of_requests_whoever_finishes_first(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, 8))
        pair = ConnectionPair(max_in_flight=8)
        asked = [pair.ask(HEARTBEAT) for _ in range(count)]
        slots = {slot: request.correlation_id for slot, request in pair.requests()}
        assert list(slots.values()) == asked
        received: list[int] = []
        for slot in data.draw(st.permutations(list(slots))):
            received += [event.correlation_id for event in pair.answer(slot, response(slots[slot]))]
        assert received == asked
        assert pair.server.in_flight == pair.client.in_flight == 0

    def test_a_request_without_response_does_not_hold_up_the_next(self) -> None:
        conn = ServerConnection(registry_of_everything(), max_in_flight=3)
        conn.receive_data(heartbeat(0) + heartbeat(1) + heartbeat(2))
        slots = [event.slot for _ in range(3) if isinstance(event := conn.next_event(), RequestReceived)]
        assert conn.send_response(slots[2], response(2)) == []
        assert conn.send_response(slots[1]) == []
        assert b"".join(conn.send_response(slots[0], response(0))) == frame(response(0)) + frame(response(2))

    def test_frames_a_response_of_several_parts_without_joining_them(self) -> None:
        pair = ConnectionPair()
        pair.ask(HEARTBEAT)
        ((slot, _),) = pair.requests()
        payload = memoryview(b"payload")
        chunks = pair.server.send_response(slot, response(0), payload)
        assert chunks[2] is payload
        assert b"".join(chunks) == frame(response(0) + b"payload")

    @pytest.mark.parametrize("again", [0, 1, 5, -1])
    def test_refuses_a_response_that_is_not_awaited(self, again: int) -> None:
        pair = ConnectionPair(max_in_flight=2)
        pair.ask(HEARTBEAT)
        pair.requests()
        pair.answer(0, response(0))
        with pytest.raises(LocalProtocolError, match=f"request {again} does not await"):
            pair.server.send_response(again, response(0))

    def test_refuses_a_second_response_while_the_first_waits(self) -> None:
        pair = ConnectionPair(max_in_flight=2)
        pair.ask(HEARTBEAT)
        pair.ask(HEARTBEAT)
        pair.requests()
        pair.server.send_response(1, response(1))
        with pytest.raises(LocalProtocolError):
            pair.server.send_response(1, response(1))


class TestBackPressure:
    def test_hands_out_one_request_at_a_time_as_kafka_does(self) -> None:
        conn = ServerConnection(registry_of_everything())
        conn.receive_data(heartbeat(0) + heartbeat(1))
        assert isinstance(conn.next_event(), RequestReceived)
        assert conn.next_event() is PAUSED
        conn.send_response(0, response(0))
        assert isinstance(conn.next_event(), RequestReceived)

    def test_wants_no_data_once_enough_is_read_ahead(self) -> None:
        conn = ServerConnection(registry_of_everything(), read_ahead_bytes=100)
        conn.receive_data(heartbeat(0))
        conn.next_event()
        conn.receive_data(bytes(99))
        assert conn.wants_data
        conn.receive_data(bytes(1))
        assert not conn.wants_data
        conn.send_response(0, response(0))
        assert conn.wants_data

    def test_hands_out_nothing_while_muted(self) -> None:
        conn = ServerConnection(registry_of_everything(), read_ahead_bytes=1)
        conn.mute()
        conn.receive_data(heartbeat(0))
        assert conn.next_event() is PAUSED
        assert not conn.wants_data
        conn.unmute()
        assert isinstance(conn.next_event(), RequestReceived)


class TestViolations:
    @pytest.mark.parametrize(
        ("garbage", "reason"),
        [
            (b"GET / HTTP/1.1\r\n", "Invalid receive"),
            (b"\xff\xff\xff\xff", "size = -1"),
            (frame(b"\0"), "no header"),
            (frame(b"\0\4\0\0\0\0\0\1\xff\xff"), "Unknown API key 4"),
            (frame(b"\0\x0c\0\x63\0\0\0\1\xff\xff"), "unsupported version 99"),
            (frame(b"\0\x0c\0\5\0\0\0\1\xff\xff\0"), r"disabled api with key 12 \(HEARTBEAT\) and version 5"),
        ],
    )
    def test_end_the_connection(self, garbage: bytes, reason: str) -> None:
        conn = ServerConnection(registry_of_everything())
        conn.receive_data(garbage)
        event = conn.next_event()
        assert isinstance(event, ProtocolViolation)
        assert isinstance(conn.state, Closed)
        assert re.search(reason, event.reason)
        conn.receive_data(heartbeat(1))
        assert conn.next_event() is NEED_DATA

    def test_come_after_the_requests_before_them(self) -> None:
        conn = ServerConnection(registry_of_everything(), max_in_flight=2)
        conn.receive_data(heartbeat(0) + b"\xff\xff\xff\xff")
        assert isinstance(conn.next_event(), RequestReceived)
        assert isinstance(conn.next_event(), ProtocolViolation)
        assert conn.send_response(0, response(0)) == []

    def test_do_not_include_an_api_versions_request_from_the_future(self) -> None:
        conn = ServerConnection(registry_of_everything())
        conn.receive_data(frame(b"\0\x12\0\x63\0\0\0\7\xff\xff\0"))
        event = conn.next_event()
        assert isinstance(event, RequestReceived)
        assert event.header.api_version == 99


class TestStates:
    def test_draining_takes_no_more_requests_but_answers_those_in_flight(self) -> None:
        pair = ConnectionPair()
        pair.ask(HEARTBEAT)
        ((slot, _),) = pair.requests()
        pair.server.drain()
        pair.ask(HEARTBEAT)
        assert pair.requests() == []
        assert not pair.server.wants_data
        assert not pair.server.is_finished
        assert [event.correlation_id for event in pair.answer(slot, response(0))] == [0]
        assert pair.server.is_finished

    def test_have_legal_exits_only(self) -> None:
        assert Open().to_draining().to_closed("why") == Closed("why")
        assert Open().to_closed("why") == Closed("why")
        assert not any(name.startswith("to_") for name in dir(Closed("why")))
        assert [name for name in dir(Draining()) if name.startswith("to_")] == ["to_closed"]

    def test_closing_twice_keeps_the_first_reason(self) -> None:
        conn = ServerConnection(registry_of_everything())
        conn.close("first")
        conn.close("second")
        conn.drain()
        assert conn.state == Closed("first")


class TestClient:
    def test_refuses_a_response_to_another_request(self) -> None:
        conn = ClientConnection()
        conn.send_request(HEARTBEAT)
        conn.receive_data(frame(response(9)))
        assert conn.next_event() == ProtocolViolation("Response with correlation id 9 where 0 was awaited")
        assert isinstance(conn.state, Closed)
        assert conn.in_flight == 0

    def test_refuses_a_response_that_nobody_asked_for(self) -> None:
        conn = ClientConnection()
        conn.send_request(HEARTBEAT, expects_response=False)
        conn.receive_data(frame(response(0)))
        assert conn.next_event() == ProtocolViolation("Response with correlation id 0 where none was awaited")

    @pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff", frame(b"\0")])
    def test_refuses_garbage(self, garbage: bytes) -> None:
        conn = ClientConnection()
        conn.receive_data(garbage)
        assert isinstance(conn.next_event(), ProtocolViolation)
        conn.receive_data(garbage)
        assert conn.next_event() is NEED_DATA

    def test_starts_correlation_ids_anew_after_the_largest(self) -> None:
        conn = ClientConnection()
        conn._correlation_id = MAX_CORRELATION_ID
        assert [conn.send_request(HEARTBEAT)[0] for _ in range(2)] == [MAX_CORRELATION_ID, 0]

    def test_remembers_what_was_asked(self) -> None:
        conn = ClientConnection()
        conn.send_request(HEARTBEAT)
        conn.receive_data(frame(response(0)))
        event = conn.next_event()
        assert isinstance(event, ResponseReceived)
        assert (event.api_key, event.api_version) == (12, 4)

    def test_sends_nothing_while_draining_but_reads_on(self) -> None:
        conn = ClientConnection()
        conn.send_request(HEARTBEAT)
        conn.drain()
        with pytest.raises(LocalProtocolError, match="no more requests"):
            conn.send_request(HEARTBEAT)
        conn.receive_data(frame(response(0)))
        assert isinstance(conn.next_event(), ResponseReceived)

    def test_forgets_a_request_that_could_not_be_written(self) -> None:
        conn = ClientConnection()
        with pytest.raises(LocalProtocolError):
            conn.send_request(build(type(HEARTBEAT), {"group_id": "\ud800"}))
        assert conn.in_flight == 0
        assert conn.send_request(HEARTBEAT)[0] == 0
