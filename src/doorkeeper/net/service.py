"""The contract between a listener and whatever answers its requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, Protocol, TypeAlias

from doorkeeper.metering.clients import ClientMeter
from doorkeeper.wire.codec import Request, RequestHeader
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.registry import Registry

ANONYMOUS: Final = "User:ANONYMOUS"
UNKNOWN_SOFTWARE: Final = "unknown"


@dataclass(slots=True, eq=False)
class Peer:
    """Who is at the other end of a connection; what is learnt later (SASL, ApiVersions) is written here."""

    address: str
    port: int
    listener: str
    mute_for: Callable[[float], None]
    """`mute_for(seconds)` leaves the connection unread for that time: how quotas bite (KIP-219)."""
    principal: str = ANONYMOUS
    software_name: str = UNKNOWN_SOFTWARE
    software_version: str = UNKNOWN_SOFTWARE
    connection_id: str = ""
    """Both ends and a number, in Kafka's form: `127.0.0.1:9092-127.0.0.1:51000-0-7`."""
    meter: ClientMeter | None = None
    """Of the client that asked last: nearly always the one that asks next."""

    is_leaving: bool = False
    """Whether the peer has sent its last byte. It may still read, but nobody should wait long on its behalf."""
    waiting: set[Callable[[], None]] = field(default_factory=set)
    """Called when the peer leaves: what it has asked for, and would wait for, is to be answered with what there is."""

    def leave(self) -> None:
        """The peer sends no more."""
        self.is_leaving = True
        for stop_waiting in list(self.waiting):
            stop_waiting()

    def log_in(self, principal: str) -> None:
        """The peer has proved who it is."""
        self.principal = principal
        self.meter = None


class Decode(Enum):
    """The type of `DECODE`."""

    DECODE = "DECODE"


DECODE: Final = Decode.DECODE
"""Returned by `handle_opaque`: decode the body and ask `handle`."""

Answer: TypeAlias = Any
"""A response dataclass of the API and version asked; or its bytes without header, as `bytes` or a tuple of buffers;
or None when the request gets no response (Produce with acks=0)."""


class Service(Protocol):
    """Answers requests. Both methods may answer at once, which costs no task, or return an awaitable.

    A `RemoteProtocolError` raised here closes the connection, or is answered when it carries a code; any other
    exception is a fault: logged with its trace, answered UNKNOWN_SERVER_ERROR, its text kept from the client.
    """

    @property
    def registry(self) -> Registry:
        """The APIs and versions let in; read once per connection."""

    def handle_opaque(
        self, header: RequestHeader, frame: Frame, peer: Peer
    ) -> Answer | Awaitable[Answer] | Literal[Decode.DECODE]:
        """Answer from the bytes alone (the hot path: nothing is built or copied), or say DECODE."""

    def handle(self, request: Request, peer: Peer) -> Answer | Awaitable[Answer]:
        """Answer a decoded request."""
