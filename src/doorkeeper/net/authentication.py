"""How the clients of one listener say who they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from doorkeeper.net.service import Answer, Peer
from doorkeeper.wire.codec import Request
from doorkeeper.wire.sasl_login import Dialogue


@dataclass(frozen=True, slots=True)
class Authentication:
    """SASL at one listener; new connections take the newest one."""

    mechanisms: Mapping[str, Callable[[], Dialogue]] = field(repr=False)
    """Those that are enabled, and what begins a dialogue in each."""
    failure_delay_seconds: float
    """`connection.failed.authentication.delay.ms`: a refusal is told no sooner."""
    max_frame_bytes: int
    """`sasl.server.max.receive.size`: what a peer may send at a time before it is known."""
    gate: Callable[[], Awaitable[None] | None] = field(default=lambda: None, repr=False)
    """What a login waits for while the credentials are still on their way."""
    refuse: Callable[[Request, Peer], Answer | None] = field(default=lambda request, peer: None, repr=False)
    """The answer to a request that the door does not let in, whoever it may be; None for all others."""
