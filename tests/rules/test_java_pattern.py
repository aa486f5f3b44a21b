"""Java's regular expressions: which texts are any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.rules.java_pattern import is_java_pattern

VECTORS = Path(__file__).parents[1] / "vectors" / "java-patterns.jsonl"


def test_agrees_with_java_on_every_vector() -> None:
    header, *rows = map(json.loads, VECTORS.read_text(encoding="ascii").splitlines())
    assert header == {"java": 17}
    assert len(rows) > 3000
    assert [text for text, compiles in rows if is_java_pattern(text) is not compiles] == []


@pytest.mark.parametrize(
    "text", ["", "a", ".*", "[a-z]+", "(?<x>a)\\k<x>", "\\Qa(\\E", "\\Q(", "a++", "[a&&[b]]", "(a)+"]
)
def test_takes(text: str) -> None:
    assert is_java_pattern(text)


@pytest.mark.parametrize(
    "text", ["*", "[", "(", ")", "a{", "a{2,1}", "\\", "\\y", "(?y)a", "\\p{Nope}", "(?<a>x)(?<a>y)"]
)
def test_refuses(text: str) -> None:
    assert not is_java_pattern(text)


def test_refuses_what_is_nested_beyond_measure() -> None:
    assert not is_java_pattern("(" * 100_000 + ")" * 100_000)


@given(st.text())
def test_never_raises(text: str) -> None:
    assert is_java_pattern(text) in (True, False)


@given(st.text(alphabet="abc019 _"))
def test_takes_every_text_without_special_characters(text: str) -> None:
    assert is_java_pattern(text)
