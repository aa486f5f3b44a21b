"""The page about the protocol is complete, and current."""

from __future__ import annotations

from pathlib import Path

from doorkeeper.cluster.handlers.table import registry_for
from doorkeeper.cluster.protocol_reference import NOT_SERVED, NOTES, rows, to_markdown
from doorkeeper.rules.fields import load_apis
from doorkeeper.wire.registry import Door

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"
SERVED = {key for door in Door for key in registry_for(door, unstable_versions=True)}


def test_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == to_markdown()


def test_every_api_of_kafka_is_served_or_has_its_reason() -> None:
    assert [row.api.key for row in rows()] == sorted(load_apis())
    assert set(load_apis()) - SERVED == set(NOT_SERVED)
    assert set(NOTES) <= SERVED


def test_versions_are_told_by_door() -> None:
    told = {row.api.name: row for row in rows()}
    assert (told["Produce"].broker, told["Produce"].controller) == ("3-13 + 14", "")
    assert (told["Envelope"].broker, told["Envelope"].controller) == ("", "0")
    assert (told["ShareFetch"].broker, told["ShareFetch"].note[:11]) == ("-", "not served:")
