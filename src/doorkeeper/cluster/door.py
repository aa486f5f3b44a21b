"""One door of a node: lets requests in by the registry and the rulebook, hands each to its handler, and maps what goes
wrong, once."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Generic, Literal, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.quorum import QuorumBusyError, QuorumStoppedError
from doorkeeper.cluster.watch import Watch, merged, remaining
from doorkeeper.door.refusal import Close, Partial, Whole
from doorkeeper.errors import NetworkError, RemoteProtocolError, StorageError
from doorkeeper.net.service import DECODE, Answer, Decode, Peer
from doorkeeper.wire.codec import Request, RequestHeader
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.messages import API_VERSIONS, api_name
from doorkeeper.wire.registry import Registry

LOGGER: Final = logging.getLogger("doorkeeper.door")

Role = TypeVar("Role")
Handler = Callable[[Role, Call], "Answer | Awaitable[Answer]"]

_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (StorageError, ErrorCode.kafka_storage_error),
    (NetworkError, ErrorCode.request_timed_out),
    (QuorumStoppedError, ErrorCode.not_controller),
    (QuorumBusyError, ErrorCode.throttling_quota_exceeded),
)
"""What a fault that is nobody's mistake is told as; anything else is a fault of ours."""

Gate = Callable[[], "Awaitable[None] | None"]


class DoorService(Generic[Role]):
    """Answers the requests of one listener (`net.service.Service`)."""

    def __init__(
        self, role: Role, registry: Registry, handlers: Mapping[int, Handler[Role]], gate: Gate = lambda: None
    ) -> None:
        """:param gate: gives what to wait for before a request is handled, while the node starts; ApiVersions never
        waits."""
        self.registry = registry
        self._role = role
        self._handlers = handlers
        self.gate = gate
        self.watch: Watch | None = None
        """Judges identifiers; set before the door opens."""

    def handle_opaque(
        self, header: RequestHeader, frame: Frame, peer: Peer
    ) -> Answer | Awaitable[Answer] | Literal[Decode.DECODE]:
        return DECODE

    def handle(self, request: Request, peer: Peer) -> Answer | Awaitable[Answer]:
        closed = self.gate() if request.api_key != API_VERSIONS else None
        call = Call(request, peer, peer.principal)
        return self.dispatch(call) if closed is None else self._dispatch_after(closed, call)

    async def _dispatch_after(self, closed: Awaitable[None], call: Call) -> Answer:
        await closed
        answer = self.dispatch(call)
        return await answer if inspect.isawaitable(answer) else answer

    def dispatch(self, call: Call) -> Answer | Awaitable[Answer]:
        """Judge a request and let the handler answer; one that was sent on in an Envelope begins here too.

        :raises RemoteProtocolError: for a refusal that the response has no room for: the connection is closed.
        """
        refusal = None if self.watch is None else self.watch.check(call)
        if refusal is None:
            return self._hand_over(call)
        if isinstance(refusal, Whole):
            return refusal.response
        if isinstance(refusal, Close):
            raise RemoteProtocolError(refusal.reason)
        return self._serve_rest(call, refusal)

    def refuse_login(self, request: Request, peer: Peer) -> Answer | None:
        """The answer to a request of a login that is not let in; for these come before anybody handles requests."""
        refusal = None if self.watch is None else self.watch.check(Call(request, peer, peer.principal))
        return refusal.response if isinstance(refusal, Whole) else None

    def _serve_rest(self, call: Call, refusal: Partial) -> Answer | Awaitable[Answer]:
        answer = self._hand_over(remaining(call, refusal))
        return _merged_later(call, refusal, answer) if inspect.isawaitable(answer) else merged(call, refusal, answer)

    def _hand_over(self, call: Call) -> Answer | Awaitable[Answer]:
        try:
            answer = self._handlers[call.request.api_key](self._role, call)
        except Exception as error:
            return _answer_to_fault(call, error)
        return _guarded(call, answer) if inspect.isawaitable(answer) else answer


async def _merged_later(call: Call, refusal: Partial, answer: Awaitable[Answer]) -> Answer:
    return merged(call, refusal, await answer)


async def _guarded(call: Call, answer: Awaitable[Answer]) -> Answer:
    try:
        return await answer
    except Exception as error:
        return _answer_to_fault(call, error)


def _answer_to_fault(call: Call, error: Exception) -> Any:
    for kind, code in _CODES:
        if isinstance(error, kind):
            LOGGER.warning("%s is refused: %s", api_name(call.request.api_key), str(error) or kind.__name__)
            told = error.told if isinstance(error, StorageError) else str(error)
            answer = call.refuse(code, told or None)
            if answer is not None:
                return answer
            raise RemoteProtocolError(f"{api_name(call.request.api_key)} can't be answered: {error}") from error
    raise error
