"""How long the command line takes to start, against importing click alone."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import Row, compare


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def rows() -> list[Row]:
    """`doorkeeper --help` and `doorkeeper check` on one name."""

    def peer() -> None:
        _run("-c", "import click")

    return [
        compare(
            "`doorkeeper --help` against `import click`",
            lambda: _run("-m", "doorkeeper", "--help"),
            peer,
            at_most=1.5,
            loops=2,
            unit="ms",
        ),
        compare(
            "`doorkeeper check group NAME` against `import click`",
            lambda: _run("-m", "doorkeeper", "check", "group", "billing"),
            peer,
            at_most=2.0,
            loops=2,
            unit="ms",
        ),
    ]
