"""Kafka's text form of a UUID."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.wire.uuids import format_uuid, parse_uuid, random_uuid

DASHED = UUID(bytes=b"\xf8" + bytes(15))


@given(st.uuids())
def test_reads_back_what_it_wrote(value: UUID) -> None:
    assert parse_uuid(format_uuid(value)) == value


def test_a_random_uuid_never_begins_with_a_dash() -> None:
    assert format_uuid(DASHED).startswith("-")
    drawn = iter([DASHED, DASHED, UUID(int=7)])
    assert random_uuid(lambda: next(drawn)) == UUID(int=7)
