"""Principals as bytes, for Envelope requests. From DefaultKafkaPrincipalBuilder and DefaultPrincipalData version 0."""

from __future__ import annotations

from typing import Final

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.varints import read_unsigned_varint, write_unsigned_varint

VERSION: Final = b"\0\0"
_NOT_BY_TOKEN: Final = b"\0"
_NO_TAGS: Final = b"\0"


def write_principal(principal: str) -> bytes:
    """`User:alice` as Kafka's brokers serialise it."""
    kind, _, name = principal.partition(":")
    out = bytearray(VERSION)
    for text in (kind, name):
        encoded = text.encode()
        write_unsigned_varint(out, len(encoded) + 1)
        out += encoded
    return bytes(out + _NOT_BY_TOKEN + _NO_TAGS)


def read_principal(data: bytes) -> str:
    """The principal in an Envelope.

    :raises RemoteProtocolError: for bytes that are none.
    """
    if data[:2] != VERSION:
        raise RemoteProtocolError("The principal has an unknown version")
    position = 2
    texts = []
    try:
        for _ in range(2):
            length, position = read_unsigned_varint(data, position)
            end = position + length - 1
            if length == 0 or end > len(data):
                raise RemoteProtocolError("The principal ends too early")
            texts.append(data[position:end].decode())
            position = end
    except (IndexError, ValueError) as error:
        raise RemoteProtocolError("The principal can't be read") from error
    return ":".join(texts)
