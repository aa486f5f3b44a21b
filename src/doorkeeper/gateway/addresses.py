"""Giving a response's addresses the gateway's own, in its bytes: what is not an address is neither built nor copied.

Where addresses stand at the end of a response that may be long (`Place.LAST`, `Place.LAST_TAG`), `find_tail` says
where the end begins, `stream_tail` does so while the response is still arriving, and the end alone is written anew.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from doorkeeper.gateway.address_table import AddressRow, NodeKind, Place
from doorkeeper.gateway.tails import Endpoint, Tail, read_tail
from doorkeeper.wire.codec import decode_response, encode_body
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.schema import Shape, shape_of, tag_of
from doorkeeper.wire.walking import Span, Walk, WalkGenerator, write_unsigned_varint

Address: TypeAlias = tuple[str, int]
Locate: TypeAlias = Callable[[NodeKind, int, str, int], Address]
"""(kind, node id, real host, real port) -> the address that clients are told."""

CONTROLLERS: Final = 2
"""DescribeCluster's endpoint type for controllers (KIP-919)."""
_write_int16 = struct.Struct(">h").pack
_write_int32 = struct.Struct(">i").pack
_write_uint16 = struct.Struct(">H").pack
_read_int32 = struct.Struct(">i").unpack_from
_NODE_ID, _HOST, _PORT, _ENDPOINT_TYPE = range(4)


class Fields(NamedTuple):
    """How to find the addresses of a response anywhere in it, and how its ports are written."""

    walk: Walk
    flexible: bool
    port_size: int


@remembered
def address_fields(row: AddressRow, api_key: int, version: int) -> Fields:
    """What `edits` needs for this version."""
    entity = message_classes(api_key, version).response
    prefix = f"{row.array}." if row.array else ""
    paths = {row.node_id: _NODE_ID, f"{prefix}host": _HOST, f"{prefix}port": _PORT}
    if any(one.name == "endpoint_type" for one in fields(entity)):
        paths["endpoint_type"] = _ENDPOINT_TYPE
    generator = _UpToLast(paths)
    generator.add_root(entity)
    port_size = 2 if _leaf(entity, f"{prefix}port").kafka_type == "uint16" else 4
    return Fields(generator.compile(), entity.__flexible__, port_size)


def _leaf(entity: type[Any], path: str) -> Shape:
    name, _, rest = path.partition(".")
    (shape,) = (shape_of(one) for one in fields(entity) if one.name == name)
    if not rest:
        return shape
    assert shape.entity is not None
    return _leaf(shape.entity, rest)


class _UpToLast(WalkGenerator):
    """Lines of a walk that ends with the last field asked for."""

    def add_root(self, entity: type[Any]) -> None:
        wanted = {path.split(".")[0] for path in self._paths}
        untagged = [one for one in fields(entity) if tag_of(one) is None]
        last = max(place for place, one in enumerate(untagged, 1) if one.name in wanted)
        for one in untagged[:last]:
            self.add_field(1, shape_of(one), entity.__flexible__, one.name)


def patch_anywhere(row: AddressRow, found: Fields, frame: bytes, offset: int, door: NodeKind, locate: Locate) -> bytes:
    """The response with the gateway's addresses.

    :param offset: where its body begins.
    :raises IndexError: when the bytes are no such response; so does `RemoteProtocolError` say.
    """
    spans: list[Span] = []
    found.walk(frame, offset, [], spans)
    kind = row.kind or _stated_kind(spans, frame) or door
    parts: list[bytes] = []
    done = node_id = 0
    host = (0, 0)
    for index, start, end in spans:
        if index == _NODE_ID:
            (node_id,) = _read_int32(frame, start)
        elif index == _HOST:
            host = (start, end)
        elif index == _PORT and host[0] < host[1]:
            text = frame[host[0] : host[1]].decode()
            port = int.from_bytes(frame[start:end], "big")
            size = _prefix_size(host[1] - host[0], found.flexible)
            parts.append(frame[done : host[0] - size])
            parts.append(_encode(*locate(kind, node_id, text, port), found))
            done = end
    parts.append(frame[done:])
    return b"".join(parts)


def _stated_kind(spans: list[Span], frame: bytes) -> NodeKind | None:
    for index, start, _ in spans:
        if index == _ENDPOINT_TYPE:
            return NodeKind.CONTROLLER if frame[start] == CONTROLLERS else NodeKind.BROKER
    return None


def _prefix_size(length: int, flexible: bool) -> int:
    return len(write_unsigned_varint(length + 1)) if flexible else 2


def _encode(host: str, port: int, found: Fields) -> bytes:
    encoded = host.encode()
    length = write_unsigned_varint(len(encoded) + 1) if found.flexible else _write_int16(len(encoded))
    return length + encoded + (_write_uint16(port) if found.port_size == 2 else _write_int32(port))


