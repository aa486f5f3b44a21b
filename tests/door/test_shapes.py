"""The table says how each API is refused, and the reference page says what the table says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.door.requests import VERSIONS

from doorkeeper.door.judged import Keeper, item_array, judged_fields
from doorkeeper.door.reference import rows, to_markdown
from doorkeeper.door.shapes import ANSWERED_AS_ONE, ITEMS, item_row, shape_of_api
from doorkeeper.wire.messages import API_KEYS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "refusals.md"


class TestTable:
    def test_says_of_every_array_with_identifiers_how_it_is_refused(self) -> None:
        for api_key, version in VERSIONS:
            fields = judged_fields(api_key, version, Keeper.EMBEDDED)
            row = item_row(api_key, version)
            told = {None if row is None else row.request, ANSWERED_AS_ONE.get(api_key)}
            assert {item_array(field) for field in fields} - {None} <= told, (api_key, version)

    @pytest.mark.parametrize("api_key", sorted(ANSWERED_AS_ONE))
    def test_has_no_row_that_is_not_needed(self, api_key: int) -> None:
        versions = [version for key, version in VERSIONS if key == api_key]
        arrays = {
            item_array(field) for version in versions for field in judged_fields(api_key, version, Keeper.EMBEDDED)
        }
        assert ANSWERED_AS_ONE[api_key] in arrays
        assert api_key not in ITEMS

    def test_has_a_place_for_the_code_everywhere_but_in_old_describe_log_dirs(self) -> None:
        without = {(key, version) for key, version in VERSIONS if not shape_of_api(key, version).codes}
        assert without == {(35, 1), (35, 2)}

    @pytest.mark.parametrize(
        ("api_key", "version", "closes"),
        [
            (0, 13, "acks=0, or no partition is named"),
            (3, 12, "topics is empty or null"),
            (3, 13, ""),
            (8, 9, "no element in topics[].partitions"),
            (35, 2, "always"),
            (51, 0, "deletions and upsertions is empty or null"),
            (18, 4, ""),
        ],
    )
    def test_says_when_the_connection_is_closed(self, api_key: int, version: int, closes: str) -> None:
        assert shape_of_api(api_key, version).closes == closes

    @pytest.mark.parametrize(
        ("api_key", "version", "alone"), [(13, 2, False), (13, 3, True), (10, 3, False), (0, 9, False)]
    )
    def test_refuses_items_alone_where_the_version_has_them(self, api_key: int, version: int, alone: bool) -> None:
        assert (item_row(api_key, version) is not None) is alone


class TestReferencePage:
    def test_is_up_to_date(self) -> None:
        assert PAGE.read_text(encoding="utf-8") == to_markdown(), "run `make docs`"

    def test_names_every_version_of_every_api_once(self) -> None:
        named = [(row.key, version) for row in rows() for version in range(row.first_version, row.last_version + 1)]
        assert sorted(named) == sorted(VERSIONS)
        assert {row.key for row in rows()} == API_KEYS
