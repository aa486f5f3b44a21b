"""The door's judgement at one of a node's doors: with the switch in force, and with what exists in the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.verdicts import Verdicts
from doorkeeper.door.judge import LAWFUL, Exists, RequestVerdict, judge_request, nobody_knows
from doorkeeper.door.judged import Keeper
from doorkeeper.door.refusal import Partial, Refusal, refuse
from doorkeeper.door.screen import Screen, screen_of
from doorkeeper.door.verdicts import Caller
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.wire.cloning import with_plain_codes
from doorkeeper.wire.codec import decode_body, encode_request, read_request_header
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.registry import Door


class Watch:
    """Judges the requests of one kind of door."""

    def __init__(self, door: Door, rulebook: Rulebook, verdicts: Verdicts, exists: Exists = nobody_knows) -> None:
        """:param exists: what the node knows, for requests that only look up or remove."""
        self.rulebook = rulebook
        """Replaced when the switch is turned: the next request is judged by it."""
        self._door = door
        self._verdicts = verdicts
        self._exists = exists
        self._screens: dict[tuple[int, int], Screen] = {}
        """By API and version: all that a lawful request meets."""

    def check(self, call: Call) -> Refusal | None:
        """What is refused of a request, and how; None for all that is let in."""
        request = call.request
        key = request[:2]
        screen = self._screens.get(key)
        if screen is None:
            screen = self._screens[key] = screen_of(*key, Keeper.EMBEDDED)
        return self._refusal(call) if screen(request.client_id, request.body) else None

    def _refusal(self, call: Call) -> Refusal | None:
        request = call.request
        # A broker has judged what it sends on, and may know of groups that the controller knows nothing of.
        exists = nobody_knows if call.is_forwarded else self._exists
        verdict = judge_request(request, request.body, self.rulebook, Keeper.EMBEDDED, exists)
        if verdict is LAWFUL:
            return None
        self._note(call, verdict)
        return refuse(request, request.body, verdict.refused) if verdict.refused else None

    def _note(self, call: Call, verdict: RequestVerdict) -> None:
        if call.is_forwarded:
            # What passes has been noted at the broker's door; what is refused here was let in there.
            verdict = replace(verdict, breaches=verdict.refused)
        peer = call.peer
        caller = Caller(
            call.principal,
            call.address,
            peer.listener,
            software_name="" if call.is_forwarded else peer.software_name,
            software_version="" if call.is_forwarded else peer.software_version,
        )
        self._verdicts.note(verdict, call.request, self._door, caller)


def remaining(call: Call, refusal: Partial) -> Call:
    """The call with what is left of its request: in bytes too, for a broker sends these on."""
    request = call.request
    frame = encode_request(refusal.remaining, request.correlation_id, request.client_id)
    offset = read_request_header(frame).body_offset
    return replace(call, request=request._replace(body=refusal.remaining, frame=frame, body_offset=offset))


def merged(call: Call, refusal: Partial, answer: Any) -> Any:
    """The answer to what was left, with the refusals in their places."""
    if isinstance(answer, tuple):
        answer = b"".join(answer)
    if isinstance(answer, bytes | memoryview):
        response = message_classes(call.request.api_key, call.version).response
        answer = decode_body(with_plain_codes(response), answer, 0)
    return refusal.merge(answer)
