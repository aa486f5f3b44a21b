"""SCRAM (RFC 5802, RFC 7677) without I/O: its arithmetic, and the server's half of a dialogue.

From ScramFormatter, ScramMessages and ScramSaslServer. As in Kafka, names and passwords are plain UTF-8 without
SASLprep, a name on the wire is ASCII, there is no channel binding, and unknown extensions are ignored.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

HASHES: Final = MappingProxyType({"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"})
MIN_ITERATIONS: Final = 4096  # of either mechanism; RFC 7677
MAX_ITERATIONS: Final = 16384  # ScramControlManager.MAX_ITERATIONS: more would be a denial of service

_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_CLIENT_FIRST: Final = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)"
    rf"(?P<bare>(?:m={_VALUE},)?n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<signed>c=(?P<channel>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
_STRAY_EQUALS: Final = re.compile(r"=(?!2C|3D)")
_TOKEN_EXTENSION: Final = re.compile(r",tokenauth=true(?:,|\Z)", re.IGNORECASE)


class ScramError(Exception):
    """The other side is not who it says, or does not speak SCRAM; the text is for our log, never for the client."""


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """What a server keeps of a password."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def salted_password(mechanism: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """What travels in place of a password when a credential is stored (RFC 5802, `SaltedPassword`)."""
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password, salt, iterations)


def client_key(mechanism: str, salted: bytes) -> bytes:
    """RFC 5802, `ClientKey`."""
    return hmac.digest(salted, b"Client Key", HASHES[mechanism])


def stored_key(mechanism: str, key: bytes) -> bytes:
    """RFC 5802, `StoredKey`, of a client key."""
    return hashlib.new(HASHES[mechanism], key).digest()


def server_key(mechanism: str, salted: bytes) -> bytes:
    """RFC 5802, `ServerKey`."""
    return hmac.digest(salted, b"Server Key", HASHES[mechanism])


def signature(mechanism: str, key: bytes, auth_message: bytes) -> bytes:
    """RFC 5802, `ClientSignature` (of a stored key) and `ServerSignature` (of a server key)."""
    return hmac.digest(key, auth_message, HASHES[mechanism])


def xor(one: bytes, other: bytes) -> bytes:
    """Bit by bit; ValueError for different lengths."""
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def decode64(text: str) -> bytes:
    """Base64 as Java's strict decoder reads it.

    :raises ScramError: for anything else.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ScramError("not valid base64") from None


def encode64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class ScramServer:
    """The server's side of one dialogue: `evaluate` what the client sends until `name` is known.

    A user who does not exist gets a first answer like anybody's (`find` makes one up), and is refused at the end: who
    asks learns nothing about who exists. Kafka refuses such a user at once.
    """

    def __init__(self, mechanism: str, find: Callable[[str], ScramCredential], nonce: str) -> None:
        """:param nonce: this side's part, unpredictable and never used twice."""
        self.name: str | None = None
        """Who the client is, once it has proved it."""
        self._mechanism = mechanism
        self._find = find
        self._nonce = nonce
        self._claimed = ""
        self._credential: ScramCredential | None = None
        self._said = ""
        """Both first messages, as the proof signs them."""

    def evaluate(self, message: bytes) -> bytes:
        """The answer to the client's next message.

        :raises ScramError: when it does not prove what it claims; the dialogue is over.
        """
        if self.name is not None:
            raise ScramError("the dialogue is over")
        text = message.decode("utf-8", "replace")
        return (self._first(text) if self._credential is None else self._final(text, self._credential)).encode()

    def _first(self, text: str) -> str:
        found = _CLIENT_FIRST.fullmatch(text)
        if found is None:
            raise ScramError("the first message is not SCRAM")
        if _TOKEN_EXTENSION.search(found["extensions"]):
            raise ScramError("delegation tokens are not known here")
        self._claimed = username(found["name"])
        if found["authzid"] and found["authzid"] != self._claimed:
            raise ScramError("the client wants to be somebody else")
        credential = self._credential = self._find(self._claimed)
        self._nonce = found["nonce"] + self._nonce
        answer = f"r={self._nonce},s={encode64(credential.salt)},i={credential.iterations}"
        self._said = f"{found['bare']},{answer}"
        return answer

    def _final(self, text: str, credential: ScramCredential) -> str:
        found = _CLIENT_FINAL.fullmatch(text)
        if found is None:
            raise ScramError("the final message is not SCRAM")
        if found["nonce"] != self._nonce:
            raise ScramError("the nonce is not ours")
        signed = f"{self._said},{found['signed']}".encode()
        proof, expected = decode64(found["proof"]), signature(self._mechanism, credential.stored_key, signed)
        if len(proof) != len(expected):
            raise ScramError("the proof has a wrong length")
        if not hmac.compare_digest(stored_key(self._mechanism, xor(proof, expected)), credential.stored_key):
            raise ScramError("the proof is wrong")
        self.name = self._claimed
        return f"v={encode64(signature(self._mechanism, credential.server_key, signed))}"


def username(sasl_name: str) -> str:
    """A name as it was before `=` and `,` were written as `=3D` and `=2C`.

    :raises ScramError: for any other `=`.
    """
    if _STRAY_EQUALS.search(sasl_name):
        raise ScramError("a name with a stray '='")
    return sasl_name.replace("=2C", ",").replace("=3D", "=")


def sasl_name(name: str) -> str:
    """A name as it travels."""
    return name.replace("=", "=3D").replace(",", "=2C")


def made_up(secret: bytes, mechanism: str, name: str) -> ScramCredential:
    """A credential for a name that has none: the same each time, and no password fits."""
    salt = hmac.digest(secret, f"salt {mechanism} {name}".encode(), "sha256")
    key = hmac.digest(secret, f"key {mechanism} {name}".encode(), HASHES[mechanism])
    return ScramCredential(salt, key, key, MIN_ITERATIONS)
