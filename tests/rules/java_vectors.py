"""Vectors that Java programs printed: the committed ones, and the same asked anew of the Java that is here.

To make a file anew, e.g.:

    java -cp '.cache/kafka-4.3.1/*' tools/kafka/src/SanitizerVectors.java names > tests/vectors/sanitizer-names.jsonl
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.kafka.jars import require_jars
from tools.extract_facts import run_java

ROOT = Path(__file__).resolve().parents[2]

Row = dict[str, Any]


def committed(name: str) -> tuple[Row, list[Row]]:
    """The header and the rows of `tests/vectors/<name>.jsonl`."""
    return _rows((ROOT / "tests" / "vectors" / f"{name}.jsonl").read_text(encoding="ascii"))


def printed(program: str, section: str) -> tuple[Row, list[Row]]:
    """The header and the rows that the program prints now; a named skip without Java or Kafka's jars, except in CI."""
    return _rows(run_java(f"{program}.java", require_jars(), section).decode("ascii"))


def _rows(text: str) -> tuple[Row, list[Row]]:
    header, *rows = map(json.loads, text.splitlines())
    return header, rows
