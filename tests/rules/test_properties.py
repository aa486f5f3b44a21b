"""Java's .properties text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.rules.properties import PropertiesError, Property, decode_properties, parse_properties


def pairs(text: str) -> list[tuple[str, str]]:
    return [(entry.key, entry.value) for entry in parse_properties(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# a comment\n! another\n   \n\t\n", []),
        ("a=b", [("a", "b")]),
        ("a:b", [("a", "b")]),
        ("a b", [("a", "b")]),
        ("  a \t = \f b c ", [("a", "b c ")]),
        ("a = = b", [("a", "= b")]),
        ("a", [("a", "")]),
        ("a=", [("a", "")]),
        ("=b", [("", "b")]),
        ("a=b\nc=d\r\ne=f\rg=h", [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]),
        ("a=1\na=2", [("a", "1"), ("a", "2")]),
        ("a=b\\\n   c", [("a", "bc")]),
        ("a=b\\\\\nc=d", [("a", "b\\"), ("c", "d")]),
        ("a=b\\\n# no comment", [("a", "b# no comment")]),
        ("a=b\\", [("a", "b")]),
        ("a=\\\n\\\n", [("a", "")]),
        ("a\\ b\\=c\\:d=e", [("a b=c:d", "e")]),
        ("a=\\t\\n\\r\\f\\q\\\\", [("a", "\t\n\r\fq\\")]),
        ("a=\\u00e9\\u20AC", [("a", "é€")]),
        ("a=\\ud83d\\ude00", [("a", "😀")]),
        ("#a\\\nb=c", [("b", "c")]),
    ],
)
def test_reads_as_java_does(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == expected


@pytest.mark.parametrize("text", ["ok=1\na=\\u12", "ok=1\na=\\u12g4", "ok=1\n\\u+123=b"])
def test_refuses_a_malformed_escape_and_names_the_line(text: str) -> None:
    with pytest.raises(PropertiesError, match="line 2"):
        parse_properties(text)


def test_numbers_the_line_on_which_an_entry_starts() -> None:
    assert parse_properties("# c\na=b\\\n c\n\nd=e") == [Property("a", "bc", 2), Property("d", "e", 5)]


def test_bytes_are_latin_1() -> None:
    assert decode_properties(b"a=\xe9") == [Property("a", "é", 1)]


@given(
    st.dictionaries(
        st.from_regex(r"[a-z.]{1,9}", fullmatch=True), st.from_regex(r"[A-Za-z0-9=:#!, ]{0,20}", fullmatch=True)
    )
)
def test_plain_entries_round_trip(entries: dict[str, str]) -> None:
    entries = {key: value.lstrip(" =:") for key, value in entries.items()}
    assert dict(pairs("\n".join(f"{key}={value}" for key, value in entries.items()))) == entries
