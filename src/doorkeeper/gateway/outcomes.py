"""What the gateway does with one request that it has looked into, and what it waits for meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from doorkeeper.gateway.responses import Responder


@dataclass(frozen=True, slots=True)
class Pass:
    """The request goes on as it came."""

    responder: Responder | None
    answered: bool = True
    """Whether a response is to come."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Another request goes on in its place, header first and without its size."""

    frame: bytes
    responder: Responder | None
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The gateway answers itself: header first and without size."""

    frame: bytes


@dataclass(frozen=True, slots=True)
class Close:
    """The connection ends, once what was asked before is answered."""

    reason: str


@dataclass(frozen=True, slots=True)
class Defer:
    """The judge needs time: no request behind this one is looked at until it has spoken."""

    verdict: Awaitable[Settled]


Settled: TypeAlias = Pass | Replace | Answer | Close
Outcome: TypeAlias = Pass | Replace | Answer | Close | Defer


class Awaited(NamedTuple):
    """A response that is to come from upstream, or one of the gateway's own that waits for its turn."""

    correlation_id: int | None
    """None for what has no header: bare SASL messages, and the gateway's own answers."""
    action: Any
    """A responder; None for a response that passes; bytes for an answer of the gateway's own."""


Pending: TypeAlias = deque[tuple[int | None, Any]]
"""`Awaited` in the order of the requests; plain tuples, because one is made for every request."""
