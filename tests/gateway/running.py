"""`doorkeeper gateway` as a process of its own, before whatever it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.kafka.requests import Connection

from doorkeeper.gateway.address_table import NodeKind

HOST = "127.0.0.1"
STOP_SECONDS = 60
WAIT_SECONDS = 60
POLL_SECONDS = 0.02
SOURCE = Path(__file__).parents[2] / "src"


class RunningGateway:
    """`with RunningGateway("--upstream", …) as gateway:`; its addresses are read from what it prints."""

    def __init__(self, *words: str, listen: str = f"{HOST}:0", cwd: Path | None = None) -> None:
        environment = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "doorkeeper", "gateway", "--listen", listen, "--log-level", "info", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=cwd,
            text=True,
        )
        self.ports: dict[tuple[NodeKind, int | None], int] = {}
        self.log: list[str] = []
        self._listening = threading.Event()
        self._readers = [
            threading.Thread(target=self._read_doors, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]

    def __enter__(self) -> Self:
        for reader in self._readers:
            reader.start()
        wait_until(lambda: self._listening.is_set() or self.process.poll() is not None)
        if self.process.poll() is not None:
            self._end()
            raise AssertionError(f"it ended with {self.process.returncode}: {self.text}")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._end()

    def _end(self) -> None:
        self.process.wait(STOP_SECONDS)
        for reader in self._readers:
            reader.join(STOP_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _read_doors(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            _, kind, node, address = line.split()
            self.ports[NodeKind(kind), None if node == "bootstrap" else int(node)] = int(address.rpartition(":")[2])
            # The doors come in one piece; the last of them is not marked.
            self._listening.set()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(iter(self.process.stderr.readline, ""))

    @property
    def text(self) -> str:
        """What it has said on stderr."""
        return "".join(self.log)

    def port(self, kind: NodeKind = NodeKind.BROKER, node_id: int | None = None) -> int:
        """A door's port."""
        wait_until(lambda: (kind, node_id) in self.ports)
        return self.ports[kind, node_id]

    @property
    def bootstrap_servers(self) -> str:
        """Where clients go."""
        return f"{HOST}:{self.port()}"

    def connect(
        self, kind: NodeKind = NodeKind.BROKER, node_id: int | None = None, client_id: str | None = "oracle"
    ) -> Connection:
        """A connection through one of the doors."""
        return Connection((HOST, self.port(kind, node_id)), client_id)

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """Wait for its end; returns its exit code."""
        return self.process.wait(STOP_SECONDS)


def wait_until(is_so: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    """Look again and again, for a bounded time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        time.sleep(POLL_SECONDS)
