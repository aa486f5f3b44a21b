"""franz-go's kfake, the best peer of this kind: fetched from the Go proxy, built here, kept in `.cache`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.maven_jars import ROOT

FOLDER = Path(__file__).parent
PROGRAM = ROOT / ".cache" / "kfake"
BUILD_SECONDS = 600


def build() -> None:
    """Make the program, if it is not there as its sources say; Go knows."""
    if shutil.which("go") is None:
        raise SystemExit("Go is needed to build kfake, a peer of this benchmark: https://go.dev/doc/install")
    subprocess.run(["go", "build", "-o", str(PROGRAM), "."], cwd=FOLDER, check=True, timeout=BUILD_SECONDS)


@contextmanager
def running(data: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A kfake of one broker, which keeps its records in this directory; its process and port."""
    build()
    data.mkdir(parents=True)
    with subprocess.Popen([str(PROGRAM), str(data)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline().rpartition(":")[2])
        finally:
            process.kill()
