"""Reading who the client is out of a SASL dialogue that passes by (KIP-43, KIP-152). Upstream alone decides.

PLAIN and SCRAM name the user in the client's first message, OAUTHBEARER in the subject of a token that can be read;
GSSAPI tells nobody but the server. A name counts once the server has said yes. Nothing of what is read is kept but it.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import urlsafe_b64decode
from typing import Any, Final

from doorkeeper.gateway.responses import Token
from doorkeeper.wire.messages import is_known
from doorkeeper.wire.scram import ScramError, username

UNKNOWN: Final = "User:unknown"
"""Somebody that upstream knows, and we don't."""
PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
_ROUNDS: Final = {PLAIN: 1, OAUTHBEARER: 1, "SCRAM-SHA-256": 2, "SCRAM-SHA-512": 2}
"""Messages of the client in a dialogue that goes well."""
_SCRAM_FIRST: Final = re.compile(r"[ny][^,]*,[^,]*,n=(?P<name>[^,]+),r=[^,]+(?P<extensions>.*)", re.DOTALL)
_BEARER: Final = re.compile(r"\x01auth=[Bb]earer (?P<token>[^\x01]+)\x01")


def name_of(mechanism: str, message: bytes) -> str | None:
    """The user that the client's first message claims to be; None when that can't be read."""
    text = message.decode("utf-8", "replace")
    if mechanism == PLAIN:
        parts = text.split("\0")
        return parts[1] if len(parts) == 3 and parts[1] else None
    if mechanism.startswith("SCRAM-"):
        return _scram_name(text)
    return _token_subject(text) if mechanism == OAUTHBEARER else None


def _scram_name(text: str) -> str | None:
    found = _SCRAM_FIRST.fullmatch(text)
    # With a delegation token (KIP-48) the name is the token's id, and its owner is known to the server alone.
    if found is None or "tokenauth=true" in found["extensions"]:
        return None
    try:
        return username(found["name"])
    except ScramError:
        return None


def _token_subject(text: str) -> str | None:
    found = _BEARER.search(text)
    parts = [] if found is None else found["token"].split(".")
    if len(parts) != 3:
        return None
    try:
        claims: Any = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error):
        return None
    subject = claims.get("sub") if isinstance(claims, dict) else None
    return subject if isinstance(subject, str) and subject else None


class LoginWatch:
    """One connection's dialogue, as seen from between its two sides."""

    def __init__(self) -> None:
        self.principal: str | None = None
        """Who the server has let in; None before that."""
        self.bare = False
        """Whether the mechanism's messages come without headers (after a handshake of version 0)."""
        self._mechanism = ""
        self._asked_bare = False
        self._claimed: str | None = None
        self._round = 0

    def ask_handshake(self, mechanism: str, version: int) -> None:
        """The client has chosen."""
        self._mechanism = mechanism
        self._asked_bare = self.bare = version == 0
        self._claimed = None
        self._round = 0

    def answer_handshake(self, code: int) -> None:
        """The server has agreed, or not."""
        if code:
            self.bare = False

    def ask(self, message: bytes) -> None:
        """The client's next message."""
        if self._round == 0:
            self._claimed = name_of(self._mechanism, message)
        self._round += 1

    def answer(self, code: int) -> None:
        """The server's next message went well, or not."""
        rounds = _ROUNDS.get(self._mechanism, 1)
        if code == 0 and self._round >= rounds:
            self.principal = UNKNOWN if self._claimed is None else f"User:{self._claimed}"

    def take_token(self, frame: bytes) -> Token | None:
        """A frame where a bare message is expected; None when it must be a request.

        GSSAPI's number of messages is not known, but they begin with bytes that no request begins with (RFC 2743,
        RFC 4121: 0x60 and 0x0504).
        """
        rounds = _ROUNDS.get(self._mechanism)
        if self._round >= rounds if rounds is not None else self._round > 0 and _begins_request(frame):
            self.bare = False
            return None
        self.ask(frame)
        return Token(lambda _: self.answer(0))


def _begins_request(frame: bytes) -> bool:
    """Whether the frame begins with an API key and a version that there are."""
    return len(frame) >= 10 and is_known(int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big"))
