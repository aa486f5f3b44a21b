"""Requests and responses as bytes; the only user of kio's decoder.

A request is peeked at first (`read_request_header`: a few fixed fields and the client id, no message built) and decoded
only when somebody needs its body. Frames carry no length prefix here: see `framing`.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kio.serial import entity_reader
from kio.serial.errors import InvalidUnicode, SerialError

from doorkeeper.errors import LocalProtocolError, RemoteProtocolError
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.javatext import decode_utf8
from doorkeeper.wire.cloning import with_plain_codes
from doorkeeper.wire.encoder import encoder
from doorkeeper.wire.fence import fenced, is_harmless, is_screened, mended
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.messages import API_KEYS, API_VERSIONS, api_name, is_flexible, message_classes
from doorkeeper.wire.nulls import null_check
from doorkeeper.wire.walking import read_unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_HEADER_TAGS: Final = 64
"""Tagged fields in a header; Kafka defines none, so this is room for the future, not for floods."""

_read_header = struct.Struct(">hhih").unpack_from
_write_header = struct.Struct(">hhi").pack
_write_int16 = struct.Struct(">h").pack
_read_int32 = struct.Struct(">i").unpack_from
_write_int32 = struct.Struct(">i").pack
_HEADER_BYTES: Final = 10
_WRITE_FAULTS: Final = (struct.error, TypeError, AttributeError, ValueError, OverflowError)
_READ_FAULTS: Final = (RemoteProtocolError, SerialError, ValueError, OverflowError, KeyError)


class RequestHeader(NamedTuple):
    """What leads a request, and where its body begins in the frame."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


