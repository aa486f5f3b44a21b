"""`doorkeeper gateway` as a process of its own, before whatever it is told."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

from tests.kafka.requests import Connection, make_request

from doorkeeper.cli.gateway import command
from doorkeeper.cli.gateway_settings import SettingsSource
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.process import GatewayProcess
from doorkeeper.net.loop import loop_factory

HOST = "127.0.0.1"
STOP_SECONDS = 60
WAIT_SECONDS = 60
POLL_SECONDS = 0.02
SOURCE = Path(__file__).parents[2] / "src"


class Gateway(ABC):
    """What a test asks of a gateway, wherever it runs."""

    @abstractmethod
    def port(self, kind: NodeKind = NodeKind.BROKER, node_id: int | None = None) -> int:
        """A door's port."""

    @property
    def bootstrap_servers(self) -> str:
        """Where clients go."""
        return f"{HOST}:{self.port()}"

    def connect(
        self, kind: NodeKind = NodeKind.BROKER, node_id: int | None = None, client_id: str | None = "oracle"
    ) -> Connection:
        """A connection through one of the doors."""
        return Connection((HOST, self.port(kind, node_id)), client_id)


class RunningGateway(Gateway):
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

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """Wait for its end; returns its exit code."""
        return self.process.wait(STOP_SECONDS)


class ThreadedGateway(Gateway):
    """The same in this process, which starts in a moment: for tests that need neither signals nor what it prints."""

    def __init__(self, *words: str, listen: str = f"{HOST}:0") -> None:
        asked = command.make_context("gateway", ["--listen", listen, *words]).params
        for name in ("format_", "log_level", "worker_channel"):
            del asked[name]
        source = SettingsSource(asked.pop("config"), asked.pop("upstream_config"), asked.pop("workers"), asked)
        self._loop = loop_factory()()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._settings = source.load()
        self.process: GatewayProcess | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._start())
        return self

    async def _start(self) -> None:
        self.process = GatewayProcess(self._settings)
        await self.process.start()

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        try:
            self._run(self.process.stop())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(STOP_SECONDS)

    def has(self, kind: NodeKind, node_id: int | None) -> bool:
        """Whether there is a door for a node."""
        assert self.process is not None
        return any((one.kind, one.node_id) == (kind, node_id) for one in self.process.doors)

    def port(self, kind: NodeKind = NodeKind.BROKER, node_id: int | None = None) -> int:
        """A door's port; brokers are learnt of a moment after the start."""
        assert self.process is not None
        wait_until(lambda: self.has(kind, node_id))
        return next(one.port for one in self.process.doors if (one.kind, one.node_id) == (kind, node_id))


def has_coordinator(gateway: Gateway) -> bool:
    """Whether groups are looked after: a new Kafka makes their topic when it is first asked for."""
    with gateway.connect() as connection:
        request = make_request(10, 4, key_type=0, coordinator_keys=("nobody",))
        (found,) = connection.call(request).coordinators
    if found.error_code:
        return False
    with gateway.connect(NodeKind.BROKER, found.node_id) as connection:
        described = connection.call(make_request(15, 5, groups=("nobody",), include_authorized_operations=False))
        return bool(described.groups[0].error_code == 0)


def wait_until(is_so: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    """Look again and again, for a bounded time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        time.sleep(POLL_SECONDS)
