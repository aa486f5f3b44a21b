"""The kernel: most lines of a request log are counted by their first bytes alone, and never decoded.

Sound, because 250 UTF-16 units take at least 250 bytes of JSON, and between two quotes at that: only a line with such a
stretch, or with a backslash (an escaped quote would hide one), or whose API has a shorter limit or content that must be
read, can hold something to tell. A line is taken on trust if it begins and ends as a completed request does; `strict`
decodes every one.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from typing import Final, TypeAlias

import numpy as np

from doorkeeper.audit.config_changes import CHANGE_APIS
from doorkeeper.audit.readers import ReadOptions
from doorkeeper.audit.requests.identifiers import shortest_limit
from doorkeeper.audit.requests.lines import (
    COMPLETED,
    DOCUMENT,
    OUTSIDE,
    Ignored,
    Malformed,
    Request,
    parse_line,
    time_of,
)
from doorkeeper.audit.requests.reading import api_of, first_version, note_request
from doorkeeper.audit.schemas import Outcome
from doorkeeper.audit.sightings import Tally
from doorkeeper.rules.names import MAX_NAME_LENGTH

_Key: TypeAlias = tuple[bytes, ...]
"""API and version as the log spells them, and a plain client id."""

STRETCH: Final = 120  # bytes without a quote that are looked for, aligned: every stretch of 239 bytes holds one
_WORDS: Final = STRETCH // 8
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_LINE_FEED: Final = ord("\n")
_CLOSED: Final = b'"}}'
"""How the JSON of a request ends: with the version of the client's software."""
_LINES_TO_LEARN: Final = 5
_LONGEST_PREFIX: Final = 512
ALTER_CLIENT_QUOTAS: Final = 49

_HEADER: Final = re.compile(
    rb'\{"isForwarded":(?:false|true),"requestHeader":\{"requestApiKey":(\d+,"requestApiVersion":\d+)'
    rb',"correlationId":-?\d+,"clientId":"([A-Za-z0-9._-]*)"'
)
_SHORTEST_LINE: Final = len(b'{"isForwarded":true,"requestHeader":{"requestApiKey":0,"requestApiVersion":0,')
_LONG_MEMBER_ID: Final = re.compile(rb'"memberId":"[^"]{37}')

assert 2 * STRETCH - 1 <= MAX_NAME_LENGTH


class Action(Enum):
    """What the header alone asks for."""

    COUNT = 0
    DECODE = 1
    FIND_MEMBER_ID = 2
    """The API's member ids are the clients' own, and their limit is shorter than what the search finds."""


def action_of(api_key: int, version: int) -> Action:
    """What is to be done with the lines of an API and version that look harmless."""
    if api_key in CHANGE_APIS or api_key == ALTER_CLIENT_QUOTAS or version < first_version(api_key):
        return Action.DECODE
    limit = shortest_limit(api_key)
    return Action.FIND_MEMBER_ID if limit is not None and limit < 2 * STRETCH - 1 else Action.COUNT


