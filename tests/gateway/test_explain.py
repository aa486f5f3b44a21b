"""`doorkeeper gateway explain`: every API and version, and the page that is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from doorkeeper.cli import root
from doorkeeper.gateway.explaining import explain_all
from doorkeeper.gateway.modes import parse_modes
from doorkeeper.gateway.settings import settings_of
from doorkeeper.rules.fields import identifier_version
from doorkeeper.wire.messages import API_KEYS, newest_version, oldest_version

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "gateway.md"
EXAMPLES = ROOT / "examples" / "gateway"


def explained(*words: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(root, ["gateway", "explain", "--format", "json", *words])
    assert done.exit_code == 0, done.output
    document = json.loads(done.output)
    assert document["version"] == 1
    rows: list[dict[str, Any]] = document["apis"]
    return rows


def test_every_version_of_every_api_is_explained_once() -> None:
    seen = [
        (row["api_key"], one) for row in explained() for one in range(row["first_version"], row["last_version"] + 1)
    ]
    wanted = {
        (key, version)
        for key in API_KEYS
        for version in range(oldest_version(key), max(newest_version(key), identifier_version(key) or 0) + 1)
    }
    assert len(seen) == len(set(seen))
    assert wanted <= set(seen)
    assert all(row["why"] and row["treatments"] for row in explained())


@pytest.mark.parametrize(
    ("api", "version", "words", "treatments"),
    [
        ("HEARTBEAT", 4, (), ["judged"]),
        ("HEARTBEAT", 4, ("--mode", "off"), ["passed"]),
        ("HEARTBEAT", 4, ("--mode", "off", "--mode", "group_id=enforce"), ["judged"]),
        ("HEARTBEAT", 5, (), ["withdrawn"]),
        ("HEARTBEAT", 5, ("--unstable-versions",), ["judged"]),
        ("LIST_OFFSETS", 1, (), ["passed"]),
        ("METADATA", 0, (), ["rewritten"]),
        ("FETCH", 15, ("--mode", "off"), ["passed"]),
        ("FETCH", 16, ("--mode", "off"), ["rewritten"]),
        ("PRODUCE", 2, (), ["withdrawn"]),
        ("INCREMENTAL_ALTER_CONFIGS", 1, ("--mode", "off", "--mode", "config_change=enforce"), ["judged"]),
        ("API_VERSIONS", 4, (), ["rewritten"]),
        ("INIT_PRODUCER_ID", 6, (), ["withdrawn"]),
    ],
)
def test_says_what_becomes_of_it(api: str, version: int, words: tuple[str, ...], treatments: list[str]) -> None:
    (row,) = [one for one in explained("--api", api, *words) if one["first_version"] <= version <= one["last_version"]]
    assert row["treatments"] == treatments


def test_an_api_that_there_is_not_is_named() -> None:
    done = CliRunner().invoke(root, ["gateway", "explain", "--api", "Sing"])
    assert (done.exit_code, "'Sing'" in done.stderr) == (3, True)


def test_the_page_is_what_explain_prints() -> None:
    done = CliRunner().invoke(root, ["gateway", "explain", "--format", "markdown"])
    assert PAGE.read_text().endswith(done.stdout), "run `make docs`"


def test_the_text_names_every_api() -> None:
    done = CliRunner().invoke(root, ["gateway", "explain"])
    assert len({line.split()[0] for line in done.stdout.splitlines()}) == len(API_KEYS)


def test_rows_are_ranges_of_versions_that_are_alike() -> None:
    rows = [row for row in explain_all(parse_modes([])) if row.api == "FIND_COORDINATOR"]
    assert [(row.first, row.last) for row in rows] == [(0, 0), (1, 3), (4, 6), (7, 7)]


def test_the_examples_can_be_read() -> None:
    document = yaml.safe_load((EXAMPLES / "gateway.yaml").read_text())
    del document["workers"]
    assert settings_of(document).brokers.node_ports == (20000, 20099)
    config_map, *_ = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())
    inner = yaml.safe_load(config_map["data"]["gateway.yaml"])
    del inner["workers"]
    assert settings_of(inner).http == ("0.0.0.0", 9400)
