"""A command of many processes, watched while it runs."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path


class Watched:
    """Runs a command and sums the CPU time of all its processes: Spark's Python workers outlive who could be asked."""

    def __init__(self, command: list[str]) -> None:
        self._cpu: dict[int, float] = {}
        self._tree: set[int] = set()
        started = time.monotonic()
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err, text=True)
            self._tree.add(process.pid)
            while process.poll() is None:
                self._look()
                time.sleep(0.05)
            self.seconds = time.monotonic() - started
            out.seek(0)
            err.seek(0)
            self.stdout, self.stderr = out.read(), err.read()
        if process.returncode:
            raise RuntimeError(self.stderr[-3000:])

    @property
    def cpu(self) -> float:
        """Seconds of CPU, as far as the last look saw."""
        return sum(self._cpu.values())

    def _look(self) -> None:
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = entry.read_text().rpartition(")")[2].split()
                number = int(entry.parent.name)
                if int(fields[1]) in self._tree:
                    self._tree.add(number)
                if number in self._tree:
                    self._cpu[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
