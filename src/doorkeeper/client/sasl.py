"""The client's half of SASL PLAIN (RFC 4616) and SCRAM (RFC 5802), without I/O.

As in Kafka's ScramFormatter, names and passwords are plain UTF-8: no SASLprep.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

from doorkeeper.client.errors import SaslAuthenticationError

if TYPE_CHECKING:
    from collections.abc import Generator

    from doorkeeper.client.settings import SaslCredentials

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
"""Kafka's ScramMechanism: a server that asks for more would make us burn time."""
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def exchange(credentials: SaslCredentials, nonce: str) -> Generator[bytes, bytes, None]:
    """Yields what to send and is sent what came back; returns when both sides are content.

    :raises SaslAuthenticationError: when the server's answer is wrong.
    """
    if credentials.mechanism == "PLAIN":
        yield f"\0{credentials.username}\0{credentials.password}".encode()
        return
    yield from _scram(_HASHES[credentials.mechanism], credentials, nonce)


def salted_password(mechanism: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """What the cluster stores in place of a password (RFC 5802, `SaltedPassword`)."""
    return hashlib.pbkdf2_hmac(_HASHES[mechanism], password, salt, iterations)


def _scram(algorithm: str, credentials: SaslCredentials, nonce: str) -> Generator[bytes, bytes, None]:
    username = credentials.username.replace("=", "=3D").replace(",", "=2C")
    client_first = f"n={username},r={nonce}"
    server_first = yield f"n,,{client_first}".encode()
    fields = _attributes(server_first)
    server_nonce, salt, iterations = fields.get("r", ""), fields.get("s", ""), fields.get("i", "")
    if not server_nonce.startswith(nonce) or server_nonce == nonce:
        raise SaslAuthenticationError("Invalid server nonce: does not start with client nonce")
    count = int(iterations) if iterations.isascii() and iterations.isdigit() else 0
    if not MIN_ITERATIONS <= count <= MAX_ITERATIONS:
        raise SaslAuthenticationError(
            f"The server asks for {iterations} iterations, outside {MIN_ITERATIONS}-{MAX_ITERATIONS}"
        )
    salted = hashlib.pbkdf2_hmac(algorithm, credentials.password.encode(), _decode64(salt), count)
    without_proof = f"c={base64.b64encode(b'n,,').decode()},r={server_nonce}"
    signed = b",".join((client_first.encode(), server_first, without_proof.encode()))
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), signed, algorithm)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    server_final = yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), signed, algorithm)
    answer = _attributes(server_final)
    if "e" in answer:
        raise SaslAuthenticationError(f"The server refused the credentials: {answer['e']}")
    if not hmac.compare_digest(_decode64(answer.get("v", "")), expected):
        raise SaslAuthenticationError("Invalid server signature in server final message")


def _attributes(message: bytes) -> dict[str, str]:
    parts = (part.partition("=") for part in message.decode("utf-8", "replace").split(","))
    return {name: value for name, _, value in parts}


def _decode64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SaslAuthenticationError("The server's SCRAM message is no valid base64") from None
