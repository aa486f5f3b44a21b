"""Run the benchmarks and rewrite RESULTS.md: all of it, or the parts of the modules that are named."""

from __future__ import annotations

import datetime
import importlib
import os
import platform
import sys
from collections.abc import Mapping
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
    "audit",
    "audit_scale",
)
_YES_NO = {True: "yes", False: "**no**", None: "-"}
RESULTS = Path(__file__).parent / "RESULTS.md"


def main(names: list[str]) -> int:
    sections = _known_sections() if names else {}
    missed = 0
    for name in names or MODULES:
        module = importlib.import_module(f"benchmarks.{name}")
        rows: list[Row] = module.rows()
        missed += sum(row.met is False for row in rows)
        print(f"{name}:")
        for row in rows:
            print(f"  {row.what}: {row.ours} to {row.peer} = {row.ratio:.2f}x (target {row.target})")
        sections[name] = _section(name, (module.__doc__ or "").strip(), rows)
    RESULTS.write_text(_page(sections), encoding="utf-8")
    print(f"{missed} target(s) missed")
    return 0


def _known_sections() -> dict[str, str]:
    """The page as it is, by module."""
    _, *found = RESULTS.read_text(encoding="utf-8").split("\n## ")
    return {text.partition("\n")[0]: f"## {text.strip()}\n" for text in found}


def _page(sections: Mapping[str, str]) -> str:
    lead = "Each part is made by `python -m benchmarks PART` (`make bench` makes all). Ratios of medians, both sides in"
    lines = [
        "# Benchmark results",
        "",
        lead,
        "alternation in one run; the absolute figures are a machine's of the day and say little.",
        "",
        *(sections[name] for name in MODULES if name in sections),
    ]
    return "\n".join(lines)


def _section(name: str, text: str, rows: list[Row]) -> str:
    today = datetime.datetime.now(tz=datetime.UTC).date()
    load = f"load {os.getloadavg()[0]:.0f}" if hasattr(os, "getloadavg") else "load unknown"
    lines = [
        f"## {name}",
        "",
        text,
        "",
        f"On {today}: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {load}.",
        "",
        "| what | ours | peer | ratio | target | met |",
        "| --- | --- | --- | --- | --- | --- |",
        *(
            f"| {row.what} | {row.ours} | {row.peer} | {row.ratio:.2f}x | {row.target} | {_YES_NO[row.met]} |"
            for row in rows
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