# -- addresses at the end


@remembered
def tail_finder(row: AddressRow, api_key: int, version: int) -> Walk:
    """The walk from the body's beginning to the array at the end, or to the root's tagged fields."""
    generator = WalkGenerator({})
    for shape in _before_tail(row, message_classes(api_key, version).response):
        generator.add_field(1, shape, True, "")
    return generator.compile()


@remembered
def _before_tail(row: AddressRow, entity: type[Any]) -> tuple[Shape, ...]:
    assert entity.__flexible__
    untagged = [one for one in fields(entity) if tag_of(one) is None]
    if row.place is Place.LAST:
        assert untagged.pop().name == row.array
    return tuple(map(shape_of, untagged))


def patch_tail(tail: Tail, kind: NodeKind, locate: Locate) -> Tail:
    """The end of a response with the gateway's addresses."""
    return tail._replace(endpoints=tuple(_moved(one, kind, locate) for one in tail.endpoints))


def _moved(endpoint: Endpoint, kind: NodeKind, locate: Locate) -> Endpoint:
    host, port = locate(kind, endpoint.node_id, endpoint.host, endpoint.port)
    return endpoint._replace(host=host, port=port)


class Cursor:
    """A place in bytes that are still arriving: `position` may lie beyond `chunk`, in bytes to come."""

    __slots__ = ("chunk", "position")

    def __init__(self, chunk: bytes, position: int) -> None:
        self.chunk = chunk
        self.position = position

    def varint(self) -> Generator[None, None, int]:
        """An unsigned varint; waits at the end of the chunk."""
        value = shift = 0
        while True:
            while self.position >= len(self.chunk):
                yield
            byte = self.chunk[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7


TailStream: TypeAlias = Generator[None, None, None]


def stream_tail(row: AddressRow, api_key: int, version: int, cursor: Cursor) -> TailStream:
    """Move the cursor to the response's end as its bytes arrive; `next()` it whenever the cursor has a new chunk.

    From the beginning of the body. Every byte before the cursor may be passed on; none is kept.
    """
    yield from _stream_fields(_before_tail(row, message_classes(api_key, version).response), cursor)
    while cursor.position >= len(cursor.chunk):
        yield


def _stream_fields(shapes: tuple[Shape, ...], cursor: Cursor) -> TailStream:
    for shape in shapes:
        if shape.array:
            count = yield from cursor.varint()
            for _ in range(count - 1):
                yield from _stream_item(shape, cursor)
        else:
            yield from _stream_item(shape, cursor)


def _stream_item(shape: Shape, cursor: Cursor) -> TailStream:
    if shape.entity is not None:
        yield from _stream_fields(_untagged(shape.entity), cursor)
        yield from _stream_tags(cursor)
    elif (size := _fixed_size(shape.kafka_type)) is not None:
        cursor.position += size
    else:
        length = yield from cursor.varint()
        cursor.position += max(length - 1, 0)


def _stream_tags(cursor: Cursor) -> TailStream:
    count = yield from cursor.varint()
    for _ in range(count):
        yield from cursor.varint()
        size = yield from cursor.varint()
        cursor.position += size


@remembered
def _untagged(entity: type[Any]) -> tuple[Shape, ...]:
    return tuple(shape_of(one) for one in fields(entity) if tag_of(one) is None)


def _fixed_size(kafka_type: str | None) -> int | None:
    from doorkeeper.wire.schema import FIXED_SIZES

    return FIXED_SIZES.get(str(kafka_type))


# -- rare ones


def patch_decoded(row: AddressRow, api_key: int, version: int, frame: Frame, kind: NodeKind, locate: Locate) -> bytes:
    """The body of a response, decoded and encoded again with the gateway's addresses."""
    body = decode_response(api_key, version, frame)
    held = getattr(body, row.array)
    id_name = row.node_id.rpartition(".")[2]
    if isinstance(held, tuple):
        moved: Any = tuple(_moved_object(one, id_name, kind, locate) for one in held)
    else:
        moved = _moved_object(held, id_name, kind, locate) if is_dataclass(held) else held
    return encode_body(replace(body, **{row.array: moved}))


def _moved_object(held: Any, id_name: str, kind: NodeKind, locate: Locate) -> Any:
    if not held.host:
        return held
    host, port = locate(kind, getattr(held, id_name), held.host, held.port)
    return replace(held, host=host, port=port)


__all__ = [
    "Address",
    "Cursor",
    "Fields",
    "Locate",
    "TailStream",
    "address_fields",
    "patch_anywhere",
    "patch_decoded",
    "patch_tail",
    "read_tail",
    "stream_tail",
    "tail_finder",
]
