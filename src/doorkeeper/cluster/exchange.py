"""One request and what became of it, for whoever keeps a record."""

from __future__ import annotations

from typing import Protocol

from doorkeeper.net.service import Answer, Peer
from doorkeeper.wire.codec import Request, RequestHeader
from doorkeeper.wire.framing import Frame

Asked = Request | RequestHeader
AT_ONCE = -1


class Exchange:
    """A request, who sent it, and how long its answer took. Times are in nanoseconds."""

    __slots__ = (
        "asked",
        "frame",
        "is_forwarded",
        "local_ns",
        "peer",
        "principal",
        "started_ns",
        "throttle_ms",
        "total_ns",
    )

    def __init__(self, asked: Asked, frame: Frame, peer: Peer, started_ns: int) -> None:
        self.asked = asked
        self.frame = frame
        self.peer = peer
        self.principal = peer.principal
        self.is_forwarded = False
        """Whether a broker sent it on in an Envelope."""
        self.started_ns = started_ns
        self.local_ns = AT_ONCE
        """Time on the event loop; `AT_ONCE`: all of it, for it was answered without waiting."""
        self.total_ns = 0
        self.throttle_ms = 0


class Watcher(Protocol):
    """Is told of every request once it is answered; None is the answer that is not sent (Produce with acks=0)."""

    def __call__(self, exchange: Exchange, answer: Answer) -> None: ...
