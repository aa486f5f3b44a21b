"""Vectors of records that coordinators keep: type, version, key and value as Kafka's JSON, and their bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent.parent / "vectors"
TYPE, VERSION, KEY, VALUE, KEY_BYTES, VALUE_BYTES = range(6)

Row = list[Any]


def load_rows(name: str) -> list[Row]:
    """All rows of a file, which says how many it has."""
    text = (VECTORS / f"{name}-records-4.3.1.jsonl").read_text(encoding="ascii")
    header, *rows = map(json.loads, text.splitlines())
    assert header["rows"] == len(rows)
    return rows
