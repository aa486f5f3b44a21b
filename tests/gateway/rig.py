"""A connection through the gateway without sockets: bytes in on one side, bytes out on the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from doorkeeper.door.verdicts import VerdictRecord
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.callers import Client
from doorkeeper.gateway.gatekeeper import DoorFacts, Gatekeeper, House, Observer
from doorkeeper.gateway.judging import Judge
from doorkeeper.gateway.modes import Modes, parse_modes
from doorkeeper.gateway.offered import Offered
from doorkeeper.gateway.outcomes import Pending
from doorkeeper.gateway.plans import Plans
from doorkeeper.gateway.request_stream import RequestStream
from doorkeeper.gateway.response_stream import ResponseStream
from doorkeeper.wire.codec import encode_request, encode_response
from doorkeeper.wire.framing import frame
from doorkeeper.wire.registry import Door

OURS = "gateway.example"
MAX_FRAME_BYTES = 1 << 20


def move(kind: NodeKind, node_id: int, host: str, port: int) -> tuple[str, int]:
    """Every node is at the gateway, at a port of its own."""
    return OURS, 20_000 + node_id % 1000 + (500 if kind is NodeKind.CONTROLLER else 0)


class Rig:
    """One connection."""

    def __init__(
        self,
        *modes: str,
        door: Door = Door.BROKER,
        unstable_versions: bool = False,
        pass_unknown: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self.records: list[VerdictRecord] = []
        judged: Modes = parse_modes(modes)
        self.plans = plans = Plans(judged, unstable_versions=unstable_versions, pass_unknown=pass_unknown)
        self.judge = Judge(judged, self.records.append, lambda: 0.0)
        house = House(plans, self.judge, Offered(plans), observer=observer)
        self.client = Client("10.0.0.1", "broker 1")
        self.keeper = Gatekeeper(house, DoorFacts(door, "broker 1", 1), self.client, move)
        self.pending: Pending = deque()
        self.to_client = bytearray()
        self.to_upstream = bytearray()
        self.responses = ResponseStream(
            self.pending, self.keeper, self.to_client.extend, max_frame_bytes=MAX_FRAME_BYTES
        )
        self.requests = RequestStream(
            plans,
            self.keeper,
            self.pending,
            self.to_upstream.extend,
            self.responses.answer,
            max_frame_bytes=MAX_FRAME_BYTES,
            observed=observer is not None,
        )
        self.keeper.on_token = self.requests.expect_tokens

    def ask(self, body: Any, correlation_id: int = 1, client_id: str | None = "client") -> None:
        """Send one request whole."""
        self.requests.feed(framed_request(body, correlation_id, client_id))

    def answer(self, body: Any, correlation_id: int = 1) -> None:
        """Let upstream send one response whole."""
        self.responses.feed(framed_response(body, correlation_id))

    def take_upstream(self) -> bytes:
        """What has gone upstream since the last look."""
        taken = bytes(self.to_upstream)
        self.to_upstream.clear()
        return taken

    def take_client(self) -> bytes:
        """What the client has got since the last look."""
        taken = bytes(self.to_client)
        self.to_client.clear()
        return taken


def framed_request(body: Any, correlation_id: int = 1, client_id: str | None = "client") -> bytes:
    return frame(encode_request(body, correlation_id, client_id))


def framed_response(body: Any, correlation_id: int = 1) -> bytes:
    return frame(encode_response(body.__api_key__, body.__version__, correlation_id, body))


def cut(data: bytes, sizes: Iterable[int]) -> list[bytes]:
    """The bytes in chunks of these sizes, again and again, to the end."""
    lengths = list(sizes) or [len(data)]
    chunks, start, turn = [], 0, 0
    while start < len(data):
        end = start + lengths[turn % len(lengths)]
        chunks.append(data[start:end])
        start, turn = end, turn + 1
    return chunks
