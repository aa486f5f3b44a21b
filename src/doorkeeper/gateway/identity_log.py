"""The identity log: who uses which identifiers with which API, one line per hour. What an audit needs of a request log,
at a hundredth of its size.

    {"version":1,"time":"…","door":"broker","api":"JOIN_GROUP","api_version":9,"client_id":"billing",
     "principal":"User:billing","address":"10.1.2.3","listener":"broker 1","software_name":"apache-kafka-java",
     "software_version":"4.3.1","identifiers":[{"kind":"group_id","field":"group_id","value":"invoices"}]}

The field names are those of verdicts. An identifier is written in full up to `MAX_SHOWN` characters; a longer one is
cut, and its length in UTF-16 code units stands beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple

from doorkeeper.door.in_place import peek_identifiers
from doorkeeper.door.judge import identifiers_of
from doorkeeper.door.judged import Keeper, judged_fields
from doorkeeper.door.verdicts import SECONDS_PER_HOUR
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.gateway.callers import Client
from doorkeeper.rules.javatext import utf16_length
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.codec import RequestHeader, decode_request
from doorkeeper.wire.messages import api_name

LINE_VERSION: Final = 1
MAX_SHOWN: Final = 1000
MAX_REMEMBERED: Final = 200_000
"""Lines per hour; what goes beyond is counted only."""
MAX_IDENTIFIERS: Final = 1000
"""Identifiers of one line."""


class Sighted(NamedTuple):
    """One identifier of a request."""

    kind: Kind
    path: str
    value: str


class IdentityLog:
    """Writes each new sighting once per hour. Bounded in memory."""

    def __init__(
        self,
        write: Callable[[str], object],
        clock: Callable[[], float],
        max_remembered: int = MAX_REMEMBERED,
    ) -> None:
        """:param write: takes one line.
        :param clock: seconds since the epoch.
        """
        self._write = write
        self._clock = clock
        self._max_remembered = max_remembered
        self._hour = 0
        self._seen: set[int] = set()
        self.overflow = 0
        """New sightings that were not written because the hour's room was used up."""

    def note(self, header: RequestHeader, frame: bytes, client: Client) -> None:
        """One request; the frame may be its beginning alone, as far as its identifiers reach."""
        try:
            found = _sighted(header, frame)
        except (RemoteProtocolError, LookupError):
            return
        now = self._clock()
        hour = int(now // SECONDS_PER_HOUR)
        if hour != self._hour:
            self._hour = hour
            self._seen.clear()
        # A hash of 64 bits instead of the strings, which may be long: one sighting in many millions may be missed.
        key = hash((header.api_key, header.api_version, header.client_id, client.key, tuple(found)))
        if key in self._seen:
            return
        if len(self._seen) >= self._max_remembered:
            self.overflow += 1
            return
        self._seen.add(key)
        self._write(_line(header, client, found, now))


def _line(header: RequestHeader, client: Client, found: list[Sighted], now: float) -> str:
    caller = client.as_caller()
    line = {
        "version": LINE_VERSION,
        "time": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        "door": client.door,
        "api": api_name(header.api_key),
        "api_version": header.api_version,
        "client_id": header.client_id,
        "principal": caller.principal,
        "address": caller.address,
        "listener": caller.listener,
        "software_name": caller.software_name,
        "software_version": caller.software_version,
        "identifiers": [_shown(*one) for one in found[:MAX_IDENTIFIERS]],
    }
    return json.dumps(line, separators=(",", ":"))


def _sighted(header: RequestHeader, frame: bytes) -> list[Sighted]:
    """The identifiers in a request's body; read in place, unless another field says of which kind they are."""
    kinds = _kinds(header.api_key, header.api_version)
    if kinds is not None:
        found = peek_identifiers(header, frame, Keeper.GATEWAY)
        return [Sighted(kinds[one.path], one.path, one.value) for one in found]
    body = decode_request(frame, header).body
    return [
        Sighted(field.kind, field.path, value)
        for field, value in identifiers_of(header, body, Keeper.GATEWAY)
        if field.kind is not None and not field.in_header
    ]


@cache
def _kinds(api_key: int, version: int) -> dict[str, Kind] | None:
    """Path to kind; None when a path may hold several."""
    fields = [one for one in judged_fields(api_key, version, Keeper.GATEWAY) if not one.in_header]
    kinds = {one.path: one.kind for one in fields if one.kind is not None}
    return kinds if len(kinds) == len(fields) else None


def _shown(kind: Kind, path: str, value: str) -> dict[str, Any]:
    if len(value) <= MAX_SHOWN:
        return {"kind": kind, "field": path, "value": value}
    return {"kind": kind, "field": path, "value": value[:MAX_SHOWN], "length": utf16_length(value)}
