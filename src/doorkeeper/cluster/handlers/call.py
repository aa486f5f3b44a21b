"""One request on its way to a handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.messages import Values, make_response
from doorkeeper.net.service import Peer
from doorkeeper.wire.answers import error_response
from doorkeeper.wire.codec import Request
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.messages import message_classes


@dataclass(frozen=True, slots=True)
class BulkAnswer:
    """An answer whose bytes count against `consumer_byte_rate`, and that may be withheld for it (KIP-219)."""

    response: Any
    parts: tuple[Frame, ...]
    """The response's bytes."""
    size: int
    confirm: Callable[[], None]
    """To be called when it is given: notes what the client has been told."""
    withheld: Callable[[], Any]
    """The response that is given instead."""


NOT_THROTTLED: Final = {"throttle_time": timedelta(0)}


@dataclass(frozen=True, slots=True)
class Call:
    """A request, who sent it, and how to answer in its version."""

    request: Request
    peer: Peer
    principal: str
    is_forwarded: bool = False
    """Whether a broker sent it on in an Envelope."""
    forwarded_from: str = ""
    """The client's own address then."""

    @property
    def body(self) -> Any:
        return self.request.body

    @property
    def version(self) -> int:
        return self.request.api_version

    @property
    def address(self) -> str:
        """Where the client is."""
        return self.forwarded_from or self.peer.address

    def answer(self, values: Values) -> Any:
        """The response with these values; see `messages.fill`."""
        return make_response(self.request.api_key, self.version, values)

    def reshaped(self, response: object) -> Any:
        """The response of the controller's decision, in the class of the version asked."""
        entity = message_classes(self.request.api_key, self.version).response
        return reshape(response, entity, **_throttle(entity))

    def refuse(self, code: int, message: str | None = None) -> Any:
        """The response that refuses the whole request; None when there is no room for one."""
        return error_response(self.request.api_key, self.version, self.body, code, message)


@remembered
def _throttle(entity: type[Any]) -> dict[str, timedelta]:
    return NOT_THROTTLED if any(one.name == "throttle_time" for one in fields(entity)) else {}
