"""`verdicts:` the JSON lines of our doors, and the gateway's identity log.

A verdict line tells one identifier over its limit, with the verdict: `door/verdicts.py` has the fields. An identity
line has the same fields without a verdict, and the identifiers of one request under `identifiers`, each with kind,
field, value and, if it was cut, length: these are judged here. Either is written once an hour, so counts are of lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.requests.lines import BLANK, OUTSIDE
from doorkeeper.audit.requests.reader import blocks_of
from doorkeeper.audit.schemas import Outcome, SourceKind
from doorkeeper.audit.segments import is_within
from doorkeeper.audit.sightings import BOTH_DOORS, Sighting, Tally
from doorkeeper.rules.client_id import is_plain
from doorkeeper.rules.fields import load_apis
from doorkeeper.rules.javatext import utf16_length
from doorkeeper.rules.names import LIMITS, limit_of_quota_entity
from doorkeeper.rules.verdict import Kind, RuleId
from doorkeeper.wire.registry import Door

if TYPE_CHECKING:
    import pyarrow as pa

LINE_VERSION: Final = 1
CLIENT_ID_FIELD: Final = "header.client_id"
MALFORMED: Final = "neither a verdict nor an identity line"
_RECOGNISED: Final = re.compile(rb'\A\s*\{(?=[^\n]*"api_version":)(?=[^\n]*(?:"mode":|"identifiers":))')
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([nrt\\]))")
_NAMED: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
_DOORS: Final = frozenset(door.value for door in Door)
_LIMIT_BY_RULE: Final = {row.rule.value: row for row in LIMITS.values()}
_FIRST_VERSIONS: Final = {api.log_name: api.first_version for api in load_apis().values()}


def recognise(path: str, head: bytes) -> bool:
    """Whether a file begins with such a line."""
    return _RECOGNISED.match(head) is not None


def read_range(work: ByteRange, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Read the lines that begin in a range; a compressed file is one range."""
    tally = Tally(SourceKind.VERDICTS, work.file, work.start)
    lines = _Lines(tally, options)
    for block in blocks_of(work, lines):
        for line in block.split(b"\n")[:-1]:
            lines.read(line)
    lines.finish()
    yield from tally.batches()


class _Lines:
    """Counts lines, and tells what is in them."""

    def __init__(self, tally: Tally, options: ReadOptions) -> None:
        self._tally = tally
        self._options = options
        self._number = 0

    def lose_line(self, reason: str) -> None:
        """Count a line that could not be read to its end."""
        self._number += 1
        self._tally.add_total(Outcome.MALFORMED, reason, self._number)

    def finish(self) -> None:
        """Count all that was read."""
        if self._number:
            self._tally.add_total(Outcome.READ, "", 1, self._number)

    def read(self, line: bytes) -> None:
        self._number += 1
        outcome, reason = self._outcome(line)
        self._tally.add_total(outcome, reason, self._number)

    def _outcome(self, line: bytes) -> tuple[Outcome, str]:
        if not line.strip():
            return Outcome.IGNORED, BLANK
        try:
            document = json.loads(line)
            time = _time(document)
            if not is_within(time, self._options):
                return Outcome.IGNORED, OUTSIDE
            sightings = list(_sightings(document))
        except (ValueError, KeyError, TypeError, AttributeError):
            return Outcome.MALFORMED, MALFORMED
        if "identifiers" in document:
            self._tally.add_caller(document["api"], document["api_version"], document["client_id"] or "")
        for sighting in sightings:
            self._tally.add(sighting, self._number, time=time)
        return Outcome.JUDGED, ""


def _time(document: Mapping[str, Any]) -> int:
    """Microseconds since the epoch; ValueError for a line of another version, or without a time."""
    if document["version"] != LINE_VERSION:
        raise ValueError("another version")
    moment = datetime.fromisoformat(document["time"])
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return round(moment.timestamp() * 1_000_000)


def _sightings(document: Mapping[str, Any]) -> Iterator[Sighting]:
    if "identifiers" in document:
        yield from _identities(document)
    else:
        yield _verdict(document)


def _caller(document: Mapping[str, Any], kind: Kind, value: str, where: str) -> Sighting:
    client_id = document["client_id"]
    return Sighting(
        kind,
        value,
        where,
        door=document["door"] if document["door"] in _DOORS else BOTH_DOORS,
        api=str(document["api"]),
        api_version=int(document["api_version"]),
        client_id=None if client_id is None else str(client_id),
        principal=document["principal"] or None,
        address=document["address"] or None,
        listener=document["listener"] or None,
        software_name=document["software_name"] or None,
        software_version=document["software_version"] or None,
    )


def _verdict(document: Mapping[str, Any]) -> Sighting:
    rule, length = RuleId(document["rule"]).value, int(document["length"])
    shown = str(document["value"])
    value = unescaped(shown)
    whole = utf16_length(value) == length
    answer = int(document["answer"])
    row = _LIMIT_BY_RULE.get(rule)
    seen = _caller(document, Kind(document["kind"]), value if whole else shown, "")
    return seen._replace(
        client_id=None if seen.client_id is None else unescaped(seen.client_id),
        rule=rule,
        limit=int(document["limit"]),
        answer_new=answer if row is None else int(row.code),
        answer_old=answer if row is None else int(row.code_old),
        length=None if whole else length,
    )


def _identities(document: Mapping[str, Any]) -> Iterator[Sighting]:
    client_id = document["client_id"]
    if client_id is not None:
        seen = _caller(document, Kind.CLIENT_ID, client_id, CLIENT_ID_FIELD)
        if not is_plain(client_id) or utf16_length(client_id) > LIMITS[Kind.CLIENT_ID].limit:
            yield seen
        if document["api_version"] < _FIRST_VERSIONS.get(document["api"], 0):
            yield seen._replace(rule=RuleId.API_VERSION_REMOVED.value)
    for one in document["identifiers"]:
        kind, value = Kind(one["kind"]), str(one["value"])
        length = int(one.get("length", utf16_length(value)))
        row = LIMITS[kind] if kind in LIMITS else limit_of_quota_entity("")
        if length > row.limit:
            seen = _caller(document, kind, value, str(one["field"]))
            yield seen._replace(length=length, **_judged_here(kind))


def _judged_here(kind: Kind) -> dict[str, Any]:
    """A quota entity's row, which its type would decide; the line does not tell it."""
    if kind is not Kind.QUOTA_ENTITY:
        return {}
    row = limit_of_quota_entity("")
    return {
        "rule": row.rule.value,
        "limit": row.limit,
        "answer_new": int(row.code),
        "answer_old": int(row.code_old),
    }


def unescaped(shown: str) -> str:
    """The text that `escape_for_display` made this of, if it was not cut."""
    return _ESCAPE.sub(_character, shown)


def _character(match: re.Match[str]) -> str:
    if match[4]:
        return _NAMED[match[4]]
    return chr(int(match[1] or match[2] or match[3], 16))
