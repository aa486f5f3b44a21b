"""`doorkeeper rules` and the reference page made from it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from doorkeeper.cli import root
from doorkeeper.rules.verdict import RuleId

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rules.md"


def rules(*arguments: str) -> str:
    result = CliRunner().invoke(root, ["rules", *arguments])
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("format_", ["text", "markdown", "json", "csv"])
def test_every_rule_is_in_every_format(format_: str) -> None:
    text = rules("--format", format_)
    assert [rule for rule in RuleId if rule.value not in text] == []


def test_the_reference_page_is_the_commands_output() -> None:
    assert PAGE.read_text(encoding="utf-8") == rules("--format", "markdown"), "run `make docs`"


def test_json_is_versioned() -> None:
    document = json.loads(rules("--format", "json"))
    assert document["version"] == 1
    assert len(document["rules"]) == len(RuleId)


def test_the_field_map_as_csv_has_the_columns_of_the_contract() -> None:
    rows = list(csv.DictReader(io.StringIO(rules("--fields", "--format", "csv"))))
    assert list(rows[0]) == ["api_key", "api_name", "field_path", "kind", "first_version", "last_version"]
    assert {
        "api_key": "10",
        "api_name": "FindCoordinator",
        "field_path": "coordinator_keys[]",
        "kind": "transactional_id",
        "first_version": "4",
        "last_version": "6",
    } in rows


@pytest.mark.parametrize("format_", ["text", "markdown", "json"])
def test_the_field_map_comes_in_every_format(format_: str) -> None:
    assert "transactional_id" in rules("--fields", "--format", format_)
