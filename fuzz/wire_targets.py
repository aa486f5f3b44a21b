"""One fuzz target per decoder of the wire: any bytes in, an answer or `RemoteProtocolError` out.

A target takes bytes and raises only what is a bug. `mutations` makes bytes that get past the first checks: lawful
messages with a few bytes changed, cut, doubled or swapped for absurd lengths.
"""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.codec import (
    decode_request,
    decode_response,
    encode_body,
    encode_request,
    encode_response,
    read_request_header,
)
from doorkeeper.wire.connection import ClientConnection, ServerConnection
from doorkeeper.wire.defaults import build
from doorkeeper.wire.events import PAUSED, ProtocolViolation, RequestReceived
from doorkeeper.wire.framing import NEED_DATA, FrameReader, frame
from doorkeeper.wire.messages import API_KEYS, message_classes, newest_stable_version, newest_version, oldest_version
from doorkeeper.wire.registry import Door, Registry, Served
from doorkeeper.wire.schema import shape_of

ABSURD = (
    b"\xff\xff\xff\xff\x0f",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xff\xff",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x80" * 6,
)
VERSIONS = [(key, one) for key in sorted(API_KEYS) for one in range(oldest_version(key), newest_version(key) + 1)]
EVERYTHING = Registry(
    [Served(key, oldest_version(key), newest_stable_version(key), frozenset(Door)) for key in API_KEYS], Door.BROKER
)


def _sample(entity: type[Any], depth: int = 0) -> Any:
    values: dict[str, Any] = {}
    for field in fields(entity):
        shape = shape_of(field)
        if shape.array and shape.entity is not None:
            values[field.name] = (_sample(shape.entity, depth + 1),) * (2 - min(depth, 1))
    return build(entity, values)


def lawful_request(chooser: random.Random) -> bytes:
    """A request of any API and version, without its size."""
    api_key, version = chooser.choice(VERSIONS)
    return encode_request(_sample(message_classes(api_key, version).request), 1, "fuzz")


def mutations(seed: int, original: bytes) -> bytes:
    """The bytes with a few accidents, the same for the same seed."""
    chooser = random.Random(seed)
    data = bytearray(original)
    for _ in range(chooser.randrange(4)):
        at = chooser.randrange(len(data) + 1)
        match chooser.randrange(5):
            case 0:
                data[at : at + 1] = bytes((chooser.randrange(256),))
            case 1:
                data[at:at] = chooser.choice(ABSURD)
            case 2:
                absurd = chooser.choice(ABSURD)
                data[at : at + len(absurd)] = absurd
            case 3:
                del data[at : at + chooser.randrange(8)]
            case _:
                data[at:at] = data[max(0, at - 8) : at]
    return bytes(data)


def target_request_header(data: bytes) -> None:
    """A frame begins with a header, or is the peer's fault; the header ends inside the frame."""
    try:
        header = read_request_header(memoryview(data))
    except RemoteProtocolError:
        return
    assert header.body_offset <= len(data)


def target_decode_request(data: bytes) -> None:
    """A frame is a request, or the peer's fault."""
    try:
        request = decode_request(data)
    except RemoteProtocolError:
        return
    encode_body(request.body)


def target_decode_response(data: bytes) -> None:
    """A frame is a response to what was asked (chosen by its first byte), or the peer's fault."""
    api_key, version = VERSIONS[(data[0] if data else 0) * 7 % len(VERSIONS)]
    try:
        body = decode_response(api_key, version, data)
    except RemoteProtocolError:
        return
    encode_response(api_key, version, 1, _retyped(body, api_key, version))


def _retyped(body: Any, api_key: int, version: int) -> Any:
    response = message_classes(api_key, version).response
    return response(**{one.name: getattr(body, one.name) for one in fields(body)})


def target_frame_reader(data: bytes) -> None:
    """A stream is frames, or the peer's fault; no byte is lost or doubled."""
    reader = FrameReader(max_bytes=1000)
    reader.receive_data(data)
    total = 0
    try:
        while (found := reader.next_frame()) is not NEED_DATA:
            total += 4 + len(found)
    except RemoteProtocolError:
        return
    assert total + reader.buffered_bytes == len(data)


def target_server_connection(data: bytes) -> None:
    """A stream is requests, or ends the connection."""
    conn = ServerConnection(EVERYTHING)
    conn.receive_data(frame(data) + data)
    while (event := conn.next_event()) is not NEED_DATA and event is not PAUSED:
        if isinstance(event, ProtocolViolation):
            return
        assert isinstance(event, RequestReceived)
        target_decode_request(bytes(event.frame))
        conn.send_response(event.slot, b"answer")


def target_client_connection(data: bytes) -> None:
    """A stream is responses, or ends the connection."""
    conn = ClientConnection()
    conn.send_request(_sample(message_classes(12, 4).request))
    conn.receive_data(data)
    while (event := conn.next_event()) is not NEED_DATA:
        if isinstance(event, ProtocolViolation):
            return
        try:
            decode_response(event.api_key, event.api_version, event.frame)
        except RemoteProtocolError:
            return