class Kernel:
    """Reads blocks of whole lines into a tally."""

    def __init__(self, tally: Tally, options: ReadOptions) -> None:
        self._tally = tally
        self._options = options
        self._timed = options.since is not None or options.until is not None
        self._offset = 0
        """Where the JSON began in the last line: by far most lines of a log are alike."""
        self._suffix: bytes | None = None
        """How lines end; None until one was decoded to learn it."""
        self._line = 0
        """Lines read so far."""
        self._judged = 0
        self._callers: Counter[_Key | None] = Counter()
        self._actions: dict[bytes, Action] = {}

    def read_block(self, block: bytes) -> None:
        """Count a block of whole lines, each with its line feed."""
        array = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(array == _LINE_FEED)
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
        if self._options.strict:
            decode = set(range(len(ends)))
            headers: list[_Key | None] = [None] * len(ends)
        else:
            headers = self._headers(block, array, starts, ends)
            decode = self._suspects(block, array, ends)
            if None in headers:
                decode.update(index for index, header in enumerate(headers) if header is None)
            self._add_special(block, starts, ends, headers, decode)
            if self._timed:
                self._drop_outside(block, starts, headers, decode)
        for index in sorted(decode):
            headers[index] = None
            self._note(parse_line(block[starts[index] : ends[index]]), self._line + index + 1)
        self._callers.update(headers)
        self._line += len(ends)

    def finish(self) -> None:
        """Put the counts into the tally."""
        self._callers.pop(None, None)
        counted = 0
        names: dict[bytes, tuple[str, int]] = {}
        for key, count in self._callers.items():
            assert key is not None
            asked = names.get(key[0])
            if asked is None:
                api_key, version = _numbers(key[0])
                asked = names[key[0]] = api_of(api_key), version
            self._tally.add_caller(*asked, key[1].decode(), count)
            counted += count
        for outcome, total in ((Outcome.READ, self._line), (Outcome.JUDGED, counted + self._judged)):
            if total:
                self._tally.add_total(outcome, "", 1, total)

    def lose_line(self, reason: str) -> None:
        """Count a line that could not be read to its end."""
        self._line += 1
        self._tally.add_total(Outcome.MALFORMED, reason, self._line)

    def _headers(self, block: bytes, array: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> list[_Key | None]:
        """(API and version, plain client id) of the lines that begin and end as they should."""
        suffix = self._learn(block, starts, ends)
        if suffix is None:
            return [None] * len(ends)
        match = _HEADER.match
        headers: list[_Key | None] = [
            found.group(1, 2) if (found := match(block, place)) else None for place in (starts + self._offset).tolist()
        ]
        if None in headers:
            for index, header in enumerate(headers):
                if header is None:
                    headers[index] = self._header_elsewhere(block, int(starts[index]), int(ends[index]))
        whole = ends - starts >= self._offset + _SHORTEST_LINE + len(suffix)
        closing = np.maximum(ends - len(suffix), 0)
        for place, byte in enumerate(_CLOSED):
            whole &= array[closing + place] == byte
        whole &= array[ends - 1] == suffix[-1]
        for index in np.flatnonzero(~whole).tolist():
            headers[index] = None
        if 2 * np.count_nonzero(whole) < len(ends):
            self._suffix = None  # the pattern has changed
        return headers

    def _learn(self, block: bytes, starts: np.ndarray, ends: np.ndarray) -> bytes | None:
        """Take the first lines for a pattern: where the JSON begins, and how a line ends that is whole."""
        place = block.find(DOCUMENT, 0, min(int(ends[0]), _LONGEST_PREFIX))
        if place >= 0:
            self._offset = place
        for start, end in zip(starts[:_LINES_TO_LEARN].tolist(), ends[:_LINES_TO_LEARN].tolist(), strict=True):
            if self._suffix is not None:
                break
            closed = block.rfind(_CLOSED, start, end)
            if closed >= 0 and isinstance(parse_line(block[start:end]), Request):
                self._suffix = block[closed:end]
        return self._suffix

    def _header_elsewhere(self, block: bytes, start: int, end: int) -> _Key | None:
        """The header of a line with a prefix of another length."""
        place = block.find(DOCUMENT, start, min(end, start + _LONGEST_PREFIX))
        if place < 0 or (place > start and not block.startswith(COMPLETED, place - len(COMPLETED))):
            return None
        found = _HEADER.match(block, place)
        return None if found is None else (found[1], found[2])

    def _suspects(self, block: bytes, array: np.ndarray, ends: np.ndarray) -> set[int]:
        """The lines that can hold a long string, an escaped one, or one that is no UTF-8."""
        whole = len(block) // STRETCH * STRETCH
        quotes = (array[:whole] == _QUOTE).view(np.uint64).reshape(-1, _WORDS)
        any_quote = quotes[:, 0] | quotes[:, 1]
        for word in range(2, _WORDS):
            any_quote |= quotes[:, word]
        places = [np.flatnonzero(any_quote == 0) * STRETCH]
        if b"\\" in block:
            places.append(np.flatnonzero(array == _BACKSLASH))
        if not block.isascii() and not _is_utf8(block):
            places.append(np.flatnonzero(array >= 0x80))
        return set(np.searchsorted(ends, np.concatenate(places)).tolist())

    def _add_special(
        self,
        block: bytes,
        starts: np.ndarray,
        ends: np.ndarray,
        headers: list[_Key | None],
        decode: set[int],
    ) -> None:
        """Add the lines whose API asks for more."""
        actions = self._actions
        kinds = {header[0] for header in headers if header is not None}
        for kind in kinds - actions.keys():
            actions[kind] = action_of(*_numbers(kind))
        special = {kind for kind in kinds if actions[kind] is not Action.COUNT}
        if not special:
            return
        for index, header in enumerate(headers):
            if header is None or header[0] not in special:
                continue
            decodes = actions[header[0]] is Action.DECODE
            if decodes or _LONG_MEMBER_ID.search(block, int(starts[index]), int(ends[index])):
                decode.add(index)

    def _drop_outside(self, block: bytes, starts: np.ndarray, headers: list[_Key | None], decode: set[int]) -> None:
        """Ignore what is older or newer than asked, among the lines that nobody decodes."""
        for index, header in enumerate(headers):
            if header is None or index in decode:
                continue
            start = int(starts[index])
            if self._is_outside(time_of(block[start : block.find(DOCUMENT, start)])):
                headers[index] = None
                self._tally.add_total(Outcome.IGNORED, OUTSIDE, self._line + index + 1)

    def _is_outside(self, time: int | None) -> bool:
        """A line without a time is not left out: nobody knows that it is outside."""
        if time is None:
            return False
        since, until = self._options.since, self._options.until
        return (since is not None and time < since) or (until is not None and time >= until)

    def read_line(self, line: bytes, number: int, time: int) -> None:
        """Count one line of a topic; the record's time stands in where the line has none of its own."""
        parsed = parse_line(line)
        if isinstance(parsed, Request) and parsed.time is None:
            parsed = Request(time, parsed.document)
        self._line += 1
        self._note(parsed, number)

    def _note(self, parsed: Request | Ignored | Malformed, number: int) -> None:
        if isinstance(parsed, Malformed):
            self._tally.add_total(Outcome.MALFORMED, parsed.reason, number)
        elif isinstance(parsed, Ignored):
            self._tally.add_total(Outcome.IGNORED, parsed.reason, number)
        elif self._is_outside(parsed.time):
            self._tally.add_total(Outcome.IGNORED, OUTSIDE, number)
        else:
            self._judged += 1
            header = parsed.document.requestHeader
            api = api_of(header.requestApiKey, header.requestApiKeyName)
            self._tally.add_caller(api, header.requestApiVersion, header.clientId or "")
            note_request(self._tally, parsed, number)


def _numbers(header: bytes) -> tuple[int, int]:
    """(API key, version) of `3,"requestApiVersion":12`."""
    key, _, version = header.partition(b",")
    return int(key), int(version.rpartition(b":")[2])


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
