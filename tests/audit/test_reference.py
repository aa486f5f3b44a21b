"""The reference page names every column and every field, and no other."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from doorkeeper.audit.report import render_report
from doorkeeper.audit.schemas import FINDINGS, MERGED
from doorkeeper.audit.summary import (
    Bucket,
    ConfigFinding,
    GroupedFinding,
    KindTotals,
    OldCaller,
    Owner,
    Place,
    RenamedClient,
    SourceTotals,
    Summary,
    Timeline,
)

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
COLUMNS, DOCUMENT = PAGE.split("## `summary.json`")


def test_every_column_is_described_in_its_order() -> None:
    assert re.findall(r"^\| `(\w+)` \|", COLUMNS, re.MULTILINE) == FINDINGS.names


def test_the_columns_that_do_not_group_are_named() -> None:
    sentence = COLUMNS.split("all columns but ")[1].split(".")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == set(MERGED)


def test_every_field_of_the_summary_is_described() -> None:
    described = set(re.findall(r"`(\w+)`", DOCUMENT)) | {"version"}
    documents = (
        Summary, SourceTotals, Place, KindTotals, GroupedFinding, Owner, Timeline, Bucket, ConfigFinding, RenamedClient,
        OldCaller,
    )  # fmt: skip
    named = {field.name for document in documents for field in fields(document)}
    assert named - described == {"kind", "rule", "value"} - described


def test_the_report_needs_nothing_but_the_document() -> None:
    assert render_report(Summary.from_json(Summary(generated="2026-11-16T00:00:00Z").to_json()))
