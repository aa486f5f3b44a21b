"""The end of a Produce, Fetch, ShareFetch or ShareAcknowledge response: node endpoints (KIP-951) and tagged fields.

It is read and written whole. When the response's beginning, and so its size, has left already, the new end must be
as long as the old one: what is shorter is padded with a tagged field that nobody knows and everybody skips (KIP-482),
what is longer goes without endpoints, which makes clients ask for metadata as they did before KIP-951.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.walking import read_unsigned_varint, write_unsigned_varint

ENDPOINTS_TAG: Final = 0
PADDING_TAGS: Final = (126, 127)
"""Tags of one byte that Kafka is far from using."""
_read_int32 = struct.Struct(">i").unpack_from
_write_int32 = struct.Struct(">i").pack


class Endpoint(NamedTuple):
    """Where a node is."""

    node_id: int
    host: str
    port: int
    rack: bytes
    """As it came, its length included."""
    tags: bytes


class Tail(NamedTuple):
    """The end of a response."""

    endpoints: tuple[Endpoint, ...]
    tagged: bool
    """Whether the endpoints are a tagged field themselves."""
    tags: tuple[tuple[int, bytes], ...]
    """The other tagged fields of the root."""


def read_tail(data: bytes, *, tagged: bool) -> Tail:
    """Read the end of a response.

    :raises RemoteProtocolError: when it is none.
    """
    try:
        position = 0
        endpoints: tuple[Endpoint, ...] = ()
        if not tagged:
            endpoints, position = _read_endpoints(data, 0)
        tags, position = _read_tags(data, position)
        if tagged:
            for tag, content in tags:
                if tag == ENDPOINTS_TAG:
                    endpoints, _ = _read_endpoints(content, 0)
            tags = [one for one in tags if one[0] != ENDPOINTS_TAG]
    except (IndexError, struct.error, UnicodeDecodeError):
        raise RemoteProtocolError("a response whose end can't be read") from None
    return Tail(endpoints, tagged, tuple(tags))


def _read_tags(data: bytes, position: int) -> tuple[list[tuple[int, bytes]], int]:
    count, position = read_unsigned_varint(data, position)
    tags = []
    for _ in range(count):
        tag, position = read_unsigned_varint(data, position)
        size, position = read_unsigned_varint(data, position)
        tags.append((tag, data[position : position + size]))
        position += size
    return tags, position


def _read_endpoints(data: bytes, position: int) -> tuple[tuple[Endpoint, ...], int]:
    count, position = read_unsigned_varint(data, position)
    endpoints = []
    for _ in range(count - 1):
        (node_id,) = _read_int32(data, position)
        length, start = read_unsigned_varint(data, position + 4)
        end = start + max(length - 1, 0)
        (port,) = _read_int32(data, end)
        rack_start = end + 4
        length, rack_end = read_unsigned_varint(data, rack_start)
        rack_end += max(length - 1, 0)
        _, position = _read_tags(data, rack_end)
        host = data[start:end].decode()
        endpoints.append(Endpoint(node_id, host, port, data[rack_start:rack_end], data[rack_end:position]))
    return tuple(endpoints), position


def write_tail(tail: Tail) -> bytes:
    """The bytes of an end."""
    array = write_unsigned_varint(len(tail.endpoints) + 1) + b"".join(map(_write_endpoint, tail.endpoints))
    if not tail.tagged:
        return array + _write_tags(tail.tags)
    own = ((ENDPOINTS_TAG, array),) if tail.endpoints else ()
    return _write_tags(own + tail.tags)


def _write_endpoint(endpoint: Endpoint) -> bytes:
    host = endpoint.host.encode()
    length = write_unsigned_varint(len(host) + 1)
    return b"".join(
        (_write_int32(endpoint.node_id), length, host, _write_int32(endpoint.port), endpoint.rack, endpoint.tags)
    )


def _write_tags(tags: tuple[tuple[int, bytes], ...]) -> bytes:
    parts = [write_unsigned_varint(len(tags))]
    for tag, content in tags:
        parts += (write_unsigned_varint(tag), write_unsigned_varint(len(content)), content)
    return b"".join(parts)


def fit_tail(tail: Tail, size: int) -> bytes:
    """The bytes of an end that has to be exactly so long; without endpoints where they have no room."""
    for candidate in (tail, tail._replace(endpoints=())):
        missing = size - len(write_tail(candidate))
        for padding in _paddings(missing):
            written = write_tail(candidate._replace(tags=candidate.tags + padding))
            if len(written) == size:
                return written
    raise RemoteProtocolError(f"no end of {size} bytes can be written")


def _paddings(missing: int) -> tuple[tuple[tuple[int, bytes], ...], ...]:
    """Ways to fill so many bytes; a tagged field takes two bytes or more, from 130 on three or more."""
    first, second = PADDING_TAGS
    if missing == 0:
        return ((),)
    ways: list[tuple[tuple[int, bytes], ...]] = []
    for overhead in (2, 3, 4):
        if missing >= overhead:
            ways.append(((second, bytes(missing - overhead)),))
        if missing >= overhead + 2:
            ways.append(((first, b""), (second, bytes(missing - overhead - 2))))
    return tuple(ways)