class Request(NamedTuple):
    """A request read in full. `frame` is as it came: `frame[body_offset:]` are the bytes of `body`."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body: Any
    frame: Frame
    body_offset: int


def read_request_header(frame: Frame) -> RequestHeader:
    """Read a request's header, version 1 or 2 as its API and version demand (RequestHeader.java, `parse`).

    An ApiVersions request of an unknown version is read as far as its client id, for it gets an answer (KIP-511).

    :raises RemoteProtocolError: for an unknown API or version, or too few bytes.
    """
    try:
        api_key, api_version, correlation_id, length = _read_header(frame)
    except struct.error:
        raise RemoteProtocolError(f"A request of {len(frame)} bytes has no header") from None
    client_id, offset = _read_client_id(frame, length)
    try:
        flexible = is_flexible(api_key, api_version)
    except LocalProtocolError:
        if api_key != API_VERSIONS:
            raise _unsupported(api_key, api_version) from None
        return RequestHeader(api_key, api_version, correlation_id, client_id, offset)
    if flexible:
        offset = _skip_tags(frame, offset)
    return RequestHeader(api_key, api_version, correlation_id, client_id, offset)


def _unsupported(api_key: int, api_version: int) -> RemoteProtocolError:
    if api_key not in API_KEYS:
        return RemoteProtocolError(f"Unknown API key {api_key}", ErrorCode.INVALID_REQUEST)
    return RemoteProtocolError(
        f"Received request for api with key {api_key} ({api_name(api_key)}) and unsupported version {api_version}",
        ErrorCode.UNSUPPORTED_VERSION,
    )


def _read_client_id(frame: Frame, length: int) -> tuple[str | None, int]:
    if length < 0:
        if length != -1:
            raise RemoteProtocolError(f"The client id has the negative length {length}")
        return None, _HEADER_BYTES
    end = _HEADER_BYTES + length
    if end > len(frame):
        raise RemoteProtocolError("The request ends inside its client id")
    return decode_utf8(frame[_HEADER_BYTES:end]), end


def _skip_tags(frame: Frame, offset: int) -> int:
    try:
        count, offset = read_unsigned_varint(frame, offset)
        if count > MAX_HEADER_TAGS:
            raise RemoteProtocolError(f"The header has {count} tagged fields")
        for _ in range(count):
            _, offset = read_unsigned_varint(frame, offset)
            size, offset = read_unsigned_varint(frame, offset)
            offset += size
    except IndexError:
        raise RemoteProtocolError("The message ends inside its header") from None
    if offset > len(frame):
        raise RemoteProtocolError("The message ends inside its header")
    return offset


def decode_request(frame: Frame, header: RequestHeader | None = None) -> Request:
    """Read a request in full, its header too unless given.

    :raises RemoteProtocolError: for bytes that are no such request.
    """
    if header is None:
        header = read_request_header(frame)
    api_key, api_version, correlation_id, client_id, offset = header
    try:
        entity = message_classes(api_key, api_version).request
    except LocalProtocolError:
        raise _unsupported(api_key, api_version) from None
    body = decode_body(entity, frame, offset)
    return Request(api_key, api_version, correlation_id, client_id, body, frame, offset)


def decode_body(entity: type[Any], frame: Frame, offset: int) -> Any:
    """Read `frame[offset:]` as one message of the given class, to its last byte.

    :raises RemoteProtocolError: whatever is wrong with the bytes.
    """
    try:
        body = _read_body(entity, frame, offset)
        null_check(entity)(body)
    except _READ_FAULTS as error:
        cause = error.reason if isinstance(error, RemoteProtocolError) else str(error)
        reason = f"Malformed {entity.__name__} version {entity.__version__}: {cause}"
        raise RemoteProtocolError(reason, ErrorCode.INVALID_REQUEST) from error
    return body


def _read_body(entity: type[Any], frame: Frame, offset: int) -> Any:
    try:
        return _read_fenced(entity, frame, offset)
    except InvalidUnicode:
        frame, offset = mended(entity, frame, offset)
        return _reader(entity)(frame, offset)[0]


def _read_fenced(entity: type[Any], frame: Frame, offset: int) -> Any:
    read = _reader(entity)
    if is_screened(entity):
        frame = bytes(frame)
        if is_harmless(frame, offset):
            with suppress(KeyError):
                return read(frame, offset)[0]
    frame, offset = fenced(entity, frame, offset)
    return read(frame, offset)[0]


@remembered
def _reader(entity: type[Any]) -> Callable[[Frame, int], tuple[Any, int]]:
    return entity_reader(entity)


def encode_parts(body: Any) -> list[Frame]:
    """The bytes of a message in pieces, without header; records and other payload are not copied.

    :raises LocalProtocolError: when a field does not fit the protocol (too long, wrong type, lone surrogate).
    """
    parts: list[Frame] = []
    try:
        encoder(type(body))(body, parts.append)
    except _WRITE_FAULTS as error:
        raise LocalProtocolError(f"{type(body).__name__} can't be written: {error}") from error
    return parts


def encode_body(body: Any) -> bytes:
    """The bytes of a message, without header.

    :raises LocalProtocolError: like `encode_parts`.
    """
    parts = encode_parts(body)
    try:
        return b"".join(parts)
    except TypeError as error:
        raise LocalProtocolError(f"{type(body).__name__} can't be written: {error}") from error


@remembered
def _response_header_is_flexible(api_key: int, version: int) -> bool:
    """ApiVersions keeps header version 0 at every version (KIP-511)."""
    header_version: int = message_classes(api_key, version).response.__header_schema__.__version__
    return header_version >= 1


def response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """The bytes that lead a response of that API and version."""
    if _response_header_is_flexible(api_key, version):
        return _write_int32(correlation_id) + b"\0"
    return _write_int32(correlation_id)


def encode_answer(api_key: int, version: int, body: Any) -> bytes:
    """A response's body, without header.

    :raises LocalProtocolError: when the body is of another API or version, or does not fit the protocol.
    """
    kind = type(body)
    if (kind.__api_key__, kind.__version__) != (api_key, version):
        raise LocalProtocolError(
            f"a {kind.__name__} version {kind.__version__} is no answer to {api_name(api_key)} version {version}"
        )
    return encode_body(body)


def encode_response(api_key: int, version: int, correlation_id: int, body: Any) -> bytes:
    """A response, header and body.

    :raises LocalProtocolError: like `encode_answer`.
    """
    return response_header(api_key, version, correlation_id) + encode_answer(api_key, version, body)


def encode_request(body: Any, correlation_id: int, client_id: str | None) -> bytes:
    """A request, header and body.

    :raises LocalProtocolError: when a field, or the client id, does not fit the protocol.
    """
    kind = type(body)
    header = _write_header(kind.__api_key__, kind.__version__, correlation_id)
    tags = b"\0" if is_flexible(kind.__api_key__, kind.__version__) else b""
    return b"".join((header, _encode_client_id(client_id), tags, encode_body(body)))


def _encode_client_id(client_id: str | None) -> bytes:
    """The header's client id is an old-style string at every version (RequestHeader.json)."""
    if client_id is None:
        return b"\xff\xff"
    try:
        encoded = client_id.encode()
        return _write_int16(len(encoded)) + encoded
    except (UnicodeEncodeError, struct.error) as error:
        raise LocalProtocolError(f"the client id does not fit the protocol: {error}") from error


def read_correlation_id(frame: Frame) -> int:
    """The first field of every response.

    :raises RemoteProtocolError: when there are not even four bytes.
    """
    if len(frame) < 4:
        raise RemoteProtocolError(f"A response of {len(frame)} bytes has no header")
    correlation_id: int = _read_int32(frame)[0]
    return correlation_id


def decode_response(api_key: int, version: int, frame: Frame) -> Any:
    """Read a response's body. Error codes are plain numbers, so that codes which kio does not know can be read.

    :raises RemoteProtocolError: for bytes that are no such response.
    """
    read_correlation_id(frame)
    offset = 4
    if _response_header_is_flexible(api_key, version):
        offset = _skip_tags(frame, offset)
    return decode_body(with_plain_codes(message_classes(api_key, version).response), frame, offset)
