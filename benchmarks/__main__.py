"""Run the benchmarks and rewrite RESULTS.md."""

from __future__ import annotations

import datetime
import importlib
import os
import platform
import sys
from pathlib import Path

from benchmarks.measure import Row

MODULES = (
    "judging",
    "deciding",
    "startup",
    "door",
    "door_in_a_cluster",
    "log",
    "control_plane",
    "data_plane",
    "groups",
    "metering",
    "gateway",
)
_YES_NO = {True: "yes", False: "**no**"}
RESULTS = Path(__file__).parent / "RESULTS.md"


def main(names: list[str]) -> int:
    sections = []
    missed = 0
    for name in names or MODULES:
        module = importlib.import_module(f"benchmarks.{name}")
        rows: list[Row] = module.rows()
        missed += sum(not row.met for row in rows)
        print(f"{name}:")
        for row in rows:
            print(f"  {row.what}: {row.ours} to {row.peer} = {row.ratio:.2f}x (target {row.target})")
        sections.append((name, (module.__doc__ or "").strip(), rows))
    if not names:
        RESULTS.write_text(_page(sections), encoding="utf-8")
    print(f"{missed} target(s) missed")
    return 0


def _page(sections: list[tuple[str, str, list[Row]]]) -> str:
    today = datetime.datetime.now(tz=datetime.UTC).date()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    lines = [
        "# Benchmark results",
        "",
        f"Made by `make bench` on {today} ({machine}). Ratios of medians, both sides in alternation in one run;",
        "the absolute figures are this machine's and say little.",
    ]
    for name, text, rows in sections:
        lines += [
            "",
            f"## {name}",
            "",
            text,
            "",
            "| what | ours | peer | ratio | target | met |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        lines += [
            f"| {row.what} | {row.ours} | {row.peer} | {row.ratio:.2f}x | {row.target} | {_YES_NO[row.met]} |"
            for row in rows
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
