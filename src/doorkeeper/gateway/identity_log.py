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
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from doorkeeper.door.in_place import Identifier, peek_identifiers
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
            found = peek_identifiers(header, frame, Keeper.GATEWAY)
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
        self._write(self._line(header, frame, client, found, now))

    def _line(self, header: RequestHeader, frame: bytes, client: Client, found: list[Identifier], now: float) -> str:
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
            "identifiers": _identifiers(header, frame, found)[:MAX_IDENTIFIERS],
        }
        return json.dumps(line, separators=(",", ":"))


def _identifiers(header: RequestHeader, frame: bytes, found: list[Identifier]) -> list[dict[str, Any]]:
    kinds = _kinds(header.api_key, header.api_version)
    if all(len(kinds[one.path]) == 1 for one in found):
        return [_shown(kinds[one.path][0], one.path, one.value) for one in found]
    # Another field says which kind it is: requests like these are short.
    with suppress(RemoteProtocolError):
        body = decode_request(frame, header).body
        named = [pair for pair in identifiers_of(header, body, Keeper.GATEWAY) if not pair[0].in_header]
        return [_shown(field.kind, field.path, value) for field, value in named if field.kind is not None]
    return []


@cache
def _kinds(api_key: int, version: int) -> dict[str, list[Kind]]:
    kinds: dict[str, list[Kind]] = {}
    for field in judged_fields(api_key, version, Keeper.GATEWAY):
        if field.kind is not None:
            kinds.setdefault(field.path, []).append(field.kind)
    return kinds


def _shown(kind: Kind, path: str, value: str) -> dict[str, Any]:
    if len(value) <= MAX_SHOWN:
        return {"kind": kind, "field": path, "value": value}
    return {"kind": kind, "field": path, "value": value[:MAX_SHOWN], "length": utf16_length(value)}
