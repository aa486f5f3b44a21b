"""Verdict records: who was refused, or would have been, and what they were told (one JSON line each).

The fields are those of the audit's findings, so that the audit reads these lines back. Names are an attacker's strings:
they are escaped and cut before they get here. How many lines there are is bounded by `HourMemory`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from types import MappingProxyType
from typing import Final, NamedTuple

from doorkeeper.door.judge import Breach, Header, RequestVerdict
from doorkeeper.door.refusal import told_of
from doorkeeper.rules.javatext import escape_for_display
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

RECORD_VERSION: Final = 1
MAX_SHOWN: Final = 300  # characters of each text in a record; longer ones end in `…`
MAX_REMEMBERED: Final = 10_000  # lines per hour; what goes beyond is counted only
SECONDS_PER_HOUR: Final = 3600


class Mode(StrEnum):
    """What became of the request."""

    EVALUATE = "evaluate"
    """It passed, and would have been refused."""
    ENFORCE = "enforce"
    """It was refused."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asked, as far as the connection knows."""

    principal: str
    address: str
    listener: str
    software_name: str
    software_version: str


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """One identifier over its limit, in one request."""

    time: str
    """ISO 8601, UTC, with milliseconds."""
    mode: Mode
    rule: str
    kind: Kind
    value: str
    """The identifier, escaped, at most `MAX_SHOWN` characters."""
    length: int
    limit: int
    unit: str
    door: Door
    api: str
    """As Kafka's request log writes it."""
    api_version: int
    answer: int
    """The error code that the client was told, or would have been."""
    client_id: str | None
    principal: str
    address: str
    listener: str
    software_name: str
    software_version: str
    version: int = RECORD_VERSION

    def to_json(self) -> str:
        """One line of ASCII, without its end."""
        return json.dumps(asdict(self), separators=(",", ":"))


class _Key(NamedTuple):
    """What makes two verdicts the same within an hour."""

    kind: Kind
    api_key: int
    mode: Mode
    """When the switch is turned on, the first refusal is written down whatever was evaluated before."""
    digest: bytes
    """Of identifier and client id, so that long ones take no memory."""


class HourMemory:
    """Who has been written down in this hour. Bounded; shared by the books whose lines go to one place."""

    def __init__(self, max_remembered: int = MAX_REMEMBERED) -> None:
        self._max_remembered = max_remembered
        self._hour = 0
        self._seen: set[_Key] = set()
        self.overflow = 0
        """New offenders that were not written down because the hour's room was used up."""

    def __len__(self) -> int:
        return len(self._seen)

    def is_new(self, key: _Key, now: float) -> bool:
        """Whether it is to be written down; from then on it is remembered."""
        hour = int(now // SECONDS_PER_HOUR)
        if hour != self._hour:
            self._hour = hour
            self._seen.clear()
        if key in self._seen:
            return False
        if len(self._seen) >= self._max_remembered:
            self.overflow += 1
            return False
        self._seen.add(key)
        return True


class VerdictBook:
    """Counts verdicts, and lets each through once per (kind, value, API, client) and hour."""

    def __init__(self, memory: HourMemory | None = None) -> None:
        self.memory = HourMemory() if memory is None else memory
        self._counts: Counter[tuple[Kind, int, Mode]] = Counter()

    @property
    def counts(self) -> Mapping[tuple[Kind, int, Mode], int]:
        """(kind, API key, mode) to the number of identifiers: every one, written down or not."""
        return MappingProxyType(self._counts)

    @property
    def overflow(self) -> int:
        """New offenders that were not written down because the hour's room was used up."""
        return self.memory.overflow

    def note(
        self, verdict: RequestVerdict, header: Header, door: Door, caller: Caller, now: float
    ) -> list[VerdictRecord]:
        """Count a request's breaches; the records returned are to be written down.

        :param now: seconds since the epoch.
        """
        refused = set(map(id, verdict.refused))
        records = []
        for breach in verdict.breaches:
            mode = Mode.ENFORCE if id(breach) in refused else Mode.EVALUATE
            self._counts[_kind(breach), header.api_key, mode] += 1
            if self.memory.is_new(_key(breach, mode, header), now):
                records.append(_record(breach, mode, header, door, caller, now))
        return records


def _kind(breach: Breach) -> Kind:
    assert breach.field.kind is not None
    return breach.field.kind


def _key(breach: Breach, mode: Mode, header: Header) -> _Key:
    digest = blake2b(digest_size=16)
    for text in (breach.identifier, header.client_id or ""):
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(4, "big"))
        digest.update(encoded)
    return _Key(_kind(breach), header.api_key, mode, digest.digest())


def _record(breach: Breach, mode: Mode, header: Header, door: Door, caller: Caller, now: float) -> VerdictRecord:
    parameters = breach.violation.parameters
    return write_down(
        header,
        door,
        caller,
        now,
        mode=mode,
        rule=breach.violation.rule,
        kind=_kind(breach),
        value=breach.identifier,
        answer=told_of(breach, header.api_key, header.api_version).code,
        length=int(parameters["length"]),
        limit=int(parameters["limit"]),
        unit=str(parameters["unit"]),
    )


def write_down(
    header: Header,
    door: Door,
    caller: Caller,
    now: float,
    *,
    mode: Mode,
    rule: str,
    kind: Kind,
    value: str,
    answer: int,
    length: int = 0,
    limit: int = 0,
    unit: str = "",
) -> VerdictRecord:
    """One verdict on one request, its texts escaped and cut.

    :param now: seconds since the epoch.
    """
    return VerdictRecord(
        time=datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        mode=mode,
        rule=rule,
        kind=kind,
        value=_shown(value),
        length=length,
        limit=limit,
        unit=unit,
        door=door,
        api=api_name(header.api_key),
        api_version=header.api_version,
        answer=answer,
        client_id=None if header.client_id is None else _shown(header.client_id),
        principal=_shown(caller.principal),
        address=_shown(caller.address),
        listener=_shown(caller.listener),
        software_name=_shown(caller.software_name),
        software_version=_shown(caller.software_version),
    )


def _shown(text: str) -> str:
    return escape_for_display(text, MAX_SHOWN)
