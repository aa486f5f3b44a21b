"""One connection's gatekeeper: looks into the requests that `request_stream` does not pass at sight.

Also what the responses of the connection ask for: where nodes are, what is offered, who logs in.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from doorkeeper.door.refusal import Close as RefusedByClosing
from doorkeeper.door.refusal import Partial, Refusal, Whole, refuse
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.addresses import Locate
from doorkeeper.gateway.callers import Client
from doorkeeper.gateway.judging import Judge
from doorkeeper.gateway.login import LoginWatch
from doorkeeper.gateway.offered import Offered, unsupported_versions
from doorkeeper.gateway.outcomes import Answer, Close, Defer, Outcome, Pass, Replace, Settled
from doorkeeper.gateway.plans import CONFIG_CHANGES, Plan, Plans, expects_answer
from doorkeeper.gateway.responses import Merged, Token
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.answers import error_response
from doorkeeper.wire.codec import (
    Request,
    RequestHeader,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    read_request_header,
)
from doorkeeper.wire.messages import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, api_name, newest_version
from doorkeeper.wire.registry import Door

COULD_NOT_JUDGE: Final = "The gateway could not judge this request, and refuses what it can't judge"
_read_correlation = struct.Struct(">i").unpack_from
_write_version = struct.Struct(">h").pack


class ConfigJudge(Protocol):
    """Judges config changes, which takes a question to the cluster."""

    def judge(self, request: Request, door: DoorFacts, client: Client) -> Awaitable[Refusal | None]:
        """What is refused of a change; None for nothing."""


class Observer(Protocol):
    """Takes note of requests (the identity log)."""

    def note(self, header: RequestHeader, frame: bytes, client: Client) -> None:
        """One request that passes; the frame may be its beginning alone."""


@dataclass(frozen=True, slots=True)
class DoorFacts:
    """What a connection knows about the door that it came through."""

    door: Door
    listener: str
    node_id: int | None = None
    """The node behind it; None at the bootstrap address."""


@dataclass(frozen=True, slots=True)
class House:
    """What all connections of a process share."""

    plans: Plans
    judge: Judge
    offered: Offered
    configs: ConfigJudge | None = None
    observer: Observer | None = None


class Gatekeeper:
    """Implements `request_stream.Examiner` and `responses.Surroundings`."""

    def __init__(self, house: House, facts: DoorFacts, client: Client, locate: Locate) -> None:
        self.facts = facts
        self.client = client
        self.locate = locate
        self.door = NodeKind(facts.door)
        self.on_token: Callable[[bool], None] = lambda _: None
        """Told whether bare SASL messages are expected next."""
        self._house = house
        self._login = LoginWatch()

    # -- requests

    def observe(self, frame: bytes) -> None:
        """Hand a passing request to the observer."""
        if self._house.observer is not None:
            with suppress(RemoteProtocolError):
                self._house.observer.note(read_request_header(frame), frame, self.client)

    def examine(self, api_key: int, version: int, frame: bytes, plan: Plan | None) -> Outcome:
        """What is done with a request that does not pass at sight."""
        if plan is None:
            return self._examine_unknown(api_key, version, frame)
        try:
            header = read_request_header(frame)
            self._learn(header, frame)
            if self._house.observer is not None:
                self._house.observer.note(header, frame, self.client)
            if api_key in CONFIG_CHANGES and self._house.judge.modes.judges_configs:
                return self._examine_change(header, frame, plan)
            if not self._house.judge.suspects(header, frame):
                return self._pass(header, frame, plan)
            request = decode_request(frame, header)
        except RemoteProtocolError as error:
            # Kafka closes the connection on what it can't read; so does it with what we pass.
            return Close(error.reason) if self._house.judge.modes.enforces else Pass(plan.responder)
        return self._judge(request, plan, [])

    def _examine_unknown(self, api_key: int, version: int, frame: bytes) -> Settled:
        if api_key == API_VERSIONS:
            return Answer(unsupported_versions(_read_correlation(frame, 4)[0]))
        if self._house.plans.pass_unknown:
            return Pass(None)
        return Close(f"{api_name(api_key)} version {version} is not let in: the gateway can't judge it")

    def _pass(self, header: RequestHeader, frame: bytes, plan: Plan) -> Pass | Replace:
        answered = expects_answer(header.api_key, header.api_version, frame, header.body_offset)
        known = newest_version(header.api_key)
        if header.api_version <= known:
            return Pass(plan.responder, answered)
        return Replace(frame[:2] + _write_version(known) + frame[4:], plan.responder, answered)

    def _judge(self, request: Request, plan: Plan, partials: list[Partial]) -> Settled:
        """Judge a request's identifiers; `partials` have been taken out of it already."""
        judge = self._house.judge
        try:
            refused = judge.judge(request, self.facts.door, self.client)
            refusal = refuse(request, request.body, refused) if refused else None
        except Exception as error:
            return self._fail(error, request, plan, partials)
        return self._settle(request, plan, partials, refusal)

    def _settle(self, request: Request, plan: Plan, partials: list[Partial], refusal: Refusal | None) -> Settled:
        if isinstance(refusal, RefusedByClosing):
            return Close(refusal.reason)
        if isinstance(refusal, Whole):
            body = refusal.response
            for partial in reversed(partials):
                body = partial.merge(body)
            return Answer(self._encode(request, body))
        if isinstance(refusal, Partial):
            partials.append(refusal)
        if not partials:
            return self._pass(request_header(request), bytes(request.frame), plan)
        remaining = encode_request(partials[-1].remaining, request.correlation_id, request.client_id)
        known = min(request.api_version, newest_version(request.api_key))
        merged = Merged(request.api_key, request.api_version, partials, plan.responder)
        return Replace(remaining[:2] + _write_version(known) + remaining[4:], merged)

    def _fail(self, error: Exception, request: Request, plan: Plan, partials: list[Partial]) -> Settled:
        what = f"{api_name(request.api_key)} version {request.api_version}"
        if not self._house.judge.fail(error, what):
            return self._settle(request, plan, partials, None)
        code = ErrorCode.UNKNOWN_SERVER_ERROR
        body = error_response(request.api_key, request.api_version, request.body, code, COULD_NOT_JUDGE)
        return Close(COULD_NOT_JUDGE) if body is None else Answer(self._encode(request, body))

    @staticmethod
    def _encode(request: Request, body: Any) -> bytes:
        return encode_response(request.api_key, request.api_version, request.correlation_id, body)

    # -- config changes

    def _examine_change(self, header: RequestHeader, frame: bytes, plan: Plan) -> Outcome:
        request = decode_request(frame, header)
        configs = self._house.configs
        outcome = self._judge(request, plan, [])
        if configs is None or isinstance(outcome, Answer | Close):
            return outcome
        return Defer(self._judge_change(configs, request, plan, outcome))

    async def _judge_change(
        self, configs: ConfigJudge, request: Request, plan: Plan, outcome: Pass | Replace | Settled
    ) -> Settled:
        partials: list[Partial] = []
        if isinstance(outcome, Replace) and isinstance(outcome.responder, Merged):
            partials = outcome.responder.partials
            request = request._replace(body=partials[-1].remaining)
        try:
            refusal = await configs.judge(request, self.facts, self.client)
        except Exception as error:
            return self._fail(error, request, plan, partials)
        return self._settle(request, plan, partials, refusal)

    # -- who it is

    def _learn(self, header: RequestHeader, frame: bytes) -> None:
        if header.api_key == API_VERSIONS and header.api_version >= 3:
            body = decode_request(frame, header).body
            self.client.software_name = body.client_software_name
            self.client.software_version = body.client_software_version
        elif header.api_key == SASL_HANDSHAKE:
            body = decode_request(frame, header).body
            self._login.ask_handshake(body.mechanism, header.api_version)
            self.on_token(self._login.bare)
        elif header.api_key == SASL_AUTHENTICATE:
            self._login.ask(decode_request(frame, header).body.auth_bytes)

    def take_token(self, frame: bytes) -> Token | None:
        """A frame where a bare SASL message is expected."""
        token = self._login.take_token(frame)
        self._note_principal()
        return token

    def note_login(self, api_key: int, version: int, frame: bytes) -> None:
        """Learn from a SASL response."""
        response = decode_response(api_key, version, frame)
        if api_key == SASL_HANDSHAKE:
            self._login.answer_handshake(response.error_code)
            self.on_token(self._login.bare)
        else:
            self._login.answer(response.error_code)
            self._note_principal()

    def _note_principal(self) -> None:
        if self._login.principal is not None:
            self.client.login = self._login.principal

    def narrow(self, version: int, frame: bytes) -> bytes:
        """Upstream's ApiVersions response with what the gateway offers."""
        return self._house.offered.narrow(version, frame)


def request_header(request: Request) -> RequestHeader:
    """The header of a request that has been decoded."""
    return RequestHeader(
        request.api_key, request.api_version, request.correlation_id, request.client_id, request.body_offset
    )
