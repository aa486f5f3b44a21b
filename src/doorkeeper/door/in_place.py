"""Judging a request on its bytes, for the gateway: no message is built, and most requests need no more than this.

A UTF-16 code unit takes at least one byte of UTF-8, so a string of as many bytes as the limit has units is lawful.
What has more bytes is decoded and judged with care (`judge`).
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, Final, NamedTuple

from doorkeeper.door.judged import Keeper, body_limits
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.rules.javatext import decode_utf8
from doorkeeper.rules.names import MAX_NAME_LENGTH
from doorkeeper.wire.codec import RequestHeader
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.schema import shape_of, tag_of
from doorkeeper.wire.walking import Span, Walk, WalkGenerator

_BREACH: Final = -1
_CERTAIN: Final = MAX_NAME_LENGTH // 2  # so many code points never exceed the limit: each has at most two units


class _Forgetful(list[Any]):
    """A list that keeps nothing: where the walk notes what nobody will ask for."""

    def append(self, item: Any) -> None:
        """Do nothing."""

    extend = append


_NOWHERE: Final[list[Any]] = _Forgetful()


class Identifier(NamedTuple):
    """One identifier as it stands in a request."""

    path: str
    """As the field map writes it: `groups[].group_id`."""
    value: str


def may_breach(header: RequestHeader, frame: Frame, keeper: Keeper) -> bool:
    """Whether the request may hold an over-long identifier; False is certain, after True decode and judge it.

    Reading stops after the last identifier, so the frame need not be there whole: a Produce request is judged by its
    first bytes. True also when bytes are missing or malformed.

    :raises LookupError: for an API or a version that the field map does not know.
    """
    client_id = header.client_id
    if client_id and len(client_id) > _CERTAIN and (len(client_id) > MAX_NAME_LENGTH or not client_id.isascii()):
        return True
    walk = _limiter(header.api_key, header.api_version, keeper)
    if walk is None:
        return False
    try:
        return walk(frame, header.body_offset, _NOWHERE, _NOWHERE) == _BREACH
    except (IndexError, RemoteProtocolError):
        return True


def breach_walk(api_key: int, version: int, keeper: Keeper) -> Walk | None:
    """What `may_breach` runs over a body, for who looks at many requests in one buffer; None: nothing to judge.

    It returns the offset after the last identifier, or a negative number at the first that may be too long.

    :raises LookupError: for an API or a version that the field map does not know.
    """
    return _limiter(api_key, version, keeper)


def peek_identifiers(header: RequestHeader, frame: Frame, keeper: Keeper) -> list[Identifier]:
    """The identifiers in a request's body that the keeper judges, in the order of the bytes; null ones are left out.

    Bytes after the last identifier are not looked at.

    :raises LookupError: for an API or a version that the field map does not know.
    :raises RemoteProtocolError: for bytes that are no such request, as far as they are read.
    """
    walk = _finder(header.api_key, header.api_version, keeper)
    if walk is None:
        return []
    spans: list[Span] = []
    try:
        end = walk(frame, header.body_offset, _NOWHERE, spans)
    except IndexError:
        end = len(frame) + 1
    if end > len(frame):
        raise RemoteProtocolError("The request ends before its last identifier does")
    paths = tuple(body_limits(header.api_key, header.api_version, keeper))
    return [Identifier(paths[index], decode_utf8(frame[start:end])) for index, start, end in spans if start >= 0]


def _plain(path: str) -> str:
    return path.replace("[]", "")


@cache
def _limiter(api_key: int, version: int, keeper: Keeper) -> Walk | None:
    """The walk that ends at the last identifier, or returns `_BREACH` at the first that is too long."""
    limits = body_limits(api_key, version, keeper)
    return _generate(api_key, version, _LimitGenerator({_plain(path): limit for path, limit in limits.items()}))


@cache
def _finder(api_key: int, version: int, keeper: Keeper) -> Walk | None:
    """The walk that notes every identifier, by its number among the paths."""
    paths = body_limits(api_key, version, keeper)
    return _generate(api_key, version, _Generator({_plain(path): index for index, path in enumerate(paths)}))


def _generate(api_key: int, version: int, generator: _Generator) -> Walk | None:
    return generator.compile() if generator.add_root(message_classes(api_key, version).request) else None


class _Generator(WalkGenerator):
    """Lines of a walk that notes identifiers and ends with the last."""

    def add_root(self, entity: type[Any]) -> bool:
        """Walk the fields of the request up to the last that is or holds an identifier; False if there is none."""
        wanted = {path.split(".")[0] for path in self._paths}
        untagged = [one for one in fields(entity) if tag_of(one) is None]
        last = max((place for place, one in enumerate(untagged, 1) if one.name in wanted), default=0)
        for field in untagged[:last]:
            self.add_field(1, shape_of(field), entity.__flexible__, field.name)
        return last > 0


class _LimitGenerator(_Generator):
    """Lines of a walk that compares lengths in bytes; paths are given with their limits."""

    def mark(self, depth: int, path: str, start: str, end: str) -> None:
        """Compare the length, unless the string is null."""
        if path not in self._paths:
            return
        self._unmet.pop(path, None)
        if start == "p":
            self._add(depth, f"if {end} - p > {self._paths[path]}: return {_BREACH}")
