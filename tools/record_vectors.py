"""What the tools that make vectors share: asking the Java program, and writing the file."""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.extract_facts import run_java


def answered(program: str, jars: Path, version: str, rows: Sequence[Any]) -> str:
    """Return the text of a vectors file: each row with the key and value that the Java program writes for it."""
    questions = "\n".join(json.dumps(row) for row in rows).encode("ascii")
    answers = run_java(program, jars, stdin=questions + b"\n").decode("ascii").splitlines()
    lines = [json.dumps({"kafka_version": version, "rows": len(rows)})]
    for row, answer in zip(rows, answers, strict=True):
        key, value = (None if part == "-" else part for part in answer.split(" "))
        lines.append(json.dumps([*row, key, value], separators=(",", ":")))
    return "\n".join(lines) + "\n"


def write(description: str | None, vectors: Callable[[Path], str], default: Path) -> int:
    """Read the command line, and write the vectors where it says; gzipped if the file's name ends so."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", type=Path, required=True, help="folder with Kafka's jars")
    parser.add_argument("--out", type=Path, default=default, help="file to write (default: %(default)s)")
    options = parser.parse_args()
    text = vectors(options.jars).encode("ascii")
    options.out.write_bytes(gzip.compress(text, mtime=0) if options.out.suffix == ".gz" else text)
    print(f"wrote {options.out}")
    return 0
