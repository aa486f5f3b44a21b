"""How much one listener takes, with Kafka's names and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from doorkeeper.wire.connection import ONE_AT_A_TIME, READ_AHEAD_BYTES
from doorkeeper.wire.framing import MAX_FRAME_BYTES, MEBIBYTES

SECONDS: Final = 1.0
MINUTES: Final = 60 * SECONDS
UNLIMITED: Final = 2**31 - 1
"""Kafka's default for numbers of connections."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one listener."""

    max_frame_bytes: int = MAX_FRAME_BYTES
    """`socket.request.max.bytes`"""
    max_in_flight: int = ONE_AT_A_TIME
    """Requests of one connection that are handled at the same time."""
    read_ahead_bytes: int = READ_AHEAD_BYTES
    """What may be received of a connection beyond the requests in flight."""
    write_buffer_bytes: int = 1 * MEBIBYTES
    """Responses a slow reader may leave in our memory before its requests wait; one response may exceed it."""
    max_connections: int = UNLIMITED
    """`max.connections`; one more is closed at once (Kafka lets it wait in the accept queue)."""
    max_connections_per_ip: int = UNLIMITED
    """`max.connections.per.ip`; one more is closed at once, as in Kafka."""
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """`max.connections.per.ip.overrides`: other limits for some addresses."""
    idle_seconds: float = 10 * MINUTES
    """`connections.max.idle.ms`; a connection with a request in flight is not idle."""
    backlog: int = 50
    """`socket.listen.backlog.size`"""
