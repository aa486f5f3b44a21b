"""How a connection gets its principal over SASL, without I/O (KIP-43, KIP-152). From SaslServerAuthenticator.

    Silent ──to_versioned──> Versioned ──to_exchanging──> Exchanging ──to_ended──> Ended
      └─────────────────────to_exchanging────────────────────┘

Until the end nothing is answered but ApiVersions (once), SaslHandshake, and then SaslAuthenticate; after a handshake of
version 0 the mechanism's messages come bare, each in a frame of its own. Re-authentication (KIP-368) is not offered.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from kio.schema.errors import ErrorCode

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.answers import error_response
from doorkeeper.wire.codec import Request
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, api_name, message_classes
from doorkeeper.wire.scram import ScramError

PLAIN: Final = "PLAIN"
NUL: Final = "\0"


class Dialogue(Protocol):
    """The server's side of one mechanism (`scram.ScramServer`, `PlainServer`)."""

    @property
    def name(self) -> str | None:
        """Who the client is, once it has proved it."""

    def evaluate(self, message: bytes) -> bytes:
        """The answer to the client's next message; ScramError or SaslRefusedError ends it."""


class SaslRefusedError(Exception):
    """The client is refused, with a message that it may read."""


class PlainServer:
    """SASL PLAIN (RFC 4616), from PlainSaslServer and its callback handler."""

    def __init__(self, users: Mapping[str, str]) -> None:
        """:param users: names and passwords."""
        self.name: str | None = None
        self._users = users

    def evaluate(self, message: bytes) -> bytes:
        tokens = message.decode("utf-8", "replace").split(NUL, maxsplit=3)
        if len(tokens) != 3:
            raise SaslRefusedError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}")
        authorization_id, name, password = tokens
        if not name:
            raise SaslRefusedError("Authentication failed: username not specified")
        if not password:
            raise SaslRefusedError("Authentication failed: password not specified")
        # Compared in any case, so that a name that nobody has takes as long as another.
        expected = self._users.get(name)
        is_right = hmac.compare_digest((expected or "").encode("utf-8", "surrogatepass"), password.encode())
        if expected is None or not is_right:
            raise SaslRefusedError("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            raise SaslRefusedError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.name = name
        return b""


@dataclass(frozen=True, slots=True)
class Ended:
    """The client is known, or refused."""


@dataclass(frozen=True, slots=True)
class Exchanging:
    """The mechanism's messages go to and fro."""

    mechanism: str
    dialogue: Dialogue
    has_headers: bool
    """Whether they come in SaslAuthenticate requests, and not bare."""

    def to_ended(self) -> Ended:
        return Ended()


@dataclass(frozen=True, slots=True)
class Versioned:
    """The client has been told the versions."""

    def to_exchanging(self, mechanism: str, dialogue: Dialogue, *, has_headers: bool) -> Exchanging:
        return Exchanging(mechanism, dialogue, has_headers)

    def to_ended(self) -> Ended:
        return Ended()


@dataclass(frozen=True, slots=True)
class Silent(Versioned):
    """Nothing has been said."""

    def to_versioned(self) -> Versioned:
        return Versioned()


State: TypeAlias = Silent | Versioned | Exchanging | Ended


class Outcome(NamedTuple):
    """What to answer to a message, and whether that was the last."""

    answer: Any
    """A response, the bytes of a bare message, or None for no answer."""
    principal: str | None = None
    """Who the client is, if it is known now."""
    refusal: str | None = None
    """Why the client is refused: answer, but not at once, and close."""


class SaslLogin:
    """One connection's login."""

    def __init__(self, mechanisms: Mapping[str, Callable[[], Dialogue]]) -> None:
        """:param mechanisms: those that are enabled, and what begins a dialogue in each."""
        self.state: State = Silent()
        self._mechanisms = mechanisms

    @property
    def expects_token(self) -> bool:
        """Whether the next frame is a bare message of the mechanism."""
        return isinstance(self.state, Exchanging) and not self.state.has_headers

    def require_expected(self, api_key: int) -> None:
        """Refuse what can't be read before a handshake, unread: the connection is closed without an answer.

        :raises RemoteProtocolError: for it.
        """
        if isinstance(self.state, Exchanging) or api_key == SASL_HANDSHAKE:
            return
        if api_key != API_VERSIONS or not isinstance(self.state, Silent):
            raise RemoteProtocolError(f"Unexpected Kafka request of type {api_name(api_key)} during SASL handshake.")

    def asks_for_versions(self, api_key: int) -> bool:
        """Whether this is the one request that the service answers."""
        return api_key == API_VERSIONS and isinstance(self.state, Silent)

    def note_versions(self) -> None:
        """The client has been told the versions: it may not ask again."""
        if isinstance(self.state, Silent):
            self.state = self.state.to_versioned()

    def receive(self, request: Request) -> Outcome:
        """Answer a request that `require_expected` let pass and the service does not answer."""
        state = self.state
        if isinstance(state, Versioned):
            return self._handshake(state, request)
        assert isinstance(state, Exchanging)
        if request.api_key == SASL_AUTHENTICATE:
            return self._authenticate(state, request)
        self.state = state.to_ended()
        refusal = f"Unexpected Kafka request of type {api_name(request.api_key)} during SASL authentication."
        code = int(ErrorCode.illegal_sasl_state)
        return Outcome(
            error_response(request.api_key, request.api_version, request.body, code, refusal), refusal=refusal
        )

    def _handshake(self, state: Versioned, request: Request) -> Outcome:
        mechanism = request.body.mechanism
        begin = self._mechanisms.get(mechanism)
        code = ErrorCode.none if begin else ErrorCode.unsupported_sasl_mechanism
        response = message_classes(SASL_HANDSHAKE, request.api_version).response
        answer = build(response, {"error_code": code, "mechanisms": tuple(self._mechanisms)})
        if begin is None:
            self.state = state.to_ended()
            return Outcome(answer, refusal="Unsupported SASL mechanism")
        self.state = state.to_exchanging(mechanism, begin(), has_headers=request.api_version >= 1)
        return Outcome(answer)

    def _authenticate(self, state: Exchanging, request: Request) -> Outcome:
        response = message_classes(SASL_AUTHENTICATE, request.api_version).response
        token, principal, refusal = self._evaluate(state, request.body.auth_bytes)
        if refusal is None:
            return Outcome(build(response, {"auth_bytes": token}), principal)
        failed = {"error_code": ErrorCode.sasl_authentication_failed, "error_message": refusal}
        return Outcome(build(response, failed), refusal=refusal)

    def receive_token(self, token: bytes) -> Outcome:
        """Answer a bare message; a refusal is told by closing alone."""
        assert isinstance(self.state, Exchanging)
        return self._evaluate(self.state, token)

    def _evaluate(self, state: Exchanging, token: bytes) -> Outcome:
        try:
            answer = state.dialogue.evaluate(token)
        except SaslRefusedError as error:
            self.state = state.to_ended()
            return Outcome(None, refusal=str(error))
        except ScramError:
            self.state = state.to_ended()
            # What was wrong would tell who exists.
            reason = "Authentication failed during authentication due to invalid credentials with SASL mechanism"
            return Outcome(None, refusal=f"{reason} {state.mechanism}")
        if state.dialogue.name is None:
            return Outcome(answer)
        self.state = state.to_ended()
        return Outcome(answer, f"User:{state.dialogue.name}")
