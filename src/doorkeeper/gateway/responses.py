"""What is done with a response on its way to the client: addresses and versions are rewritten, logins are watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

from doorkeeper.door.refusal import Partial
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.address_table import AddressRow, NodeKind, Place, address_row
from doorkeeper.gateway.addresses import (
    Cursor,
    Locate,
    TailStream,
    address_fields,
    patch_anywhere,
    patch_decoded,
    patch_tail,
    stream_tail,
    tail_finder,
)
from doorkeeper.gateway.tails import fit_tail, read_tail, write_tail
from doorkeeper.wire.codec import decode_response, encode_response, response_header
from doorkeeper.wire.messages import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE

CORRELATION_BYTES: Final = 4
_NOTHING_TO_SAY: Final = b"\0"
"""The end of a response without tagged fields."""


class Surroundings(Protocol):
    """What a responder may ask of its connection."""

    @property
    def door(self) -> NodeKind:
        """What the client talks to."""

    @property
    def locate(self) -> Locate:
        """Where nodes are, for this client."""

    def narrow(self, version: int, frame: bytes) -> bytes:
        """Upstream's ApiVersions response with what the gateway offers."""

    def note_login(self, api_key: int, version: int, frame: bytes) -> None:
        """Learn from a SASL response."""


class Responder(Protocol):
    """One way to treat a response."""

    streams: bool
    """Whether the response may pass while it arrives; else it is gathered first."""

    def rewrite(self, frame: bytes, around: Surroundings) -> bytes | None:
        """The response to send instead, header first and without its size; None for the one that came."""


class Addressed:
    """A response that is searched for addresses."""

    streams = False

    def __init__(self, api_key: int, version: int, row: AddressRow) -> None:
        self._api_key, self._version, self._row = api_key, version, row
        self._header = len(response_header(api_key, version, 0))

    def rewrite(self, frame: bytes, around: Surroundings) -> bytes | None:
        """Patch the bytes."""
        row = self._row
        if row.place is Place.DECODED:
            kind = row.kind or around.door
            return frame[: self._header] + patch_decoded(row, self._api_key, self._version, frame, kind, around.locate)
        found = address_fields(row, self._api_key, self._version)
        offset = header_end(frame, self._header)
        try:
            return patch_anywhere(row, found, frame, offset, around.door, around.locate)
        except (IndexError, UnicodeDecodeError):
            raise RemoteProtocolError("a response in which no addresses can be found") from None


class AddressedAtEnd:
    """A response whose last part may hold addresses; the rest, records above all, is not looked at."""

    streams = True

    def __init__(self, api_key: int, version: int, row: AddressRow) -> None:
        self._api_key, self._version, self._row = api_key, version, row
        self._header = len(response_header(api_key, version, 0))
        self._tagged = row.place is Place.LAST_TAG
        self._walk = tail_finder(row, api_key, version)

    def rewrite(self, frame: bytes, around: Surroundings) -> bytes | None:
        """Patch the end of a response that is there whole."""
        start = self.find(frame, 0, len(frame))
        tail = frame[start:]
        if self.is_plain(tail):
            return None
        return frame[:start] + write_tail(self._patch(tail, around))

    def find(self, data: bytes, start: int, stop: int) -> int:
        """Where the end of the response in `data[start:stop]` begins."""
        try:
            found = self._walk(data, header_end(data, self._header, start), [], [])
        except IndexError:
            found = stop
        if found >= stop:
            raise RemoteProtocolError("a response that ends before its last field")
        return found

    def speaks(self, data: bytes, start: int, stop: int) -> bool:
        """Whether the end of the response in `data[start:stop]` says anything; nothing is copied."""
        return not self.is_plain(data[self.find(data, start, stop) : stop])

    def is_plain(self, tail: bytes) -> bool:
        """Whether the end says nothing: no endpoints, no tagged fields."""
        return tail == (_NOTHING_TO_SAY if self._tagged else b"\1\0")

    def begin(self, chunk: bytes, start: int) -> tuple[Cursor, TailStream]:
        """Follow a response that is still arriving and begins, header first, at `chunk[start]`."""
        # A response header's tagged fields have never been used; one byte says that there are none.
        cursor = Cursor(chunk, start + self._header)
        return cursor, stream_tail(self._row, self._api_key, self._version, cursor)

    def fit(self, tail: bytes, around: Surroundings) -> bytes:
        """Patch the end of a response whose beginning has been sent: as long as it was."""
        return tail if self.is_plain(tail) else fit_tail(self._patch(tail, around), len(tail))

    def _patch(self, tail: bytes, around: Surroundings) -> Any:
        return patch_tail(read_tail(tail, tagged=self._tagged), self._row.kind or around.door, around.locate)


class NarrowedVersions:
    """ApiVersions: upstream's, without what the gateway can't judge."""

    streams = False

    def __init__(self, version: int) -> None:
        self._version = version

    def rewrite(self, frame: bytes, around: Surroundings) -> bytes | None:
        """Narrow the ranges."""
        return around.narrow(self._version, frame)


class WatchedLogin:
    """SaslHandshake and SaslAuthenticate: passed on, and read for the principal."""

    streams = False

    def __init__(self, api_key: int, version: int) -> None:
        self._api_key, self._version = api_key, version

    def rewrite(self, frame: bytes, around: Surroundings) -> bytes | None:
        """Read only."""
        around.note_login(self._api_key, self._version, frame)
        return None


class Token:
    """The server's bare SASL message after a SaslHandshake of version 0: any bytes, without a correlation id."""

    streams = False

    def __init__(self, note: Callable[[bytes], None]) -> None:
        self._note = note

    def rewrite(self, frame: bytes, around: Surroundings) -> bytes | None:
        """Read only."""
        self._note(frame)
        return None


class Merged:
    """The response to what was left of a request: the refused items come back in their places."""

    streams = False

    def __init__(self, api_key: int, version: int, partials: list[Partial], then: Responder | None) -> None:
        """:param partials: the refusals, the first that was taken out of the request first."""
        self._api_key, self._version = api_key, version
        self.partials = partials
        self._then = then

    def rewrite(self, frame: bytes, around: Surroundings) -> bytes | None:
        """Decode, merge and encode."""
        if self._then is not None:
            frame = self._then.rewrite(frame, around) or frame
        body = decode_response(self._api_key, self._version, frame)
        for partial in reversed(self.partials):
            body = partial.merge(body)
        correlation_id = int.from_bytes(frame[:CORRELATION_BYTES], "big", signed=True)
        return encode_response(self._api_key, self._version, correlation_id, body)


def header_end(frame: bytes, size: int, start: int = 0) -> int:
    """Where the body begins; `size` is that of a header without tagged fields, and there are never any."""
    if size > CORRELATION_BYTES and frame[start + CORRELATION_BYTES]:
        raise RemoteProtocolError("a response header with tagged fields")
    return start + size


AnyResponder: TypeAlias = Addressed | AddressedAtEnd | NarrowedVersions | WatchedLogin


def responder_for(api_key: int, version: int) -> Responder | None:
    """What is done with the responses of one version of one API."""
    if api_key == API_VERSIONS:
        return NarrowedVersions(version)
    if api_key in (SASL_HANDSHAKE, SASL_AUTHENTICATE):
        return WatchedLogin(api_key, version)
    row = address_row(api_key, version)
    if row is None:
        return None
    at_end = row.place in (Place.LAST, Place.LAST_TAG)
    return AddressedAtEnd(api_key, version, row) if at_end else Addressed(api_key, version, row)
