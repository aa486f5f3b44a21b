"""One connection over a transport made of memory."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.memory import MemoryTransport
from tests.net.services import HEARTBEAT, HEARTBEAT_KEY, Gated, Recorder, heartbeat, heartbeat_response
from tests.wire.samples import sample

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.net.limits import Limits
from doorkeeper.net.server_protocol import Refusal, ServerProtocol
from doorkeeper.net.service import Peer
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.codec import Request, decode_response, encode_request
from doorkeeper.wire.defaults import build
from doorkeeper.wire.framing import NEED_DATA, FrameReader, frame
from doorkeeper.wire.messages import API_VERSIONS, METADATA, PRODUCE, message_classes


def within_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test to its end."""

    @functools.wraps(test)
    def run(*args: Any, **named: Any) -> None:
        asyncio.run(test(*args, **named))

    return run


class Wire:
    """A server protocol, what it was sent and what it wrote."""

    def __init__(self, service: Any, limits: Limits | None = None, refusal: Refusal | None = None) -> None:
        self.gone: list[ServerProtocol] = []
        self.protocol = ServerProtocol(service, "TEST", limits or Limits(), lambda _: refusal, self.gone.append)
        self.transport = MemoryTransport()
        self.protocol.connection_made(self.transport)
        self._sent = 0

    def send(self, body: Any) -> None:
        self.protocol.data_received(frame(encode_request(body, self._sent, "me")))
        self._sent += 1

    def responses(self) -> list[bytes]:
        reader = FrameReader()
        reader.receive_data(bytes(self.transport.written))
        found = []
        while (one := reader.next_frame()) is not NEED_DATA:
            found.append(bytes(one))
        return found

    def correlation_ids(self) -> list[int]:
        return [int.from_bytes(one[:4], "big") for one in self.responses()]


async def settle() -> None:
    """Let every task that can run do so."""
    for _ in range(5):
        await asyncio.sleep(0)


class TestAnswers:
    @within_loop
    async def test_are_written_at_once_when_the_service_answers_at_once(self) -> None:
        wire = Wire(Recorder())
        wire.send(HEARTBEAT)
        assert decode_response(HEARTBEAT_KEY, 4, wire.responses()[0]).error_code == 0

    @within_loop
    async def test_may_be_bytes_or_parts_of_them(self) -> None:
        body = b"\0\0\0\0\0\0\0"
        for answer in (body, (body[:3], memoryview(body)[3:])):
            wire = Wire(Recorder(lambda request, peer, answer=answer: answer))  # type: ignore[misc]
            wire.send(HEARTBEAT)
            assert wire.responses() == [b"\0\0\0\0\0" + body]

    @within_loop
    async def test_to_a_request_without_response_are_nothing(self) -> None:
        wire = Wire(Recorder(lambda request, peer: None))
        wire.send(HEARTBEAT)
        wire.send(HEARTBEAT)
        assert wire.responses() == []
        assert wire.protocol.connection.in_flight == 0

    @within_loop
    async def test_keep_the_order_of_requests(self) -> None:
        service = Gated()
        wire = Wire(service, Limits(max_in_flight=3))
        for name in ("first", "second", "third"):
            wire.send(heartbeat(name))
        for name in ("third", "second"):
            service.gate(name).set()
            await settle()
            assert wire.correlation_ids() == []
        service.gate("first").set()
        await settle()
        assert wire.correlation_ids() == [0, 1, 2]

    @within_loop
    async def test_come_one_after_the_other_by_default(self) -> None:
        service = Gated()
        wire = Wire(service)
        wire.send(heartbeat("first"))
        wire.send(heartbeat("second"))
        await settle()
        assert [request.body.group_id for request in service.asked] == ["first"]
        service.gate("first").set()
        await settle()
        assert [request.body.group_id for request in service.asked] == ["first", "second"]

    @within_loop
    async def test_to_api_versions_from_the_future_are_version_0(self) -> None:
        wire = Wire(Recorder())
        wire.protocol.data_received(frame(b"\0\x12\0\x63\0\0\0\7\0\2me\0"))
        body = decode_response(API_VERSIONS, 0, wire.responses()[0])
        assert body.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert not wire.transport.closed

    @within_loop
    async def test_to_api_versions_of_a_negative_version_are_version_0(self) -> None:
        wire = Wire(Recorder())
        wire.protocol.data_received(frame(b"\0\x12\xff\xff\0\0\0\7\xff\xff"))
        assert decode_response(API_VERSIONS, 0, wire.responses()[0]).error_code == ErrorCode.UNSUPPORTED_VERSION

    @within_loop
    async def test_to_api_versions_note_the_clients_software(self) -> None:
        service = Recorder()
        wire = Wire(service)
        request = message_classes(API_VERSIONS, 4).request
        wire.send(request(client_software_name="bad name", client_software_version="1"))
        assert wire.protocol.peer.software_name == "unknown"
        wire.send(request(client_software_name="franz-go", client_software_version="1.2"))
        assert (wire.protocol.peer.software_name, wire.protocol.peer.software_version) == ("franz-go", "1.2")
        assert service.peers[0] is wire.protocol.peer


