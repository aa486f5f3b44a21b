"""Suggestions: within the limit, plain, apart from one another; and what a name looks like."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.audit.suggestions import generator_of, shorten
from doorkeeper.rules.client_id import is_plain
from doorkeeper.rules.javatext import utf16_length
from doorkeeper.rules.verdict import Kind


@given(st.text(min_size=250, max_size=400))
def test_a_shortening_is_plain_and_within_the_limit(value: str) -> None:
    shortened = shorten(value, 249)
    assert utf16_length(shortened) <= 249
    assert is_plain(shortened)


def test_a_shortening_keeps_the_beginning_and_tells_names_apart() -> None:
    one, other = shorten("orders-" + "x" * 300, 249), shorten("orders-" + "x" * 301, 249)
    assert one.startswith("orders-x")
    assert one != other
    assert one == shorten("orders-" + "x" * 300, 249)


def test_a_member_id_becomes_a_uuid() -> None:
    shortened = shorten("m" * 37, 36, Kind.MEMBER_ID)
    assert str(uuid.UUID(shortened)) == shortened


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("orders-7d4b9c6f5d-x2x8z", "a pod name"),
        ("app-550e8400-e29b-41d4-a716-446655440000", "a UUID suffix"),
        ("app-550e8400-e29b-41d4-a716-446655440000-producer", "a UUID inside"),
        ("Source: orders -> Map -> Sink: out (3/8)", "a Flink task name"),
        ("my-app-StreamThread-1-consumer", "a Kafka Streams thread"),
        ("connector-consumer-jdbc-sink-0", "a Kafka Connect task"),
        ("orders", None),
    ],
)
def test_says_what_a_name_looks_like(name: str, words: str | None) -> None:
    assert generator_of(name) == words
