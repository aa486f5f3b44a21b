"""The supervisor of a gateway's workers: processes that listen at the same ports (SO_REUSEPORT), one for each core.

SIGTERM drains them all; SIGHUP has them read their settings again; SIGUSR2 replaces them one by one, by new processes
that are ready before the old ones drain. A worker that dies is replaced.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cli.gateway_single import STOP_SIGNALS, announce, start_pages
from doorkeeper.errors import DoorkeeperError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.doors import bind
from doorkeeper.gateway.street import OpenDoor, sides_of
from doorkeeper.gateway.telemetry import Sample, from_json
from doorkeeper.net.loop import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.gateway.settings import GatewaySettings

LOGGER: Final = logging.getLogger("doorkeeper.gateway")
START_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 5.0
RESPAWN_SECONDS: Final = 1.0
ASK_SECONDS: Final = 2.0
_LISTEN: Final = {NodeKind.BROKER: "--listen", NodeKind.CONTROLLER: "--listen-controllers"}


class WorkerDiedError(DoorkeeperError):
    """A worker ended before it was ready; what it said stands on stderr."""


def run_supervisor(settings: GatewaySettings, workers: int, format_: str, words: Sequence[str]) -> None:
    """Serve with so many workers until a signal says stop.

    :param words: the workers' command line, addresses that are chosen here apart.
    """
    with ExitStack() as held:
        fixed = _fixed_words(settings, held)
        run(Supervisor(settings, workers, [*words, *fixed]).serve(format_))


def _fixed_words(settings: GatewaySettings, held: ExitStack) -> list[str]:
    """Take the ports, so that all workers get the same; and a place for the map of node ports, which they share."""
    words: list[str] = []
    for kind, side in sides_of(settings).items():
        host, port = side.listen
        taken = held.enter_context(bind(host, port, backlog=None, reuse_port=True))
        shown = f"[{host}]" if ":" in host else host
        words += [_LISTEN[kind], f"{shown}:{taken.getsockname()[1]}"]
    if settings.state is None:
        folder = held.enter_context(tempfile.TemporaryDirectory(prefix="doorkeeper-gateway-"))
        words += ["--state", str(Path(folder) / "node-ports.json")]
    return words


class Worker:
    """One process and the channel to it."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.process = process
        self.is_ready = False
        self._reader = reader
        self._writer = writer
        self._turn = asyncio.Lock()

    async def doors(self) -> list[OpenDoor]:
        """Wait until it is ready.

        :raises WorkerDiedError: when it is not to be.
        """
        line = b""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(START_SECONDS):
                line = await self._reader.readline()
        if not line:
            raise WorkerDiedError("a worker of the gateway could not start")
        self.is_ready = True
        return [
            OpenDoor(NodeKind(one["kind"]), one["node_id"], one["host"], one["port"])
            for one in json.loads(line)["doors"]
        ]

    async def samples(self) -> list[Sample]:
        """What it counts; nothing when it does not answer."""
        async with self._turn:
            try:
                self._writer.write(b'"samples"\n')
                async with asyncio.timeout(ANSWER_SECONDS):
                    line = await self._reader.readline()
                document: dict[str, Any] = json.loads(line)
            except (OSError, ValueError, TimeoutError):
                return []
        self.is_ready = document["ready"]
        return from_json(document["samples"])

    def signal(self, number: int) -> None:
        """Send a signal, if it is still there."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


class Supervisor:
    """Starts, replaces and stops workers."""

    def __init__(self, settings: GatewaySettings, count: int, words: Sequence[str]) -> None:
        self._settings = settings
        self._count = count
        self._words = words
        self._workers: list[Worker] = []
        self._stop = asyncio.Event()
        self._leaving: set[Worker] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, format_: str) -> None:
        """Serve until a signal says stop."""
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        loop.add_signal_handler(signal.SIGUSR2, lambda: self._spawn(self._replace_all()))
        server = None
        try:
            doors = [await self._add() for _ in range(self._count)]
            server = await start_pages(self._settings, self._is_ready, self._samples)
            announce(doors[0], self._settings, format_)
            self._spawn(self._keep_asking())
            await self._stop.wait()
        finally:
            self._stop.set()
            await self._end()
            if server is not None:
                await server.stop()

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _add(self) -> list[OpenDoor]:
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "doorkeeper", "gateway", *self._words, "--worker-channel", str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
            )
        worker = Worker(process, *await asyncio.open_connection(sock=ours))
        self._workers.append(worker)
        try:
            doors = await worker.doors()
        except WorkerDiedError:
            self._workers.remove(worker)
            worker.signal(signal.SIGKILL)
            await process.wait()
            raise
        self._spawn(self._watch(worker))
        return doors

    async def _watch(self, worker: Worker) -> None:
        code = await worker.process.wait()
        worker.is_ready = False
        if worker in self._workers:
            self._workers.remove(worker)
        if worker in self._leaving or self._stop.is_set():
            self._leaving.discard(worker)
            return
        LOGGER.error("a worker ended with %s; another takes its place", code)
        await self._replace()

    async def _replace(self) -> None:
        while not self._stop.is_set():
            await asyncio.sleep(RESPAWN_SECONDS)
            try:
                await self._add()
            except WorkerDiedError as error:
                LOGGER.error("%s; trying again", error)  # noqa: TRY400 - the worker's own words stand on stderr
            else:
                return

    async def _replace_all(self) -> None:
        """A new worker is ready before an old one leaves."""
        for old in list(self._workers):
            try:
                await self._add()
            except WorkerDiedError:
                LOGGER.exception("the workers stay")
                return
            self._leaving.add(old)
            old.signal(signal.SIGTERM)

    def _reload(self) -> None:
        for worker in self._workers:
            worker.signal(signal.SIGHUP)

    def _is_ready(self) -> bool:
        return not self._stop.is_set() and any(one.is_ready for one in self._workers)

    async def _keep_asking(self) -> None:
        """Whether workers are ready changes with the cluster behind them."""
        while True:
            await asyncio.sleep(ASK_SECONDS)
            await self._samples()

    async def _samples(self) -> list[Sample]:
        told = await asyncio.gather(*(one.samples() for one in self._workers))
        return [one for samples in told for one in samples]

    async def _end(self) -> None:
        workers = list(self._workers)
        for worker in workers:
            worker.signal(signal.SIGTERM)
        await asyncio.gather(*(one.process.wait() for one in workers))
        for task in list(self._tasks):
            task.cancel()
