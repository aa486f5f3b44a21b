"""Messages as JSON: what Kafka's own converters show of the same bytes."""

from __future__ import annotations

import base64
import gzip
import json
import math
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.wire.strategies import any_message

from doorkeeper.wire.codec import decode_body
from doorkeeper.wire.json_text import show_double, show_text, shower
from doorkeeper.wire.messages import message_classes

VECTORS = Path(__file__).parent.parent / "vectors" / "message-json-4.3.1.jsonl.gz"


def rows() -> list[list[Any]]:
    lines = gzip.decompress(VECTORS.read_bytes()).decode("ascii").splitlines()
    assert json.loads(lines[0])["rows"] == len(lines) - 1 > 1200
    return [json.loads(line) for line in lines[1:]]


def test_shows_every_message_as_kafka_does() -> None:
    different = []
    for api_key, version, kind, body, wanted in rows():
        entity = getattr(message_classes(api_key, version), kind)
        shown = shower(entity)(decode_body(entity, base64.b64decode(body), 0))
        if json.loads(shown) != wanted or list(json.loads(shown)) != list(wanted):
            different.append((api_key, version, kind, shown, wanted))
    assert different == []


@given(any_message())
def test_any_message_is_one_line_of_json(message: Any) -> None:
    shown = shower(type(message))(message)
    assert "\n" not in shown
    assert isinstance(json.loads(shown), dict)


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_comes_back(text: str) -> None:
    assert json.loads(show_text(text)) == text
    assert "\n" not in show_text(text)


def test_texts_are_escaped_as_jackson_escapes_them() -> None:
    assert show_text('a"\\/\n\t\x1f\x00\x7fé\u2028\U0001f600') == '"a\\"\\\\/\\n\\t\\u001F\\u0000\x7fé\u2028\U0001f600"'
    assert show_text("\\u001f") == '"\\\\u001f"'


def test_what_is_no_number_is_a_string() -> None:
    assert [show_double(one) for one in (1.5, math.nan, math.inf, -math.inf)] == [
        "1.5",
        '"NaN"',
        '"Infinity"',
        '"-Infinity"',
    ]
