"""Bytes that nobody should send: nothing but a protocol error comes of them, and what was lawful before them passes."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.door.requests import filled
from tests.gateway.rig import Rig, cut, framed_request, framed_response
from tests.gateway.running import HOST, ThreadedGateway, wait_until
from tests.gateway.test_passage import OFFERED, frames_of, lawful_request
from tests.wire.samples import sample

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.judging import Judge
from doorkeeper.wire.codec import decode_response
from doorkeeper.wire.messages import METADATA, message_classes

HEARTBEAT = 12
BIG_BYTES = 64 * 1024 * 1024
FEW_BYTES = 16 * 1024 * 1024


@given(
    st.sampled_from(["off", "evaluate", "enforce"]), st.binary(max_size=300), st.lists(st.integers(1, 50), min_size=1)
)
def test_garbage_for_a_request_is_a_protocol_error_or_passes(mode: str, garbage: bytes, sizes: list[int]) -> None:
    rig = Rig(mode)
    with suppress(RemoteProtocolError):
        for chunk in cut(garbage, sizes):
            rig.requests.feed(chunk)


@given(st.sampled_from(OFFERED), st.data())
def test_a_request_with_a_flipped_byte_is_a_protocol_error_or_passes(
    asked: tuple[int, int], data: st.DataObject
) -> None:
    sent = bytearray(framed_request(lawful_request(*asked), 1))
    place = data.draw(st.integers(8, len(sent) - 1))
    sent[place] ^= data.draw(st.integers(1, 255))
    rig = Rig("enforce", "config_change=off")
    with suppress(RemoteProtocolError):
        rig.requests.feed(bytes(sent))


@given(st.sampled_from(OFFERED), st.data())
def test_a_response_with_a_flipped_byte_is_a_protocol_error_or_passes(
    asked: tuple[int, int], data: st.DataObject
) -> None:
    rig = Rig("off")
    rig.ask(lawful_request(*asked), 1)
    sent = bytearray(framed_response(sample(message_classes(*asked).response), 1))
    place = data.draw(st.integers(8, max(len(sent) - 1, 8)))
    if place < len(sent):
        sent[place] ^= data.draw(st.integers(1, 255))
    with suppress(RemoteProtocolError):
        for chunk in cut(bytes(sent), data.draw(st.lists(st.integers(1, 100), min_size=1, max_size=3))):
            rig.responses.feed(chunk)


class BrokenJudge(Judge):
    """A judge with a fault of its own."""

    def judge(self, *_: object) -> tuple[()]:
        raise ZeroDivisionError


@pytest.mark.parametrize("mode", ["evaluate", "enforce"])
def test_a_judge_that_fails_passes_while_evaluating_and_refuses_while_enforcing(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judge, "judge", BrokenJudge.judge)
    rig = Rig(mode)
    sent = framed_request(filled(HEARTBEAT, 4), 1, "c" * 250)
    rig.requests.feed(sent)
    assert rig.judge.failures == {"ZeroDivisionError": 1}
    if mode == "evaluate":
        assert rig.take_upstream() == sent
    else:
        (frame,) = frames_of(rig.take_client())
        assert decode_response(HEARTBEAT, 4, frame).error_code == -1
        assert rig.take_upstream() == b""


# -- a slow reader


class Firehose:
    """A server that answers one request with one response, as long as it is told."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            correlation_id = client.recv(65536)[8:12]
            client.sendall(struct.pack(">i", 4 + self._size) + correlation_id)
            piece = bytes(65536)
            for _ in range(self._size // len(piece)):
                client.sendall(piece)
            client.recv(1)


def test_a_client_that_does_not_read_takes_no_memory() -> None:
    hose = Firehose(BIG_BYTES)
    try:
        with ThreadedGateway("--upstream", f"{HOST}:{hose.port}", "--mode", "off") as gateway:
            assert gateway.process is not None
            population = gateway.process.population
            before = population.from_upstream
            with gateway.connect() as connection:
                connection.send_bytes(framed_request(filled(HEARTBEAT, 4), 9)[4:])
                wait_until(lambda: population.from_upstream > before)
                settled = [-1]

                def has_settled() -> bool:
                    settled.append(population.from_upstream - before)
                    return settled[-1] == settled[-20:][0]

                wait_until(has_settled)
                assert settled[-1] < FEW_BYTES
                assert len(connection.receive_frame()) == 4 + BIG_BYTES
    finally:
        hose.close()


def test_metadata_that_names_nobody_stays_as_it_is() -> None:
    rig = Rig("off")
    rig.ask(filled(METADATA, 12), 1)
    response = sample(message_classes(METADATA, 12).response, brokers=())
    rig.answer(response, 1)
    assert rig.take_client() == framed_response(response, 1)