class TestFaults:
    @staticmethod
    def failing(request: Request, peer: Peer) -> Any:
        raise ZeroDivisionError("the secret of the house")

    @staticmethod
    async def failing_later(request: Request, peer: Peer) -> Any:
        raise ZeroDivisionError("the secret of the house")

    @within_loop
    async def test_are_logged_and_answered_without_their_text(self) -> None:
        for respond in (self.failing, self.failing_later):
            wire = Wire(Recorder(respond))
            wire.send(HEARTBEAT)
            await settle()
            (answer,) = wire.responses()
            assert decode_response(HEARTBEAT_KEY, 4, answer).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            assert b"secret" not in answer
            assert not wire.transport.closed

    def test_are_logged_with_their_trace(self, caplog: pytest.LogCaptureFixture) -> None:
        async def run() -> None:
            Wire(Recorder(self.failing)).send(HEARTBEAT)

        asyncio.run(run())
        (record,) = caplog.records
        assert record.getMessage() == "HEARTBEAT version 4 failed"
        assert record.exc_info

    @within_loop
    async def test_close_the_connection_where_there_is_no_room_for_a_code(self) -> None:
        wire = Wire(Recorder(self.failing))
        wire.send(sample(message_classes(PRODUCE, 11).request, acks=0))
        assert wire.transport.closed
        assert wire.responses() == []

    @within_loop
    async def test_in_the_opaque_path_are_answered_too(self) -> None:
        class Failing(Recorder):
            def handle_opaque(self, header: Any, frame: Any, peer: Any) -> Any:
                raise ZeroDivisionError

        wire = Wire(Failing())
        wire.send(HEARTBEAT)
        assert decode_response(HEARTBEAT_KEY, 4, wire.responses()[0]).error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    @pytest.mark.parametrize(("hint", "closed"), [(ErrorCode.INVALID_REQUEST, False), (None, True)])
    @within_loop
    async def test_of_the_peer_are_answered_or_end_the_connection(self, hint: int | None, closed: bool) -> None:
        def refuse(request: Request, peer: Peer) -> Any:
            raise RemoteProtocolError("unlawful", hint)

        wire = Wire(Recorder(refuse))
        wire.send(HEARTBEAT)
        assert wire.transport.closed is closed
        assert len(wire.responses()) == (not closed)

    @within_loop
    async def test_in_a_body_end_the_connection(self) -> None:
        service = Recorder()
        wire = Wire(service)
        wire.protocol.data_received(frame(b"\0\x0c\0\4\0\0\0\0\xff\xff\0" + b"\xff\xff\xff\xff\x0f"))
        assert wire.transport.closed
        assert service.asked == []

    def test_at_the_port_are_one_line_in_the_log(self, caplog: pytest.LogCaptureFixture) -> None:
        async def run() -> None:
            wire = Wire(Recorder())
            wire.protocol.data_received(b"GET / HTTP/1.1\r\n\r\n")
            wire.protocol.data_received(b"more of it")
            assert wire.transport.closed

        with caplog.at_level(logging.DEBUG):
            asyncio.run(run())
        (record,) = [one for one in caplog.records if one.name == "doorkeeper.net"]
        assert record.getMessage().startswith("closed the connection from 192.0.2.1: Invalid receive")


class TestBackPressure:
    @within_loop
    async def test_leaves_the_socket_unread_when_enough_waits(self) -> None:
        service = Gated()
        wire = Wire(service, Limits(read_ahead_bytes=10))
        wire.send(heartbeat("first"))
        assert wire.transport.reading
        wire.send(heartbeat("second"))
        assert not wire.transport.reading
        service.gate("second").set()
        service.gate("first").set()
        await settle()
        assert wire.transport.reading
        assert wire.correlation_ids() == [0, 1]

    @within_loop
    async def test_handles_nothing_while_the_peer_does_not_read(self) -> None:
        service = Recorder()
        wire = Wire(service)
        wire.protocol.pause_writing()
        assert not wire.transport.reading
        wire.send(HEARTBEAT)
        assert service.asked == []
        wire.protocol.resume_writing()
        assert wire.transport.reading
        assert wire.correlation_ids() == [0]

    @within_loop
    async def test_answers_at_once_and_then_mutes_a_throttled_client(self) -> None:
        loop = asyncio.get_running_loop()

        def throttle(request: Request, peer: Peer) -> Any:
            peer.mute_for(3600)
            return heartbeat_response()

        wire = Wire(Recorder(throttle), Limits(read_ahead_bytes=1))
        wire.send(HEARTBEAT)
        wire.send(HEARTBEAT)
        assert wire.correlation_ids() == [0]
        assert not wire.transport.reading
        wire.protocol._unmute(wire.protocol._muted_until - 1)
        assert wire.correlation_ids() == [0]
        assert wire.protocol._muted_until > loop.time()
        wire.protocol._unmute(wire.protocol._muted_until)
        assert wire.correlation_ids() == [0, 1]

    @within_loop
    async def test_keeps_the_longest_of_several_mutes(self) -> None:
        wire = Wire(Recorder())
        wire.protocol.mute_for(3600)
        until = wire.protocol._muted_until
        wire.protocol.mute_for(1)
        assert wire.protocol._muted_until == until


class TestEnding:
    @within_loop
    async def test_drains_what_is_in_flight_and_closes(self) -> None:
        service = Gated()
        wire = Wire(service)
        wire.send(heartbeat("first"))
        await settle()
        wire.protocol.drain()
        wire.send(heartbeat("late"))
        assert not wire.transport.closed
        service.gate("first").set()
        await settle()
        assert wire.transport.closed
        assert wire.correlation_ids() == [0]

    @within_loop
    async def test_answers_a_peer_that_has_closed_its_half(self) -> None:
        service = Gated()
        wire = Wire(service)
        wire.send(heartbeat("first"))
        assert wire.protocol.eof_received() is True
        service.gate("first").set()
        await settle()
        assert wire.correlation_ids() == [0]
        assert wire.transport.closed

    @within_loop
    async def test_handles_all_that_a_peer_sent_before_it_closed_its_half(self) -> None:
        service = Gated()
        wire = Wire(service)
        wire.send(heartbeat("first"))
        wire.send(heartbeat("second"))
        wire.protocol.eof_received()
        for name in ("first", "second"):
            assert not wire.transport.closed
            service.gate(name).set()
            await settle()
        assert wire.correlation_ids() == [0, 1]
        assert wire.transport.closed

    @within_loop
    async def test_closes_at_once_for_an_idle_peer_that_closes_its_half(self) -> None:
        wire = Wire(Recorder())
        assert wire.protocol.eof_received() is False

    @within_loop
    async def test_cancels_what_was_being_answered_when_the_peer_goes(self) -> None:
        service = Gated()
        wire = Wire(service)
        wire.send(heartbeat("first"))
        await settle()
        assert service.waiting == 1
        wire.protocol.connection_lost(None)
        await settle()
        assert service.waiting == 0
        assert wire.gone == [wire.protocol]

    @within_loop
    async def test_closes_when_a_request_is_cancelled_for_its_place_stays_empty(self) -> None:
        async def cancelled(request: Request, peer: Peer) -> Any:
            raise asyncio.CancelledError

        wire = Wire(Recorder(cancelled))
        wire.send(HEARTBEAT)
        await settle()
        assert wire.transport.closed
        assert wire.responses() == []

    @within_loop
    async def test_refuses_a_connection_that_is_not_admitted(self) -> None:
        wire = Wire(Recorder(), refusal=Refusal("too many"))
        assert wire.transport.aborted
        wire.send(HEARTBEAT)
        assert wire.responses() == []
        wire.protocol.connection_lost(None)
        assert wire.gone == []

    @within_loop
    async def test_leaves_a_connection_that_came_too_soon_unread_and_closes_it_later(self) -> None:
        wire = Wire(Recorder(), refusal=Refusal("too soon", delay_seconds=0.01))
        assert not wire.transport.aborted
        assert not wire.transport.reading
        wire.send(HEARTBEAT)
        await settle()
        assert wire.responses() == []
        async with asyncio.timeout(5):
            while not wire.transport.aborted:
                await asyncio.sleep(0.005)


@within_loop
async def test_answers_from_the_bytes_alone_without_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    class Opaque(Recorder):
        def handle_opaque(self, header: Any, frame: Any, peer: Any) -> Any:
            return b"opaque"

    def decode(*_: Any) -> Any:
        raise AssertionError("decoded")

    monkeypatch.setattr("doorkeeper.net.server_protocol.decode_request", decode)
    wire = Wire(Opaque())
    wire.send(build(message_classes(METADATA, 12).request, {"topics": None}))
    assert wire.responses() == [b"\0\0\0\0\0opaque"]
