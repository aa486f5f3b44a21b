"""How much the gateway takes; every buffer and wait has a bound here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from doorkeeper.net.limits import MINUTES, SECONDS, UNLIMITED
from doorkeeper.wire.framing import MAX_FRAME_BYTES, MEBIBYTES

MAX_PIPELINED: Final = 1000
"""Unanswered requests of one connection; Kafka's clients have 5 to 1000 of them."""


@dataclass(frozen=True, slots=True)
class GatewayLimits:
    """The limits of one gateway process."""

    max_frame_bytes: int = MAX_FRAME_BYTES
    """`socket.request.max.bytes`, of requests; and what is gathered of a response that is rewritten."""
    max_pipelined: int = MAX_PIPELINED
    """Unanswered requests of one connection before its bytes are left unread."""
    write_buffer_bytes: int = 1 * MEBIBYTES
    """Bytes that wait for a slow reader, on either side, before the other side is left unread."""
    max_connections: int = UNLIMITED
    """`max.connections`"""
    max_connections_per_ip: int = UNLIMITED
    """`max.connections.per.ip`"""
    idle_seconds: float = 10 * MINUTES
    """`connections.max.idle.ms`; a connection that waits for a response is not idle."""
    connect_seconds: float = 10 * SECONDS
    """How long connecting upstream may take; then the client's connection is closed, as a dead broker would."""
    drain_seconds: float = 30 * SECONDS
    """How long connections may go on answering after a SIGTERM."""
    backlog: int = 1024
    """Connections that wait to be accepted."""
