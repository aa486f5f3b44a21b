"""One line of a request log: every form that Kafka and Log4j write is understood, or counted for what it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit.request_lines import SUFFIX, document, line, to_json

from doorkeeper.audit.requests.lines import (
    BLANK,
    NOT_A_REQUEST,
    OLD_TEXT,
    OTHER_LOGGER,
    RECEIVED,
    TORN,
    Ignored,
    Malformed,
    Request,
    parse_line,
    parse_time,
)

JSON = to_json(document(client_id="é\u2028\u0085x"))


def parsed(text: str | bytes) -> Request:
    found = parse_line(text.encode() if isinstance(text, str) else text)
    assert isinstance(found, Request)
    return found


@pytest.mark.parametrize(
    ("prefix", "suffix"),
    [
        ("[2026-11-15 10:00:00,123] DEBUG Completed request:", SUFFIX),
        ("[2026-11-15 10:00:00,123] INFO Completed request:", SUFFIX),
        (
            "2026-11-15 10:00:00,123 DEBUG [data-plane-3] kafka.request.logger: Completed request:",
            "",
        ),
        ("2026-11-15T10:00:00.123Z DEBUG kafka.request.logger - Completed request:", ""),
        ("2026-11-15T12:00:00.123+0200 [thread] DEBUG kafka.request.logger - Completed request:", "\r"),
        ("DEBUG 2026-11-15 10:00:00.123 Completed request:", "  "),
    ],
)
def test_finds_time_and_client_under_the_usual_patterns(prefix: str, suffix: str) -> None:
    found = parsed(prefix + JSON + suffix)
    assert found.document.requestHeader.clientId == "é\u2028\u0085x"
    assert found.time == parse_time("2026-11-15T10:00:00.123")


def test_reads_a_bare_json_line_which_has_no_time() -> None:
    assert parsed(JSON).time is None


@pytest.mark.parametrize(
    ("connection", "address"),
    [
        ("127.0.0.1:9092-10.1.2.3:51234-0-3", "10.1.2.3"),
        ("0:0:0:0:0:0:0:1:9092-0:0:0:0:0:0:0:1:50000-3-0", "0:0:0:0:0:0:0:1"),
        ("elsewhere", "elsewhere"),
    ],
)
def test_finds_the_peers_address(connection: str, address: str) -> None:
    assert parsed(to_json(document() | {"connection": connection})).address == address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Ignored(BLANK)),
        ("   ", Ignored(BLANK)),
        (
            "[2026-11-15 10:00:00,123] TRACE Processor 0 received request: RequestHeader(apiKey=METADATA)",
            Ignored(RECEIVED),
        ),
        ("[2026-11-15 10:00:00,123] TRACE Processor 0 received request: " + JSON, Ignored(RECEIVED)),
        ("[2026-11-15 10:00:00,123] TRACE Sending METADATA response to client a of 63 bytes.", Ignored(RECEIVED)),
        ("[2026-11-15 10:00:00,123] INFO Awaiting socket connections (kafka.network.Acceptor)", Ignored(OTHER_LOGGER)),
        ("\tat kafka.network.Processor.run(SocketServer.scala:1)", Ignored(OTHER_LOGGER)),
        ("java.io.IOException: broken pipe", Ignored(OTHER_LOGGER)),
        (
            "[2026-11-15 10:00:00,123] DEBUG Completed request:RequestHeader(apiKey=FETCH) -- {replica_id=-1}",
            Ignored(OLD_TEXT),
        ),
        ("garbage", Malformed(NOT_A_REQUEST)),
        ('[2026-11-15 10:00:00,123] DEBUG Completed request:{"isForw', Malformed(TORN)),
        (JSON[:-1], Malformed(TORN)),
        (JSON + " and more", Malformed(TORN)),
        ('x{"isForwarded":false}', Malformed(TORN)),
        ('{"isForwarded":false,"requestHeader":{"requestApiKey":"three"}}', Malformed(TORN)),
        ('{"isForwarded":' + "[" * 100_000 + "}", Malformed(TORN)),
    ],
)
def test_says_what_another_line_is(text: str, expected: Ignored | Malformed) -> None:
    assert parse_line(text.encode()) == expected


def test_keeps_the_bytes_of_a_name_that_is_no_utf8() -> None:
    found = parsed(line(client_id="a\udcffb"))
    assert found.document.requestHeader.clientId == "a\udcffb"


def test_reads_an_escaped_lone_surrogate() -> None:
    found = parsed(to_json(document(client_id="X")).replace('"X"', '"\\ud800"'))
    assert found.document.requestHeader.clientId == "\ud800"


@given(st.integers(min_value=1, max_value=len(line()) - 1))
def test_no_torn_line_is_a_request(length: int) -> None:
    assert not isinstance(parse_line(line()[:length]), Request) or length >= len(line()) - len(SUFFIX)


@given(st.binary(max_size=300))
def test_any_bytes_are_something(data: bytes) -> None:
    assert isinstance(parse_line(data), Request | Ignored | Malformed)
