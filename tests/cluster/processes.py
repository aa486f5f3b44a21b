"""`doorkeeper serve` as a process of its own, for tests that kill it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.cluster.running import HOST
from tests.kafka.requests import Connection

from doorkeeper.wire.registry import Door

STOP_SECONDS = 30
SOURCE = Path(__file__).parents[2] / "src"


class ServeProcess:
    """One `doorkeeper serve`; its addresses are read from what it prints."""

    def __init__(self, *arguments: str, cwd: Path | None = None) -> None:
        environment = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "doorkeeper", "serve", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            text=True,
        )
        self.ports: dict[tuple[Door, int], int] = {}
        self.errors = ""
        """What it said on stderr, once it has stopped."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=STOP_SECONDS)

    def wait_until_listening(self, doors: int = 2) -> Self:
        """Read as many addresses as there are doors."""
        assert self.process.stdout is not None
        for _ in range(doors):
            line = self.process.stdout.readline().split()
            if not line:
                _, errors = self.process.communicate(timeout=STOP_SECONDS)
                raise AssertionError(f"it ended with {self.process.returncode}: {errors}")
            self.ports[Door(line[1]), int(line[2])] = int(line[3].rpartition(":")[2])
        return self

    def connect(self, door: Door = Door.BROKER, node_id: int = 1) -> Connection:
        return Connection((HOST, self.ports[door, node_id]))

    def kill(self) -> None:
        """kill -9: nothing is said, nothing is flushed."""
        self.process.kill()
        self.process.communicate(timeout=STOP_SECONDS)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop, and return its exit code."""
        self.process.send_signal(number)
        _, self.errors = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode
