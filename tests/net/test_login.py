"""A login on one connection over a transport made of memory: what waits, what is slowed, and what never arrives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.memory import MemoryTransport
from tests.net.services import HEARTBEAT, Recorder
from tests.net.test_server_protocol import settle, within_loop

from doorkeeper.net.authentication import Authentication
from doorkeeper.net.limits import Limits
from doorkeeper.net.server_protocol import ServerProtocol
from doorkeeper.wire.codec import decode_response, encode_request
from doorkeeper.wire.connection import Closed, Draining
from doorkeeper.wire.defaults import build
from doorkeeper.wire.framing import NEED_DATA, FrameReader, frame
from doorkeeper.wire.messages import SASL_AUTHENTICATE, SASL_HANDSHAKE, message_classes
from doorkeeper.wire.sasl_login import PlainServer

DELAY = 60.0
HANDSHAKE = build(message_classes(SASL_HANDSHAKE, 1).request, {"mechanism": "PLAIN"})
FAILED, NONE = 58, 0


def password(text: str) -> Any:
    return build(message_classes(SASL_AUTHENTICATE, 2).request, {"auth_bytes": f"\0alice\0{text}".encode()})


class Visit:
    """A connection to a listener where alice's password is `secret`."""

    def __init__(self, gate: Callable[[], Any] = lambda: None, dialogue: Callable[[], Any] | None = None) -> None:
        self.service = Recorder()
        begin = dialogue or (lambda: PlainServer({"alice": "secret"}))
        authentication = Authentication({"PLAIN": begin}, DELAY, 1000, gate)
        limits = Limits(max_in_flight=10)
        self.protocol = ServerProtocol(self.service, "TEST", limits, lambda _: None, lambda _: None, authentication)
        self.transport = MemoryTransport()
        self.protocol.connection_made(self.transport)

    def send(self, *bodies: Any) -> None:
        """All at once, as a client that does not wait does."""
        frames = [frame(encode_request(body, number, "me")) for number, body in enumerate(bodies)]
        self.protocol.data_received(b"".join(frames))

    def answers(self) -> list[bytes]:
        reader = FrameReader()
        reader.receive_data(bytes(self.transport.written))
        found = []
        while (one := reader.next_frame()) is not NEED_DATA:
            found.append(bytes(one))
        return found


@within_loop
async def test_requests_that_follow_a_login_in_one_chunk_are_answered_under_its_principal() -> None:
    visit = Visit()
    visit.send(HANDSHAKE, password("secret"), HEARTBEAT, HEARTBEAT)
    assert len(visit.answers()) == 4
    assert [peer.principal for peer in visit.service.peers] == ["User:alice", "User:alice"]


def test_a_refusal_is_told_after_the_delay_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        visit = Visit()
        later: list[tuple[float, Callable[[], None]]] = []
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(
            loop, "call_later", lambda seconds, work, *arguments: later.append((seconds, lambda: work(*arguments)))
        )
        visit.send(HANDSHAKE, password("wrong"), password("secret"), HEARTBEAT)
        assert len(visit.answers()) == 1
        assert isinstance(visit.protocol.connection.state, Draining)
        ((seconds, tell),) = later
        assert seconds == DELAY
        tell()
        assert decode_response(SASL_AUTHENTICATE, 2, visit.answers()[1]).error_code == FAILED
        assert len(visit.answers()) == 2
        assert isinstance(visit.protocol.connection.state, Closed)
        assert visit.transport.is_closing()
        assert visit.service.asked == []

    asyncio.run(main(), debug=False)


@within_loop
async def test_a_login_waits_until_the_credentials_are_known_and_keeps_its_order() -> None:
    known = asyncio.Event()

    async def wait() -> None:
        await known.wait()

    visit = Visit(lambda: None if known.is_set() else wait())
    visit.send(HANDSHAKE, password("secret"), HEARTBEAT)
    await settle()
    assert visit.answers() == []
    known.set()
    await settle()
    assert len(visit.answers()) == 3
    assert visit.protocol.peer.principal == "User:alice"


@within_loop
async def test_a_request_without_a_login_reaches_nobody() -> None:
    visit = Visit()
    visit.send(HEARTBEAT)
    assert visit.transport.is_closing()
    assert visit.service.asked == []


@within_loop
async def test_a_large_request_is_let_in_after_the_login_and_not_before() -> None:
    large = build(type(HEARTBEAT), {"group_id": "g" * 2000, "member_id": "m"})
    visit = Visit()
    visit.send(HANDSHAKE, password("secret"), large)
    assert len(visit.service.asked) == 1
    visit = Visit()
    visit.send(HANDSHAKE, password("s" * 1000))
    assert visit.transport.is_closing()


@within_loop
async def test_a_fault_of_ours_lets_nobody_in_and_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        name = None

        def evaluate(self, message: bytes) -> bytes:
            raise KeyError("of all things")

    visit = Visit(dialogue=Broken)
    with caplog.at_level(logging.ERROR):
        visit.send(HANDSHAKE, password("secret"), HEARTBEAT)
    assert visit.transport.is_closing()
    assert len(visit.answers()) == 1
    assert visit.service.asked == []
    assert "a login failed" in caplog.text
    assert "secret" not in caplog.text
