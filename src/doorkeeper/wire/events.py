"""What comes out of a connection."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from doorkeeper.wire.codec import RequestHeader
from doorkeeper.wire.framing import Frame


class RequestReceived(NamedTuple):
    """A request whose API and version are served; its body has not been read."""

    slot: int
    """Names the place of its response among the others of this connection."""
    header: RequestHeader
    frame: Frame


class TokenReceived(NamedTuple):
    """A bare message of a SASL mechanism, where one is expected (`ServerConnection.expects_token`)."""

    slot: int
    frame: Frame


class ResponseReceived(NamedTuple):
    """The response to the oldest request that awaited one; its body has not been read."""

    correlation_id: int
    api_key: int
    api_version: int
    frame: Frame


class ProtocolViolation(NamedTuple):
    """The peer broke the protocol: close the connection. Nothing follows."""

    reason: str


class Paused(Enum):
    """The type of `PAUSED`."""

    PAUSED = "PAUSED"

    def __repr__(self) -> str:
        return "PAUSED"


PAUSED: Final = Paused.PAUSED
"""As many requests are in flight as may be: answer one, then ask again."""
