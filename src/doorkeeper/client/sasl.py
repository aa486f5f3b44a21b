"""The client's half of SASL PLAIN (RFC 4616) and SCRAM (RFC 5802), without I/O.

As in Kafka's ScramFormatter, names and passwords are plain UTF-8: no SASLprep.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from doorkeeper.client.errors import SaslAuthenticationError
from doorkeeper.wire import scram
from doorkeeper.wire.scram import MAX_ITERATIONS, MIN_ITERATIONS, encode64, signature

if TYPE_CHECKING:
    from collections.abc import Generator

    from doorkeeper.client.settings import SaslCredentials


def exchange(credentials: SaslCredentials, nonce: str) -> Generator[bytes, bytes, None]:
    """Yields what to send and is sent what came back; returns when both sides are content.

    :raises SaslAuthenticationError: when the server's answer is wrong.
    """
    if credentials.mechanism == "PLAIN":
        yield f"\0{credentials.username}\0{credentials.password}".encode()
        return
    yield from _scram(credentials, nonce)


def _scram(credentials: SaslCredentials, nonce: str) -> Generator[bytes, bytes, None]:
    mechanism = credentials.mechanism
    client_first = f"n={scram.sasl_name(credentials.username)},r={nonce}"
    server_first = yield f"n,,{client_first}".encode()
    fields = _attributes(server_first)
    server_nonce, salt, iterations = fields.get("r", ""), fields.get("s", ""), fields.get("i", "")
    if not server_nonce.startswith(nonce) or server_nonce == nonce:
        raise SaslAuthenticationError("Invalid server nonce: does not start with client nonce")
    count = int(iterations) if iterations.isascii() and iterations.isdigit() else 0
    if not MIN_ITERATIONS <= count <= MAX_ITERATIONS:
        # A server that asks for more would make us burn time.
        raise SaslAuthenticationError(
            f"The server asks for {iterations} iterations, outside {MIN_ITERATIONS}-{MAX_ITERATIONS}"
        )
    salted = scram.salted_password(mechanism, credentials.password.encode(), _decode64(salt), count)
    without_proof = f"c={encode64(b'n,,')},r={server_nonce}"
    signed = b",".join((client_first.encode(), server_first, without_proof.encode()))
    client_key = scram.client_key(mechanism, salted)
    proof = scram.xor(client_key, signature(mechanism, scram.stored_key(mechanism, client_key), signed))
    server_final = yield f"{without_proof},p={encode64(proof)}".encode()
    expected = signature(mechanism, scram.server_key(mechanism, salted), signed)
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
        return scram.decode64(text)
    except scram.ScramError:
        raise SaslAuthenticationError("The server's SCRAM message is no valid base64") from None
