"""One line of a request log, as Kafka 4.3.1 writes it (RequestConvertToJson, RequestChannel), or why it is none.

`[date] DEBUG Completed request:{json} (kafka.request.logger)` by Kafka's own Log4j pattern; other patterns put the
date, level, thread and logger elsewhere around the message, and shippers keep the JSON alone. At TRACE Kafka also logs
what it receives and sends; before 2.8 a completed request was text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

MICROSECONDS: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

DOCUMENT: Final = b'{"isForwarded":'
"""How the JSON of a request begins."""
COMPLETED: Final = b"Completed request:"
_LONGEST_PREFIX: Final = 512  # bytes of what Log4j may write before the message
_SUFFIX: Final = re.compile(rb"\s*(?:\([\w.$/ -]*\))?\s*")
_TIME: Final = re.compile(
    rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[,.](\d{1,6}))?\d*\s?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_LEVEL: Final = re.compile(rb"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b")
_TRACE: Final = re.compile(rb"Processor \d+ received request:|Sending \w+ response to client|received request:")
_OLD_TEXT: Final = re.compile(rb"Completed request:\s*(?:RequestHeader\(|Name:|\{api_key=)")
_STACK: Final = re.compile(rb"\s+at |\s*\.\.\. \d+ more|Caused by:|\s+Suppressed:|[\w.$]+(?:Exception|Error)(?::|\Z)")
_CONNECTION: Final = re.compile(r".*:\d+-(.*):\d+-\d+(?:-\d+)?")

BLANK: Final = "blank line"
OLD_TEXT: Final = "old text form (before Kafka 2.8): not JSON"
RECEIVED: Final = "request received or response sent, at TRACE: counted when completed"
OTHER_LOGGER: Final = "line of another logger"
OUTSIDE: Final = "outside --since and --until"
NOT_A_REQUEST: Final = "not a request"
TORN: Final = "torn or broken JSON"


class Header(msgspec.Struct):
    """The request's header."""

    requestApiKey: int  # noqa: N815 - Kafka's spelling, as all of these
    requestApiVersion: int  # noqa: N815
    clientId: str | None = None  # noqa: N815
    requestApiKeyName: str = ""  # noqa: N815


class ClientInformation(msgspec.Struct):
    """What the client said of itself in ApiVersions."""

    softwareName: str | None = None  # noqa: N815
    softwareVersion: str | None = None  # noqa: N815


class Document(msgspec.Struct):
    """The JSON of a completed request; the response is not looked at."""

    isForwarded: bool  # noqa: N815
    requestHeader: Header  # noqa: N815
    request: Any = None
    connection: str | None = None
    principal: str | None = None
    listener: str | None = None
    clientInformation: ClientInformation | None = None  # noqa: N815


_DECODE: Final = msgspec.json.Decoder(Document).decode


@dataclass(frozen=True, slots=True)
class Request:
    """A completed request."""

    time: int | None
    """Microseconds since the epoch; a log without zone is in UTC."""
    document: Document

    @property
    def address(self) -> str | None:
        """The peer's address, of `local:port-remote:port-processor-index`."""
        match = _CONNECTION.fullmatch(self.document.connection or "")
        return match[1] if match else self.document.connection


@dataclass(frozen=True, slots=True)
class Ignored:
    """A line that is no completed request, and is meant to be none."""

    reason: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that should have been a request."""

    reason: str


def parse_line(line: bytes) -> Request | Ignored | Malformed:
    """Understand one line, without its line feed."""
    start = line.find(DOCUMENT)
    if start < 0:
        return _other(line)
    prefix = line[:start].rstrip()
    if prefix and not prefix.endswith(COMPLETED):
        return Ignored(RECEIVED) if _TRACE.search(prefix) else Malformed(TORN)
    end = line.rfind(b"}") + 1
    if end <= start or not _SUFFIX.fullmatch(line, end):
        return Malformed(TORN)
    document = _decode(line[start:end])
    return Malformed(TORN) if document is None else Request(time_of(prefix), document)


def _decode(text: bytes) -> Document | None:
    try:
        return _DECODE(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    # Bytes that are no UTF-8 and escapes of lone surrogates, which msgspec refuses: both are findings, not faults.
    try:
        return msgspec.convert(json.loads(text.decode("utf-8", "surrogateescape")), Document)
    except (ValueError, RecursionError):
        return None


def _other(line: bytes) -> Ignored | Malformed:
    """What a line without a request's JSON is, by its beginning."""
    line = line[:_LONGEST_PREFIX]
    if not line.strip():
        return Ignored(BLANK)
    if _OLD_TEXT.search(line):
        return Ignored(OLD_TEXT)
    if COMPLETED in line:
        return Malformed(TORN)
    if _TRACE.search(line):
        return Ignored(RECEIVED)
    if _STACK.match(line) or (_LEVEL.search(line) and _TIME.search(line)):
        return Ignored(OTHER_LOGGER)
    return Malformed(NOT_A_REQUEST)


def time_of(prefix: bytes) -> int | None:
    """The time in what Log4j wrote before the message, in microseconds since the epoch; None if there is none."""
    match = _TIME.search(prefix)
    return None if match is None else _microseconds(*match.groups())


def _microseconds(day: bytes, clock: bytes, fraction: bytes | None, zone: bytes | None) -> int | None:
    text = f"{day.decode()}T{clock.decode()}{'+00:00' if zone in (None, b'Z') else _zone(zone)}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    whole = (moment - _EPOCH) // timedelta(seconds=1) * MICROSECONDS
    return whole + int((fraction or b"0").ljust(6, b"0"))


def _zone(zone: bytes | None) -> str:
    text = (zone or b"").decode()
    return text if ":" in text else f"{text[:3]}:{text[3:]}"


def parse_time(text: str) -> int:
    """A time as an option gives it, ISO 8601; without a zone in UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)
