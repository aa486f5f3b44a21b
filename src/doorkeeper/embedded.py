"""A Kafka inside a test: `with Doorkeeper() as kafka:`. Public API.

It serves in a thread of its own, on free ports and in a directory that goes with it, so the code under test may block
or have an event loop as it likes.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from doorkeeper.cluster.layout import Wishes, lay_out
from doorkeeper.cluster.process import NodeProcess
from doorkeeper.net.loop import loop_factory
from doorkeeper.wire.registry import Door

if TYPE_CHECKING:
    from typing import Self

    from doorkeeper.client import Admin

Result = TypeVar("Result")

PATIENT_SECONDS: Final = 60.0
"""A start or a stop that takes longer has gone wrong."""
TEST_CONFIGS: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
}
"""Where a test wants another default than a server: groups settle in moments, not in seconds."""


class Doorkeeper:
    """A cluster of one process.

    >>> with Doorkeeper() as kafka:
    ...     print(kafka.bootstrap_servers)  # doctest: +SKIP
    127.0.0.1:40123

    `async with` does the same without blocking the event loop meanwhile.
    """

    def __init__(
        self, *, brokers: int = 1, configs: Mapping[str, str] | None = None, data: str | Path | None = None
    ) -> None:
        """Nothing is opened yet.

        :param configs: keys of `server.properties`, for every broker.
        :param data: a directory to keep; without it a temporary one is used, and removed at the end.
        :raises InputError: for configs that no broker starts with.
        """
        self._brokers = brokers
        self._configs = {**TEST_CONFIGS, **(configs or {})}
        self._data = None if data is None else Path(data)
        self._held = ExitStack()
        self._process: NodeProcess | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        lay_out(None, self._wishes(Path("unused")))

    def _wishes(self, data: Path) -> Wishes:
        return Wishes(port=0, data=data, brokers=self._brokers, overrides=self._configs)

    # --- the end and the beginning ---

    def start(self) -> None:
        """Start, and return when clients may come. Calling it twice is an error."""
        if self._process is not None:
            raise RuntimeError("this Doorkeeper has been started")
        with ExitStack() as held:
            data = self._data
            if data is None:
                name = tempfile.TemporaryDirectory(prefix="doorkeeper-", ignore_cleanup_errors=True)
                data = Path(held.enter_context(name))
            process = NodeProcess(lay_out(None, self._wishes(data)))
            self._loop = loop = loop_factory()()
            thread = threading.Thread(target=loop.run_forever, name="doorkeeper", daemon=True)
            thread.start()
            held.callback(self._end_loop, loop, thread)
            self._run(process.start())
            held.callback(lambda: self._run(process.stop()))
            self._process = process
            self._held = held.pop_all()

    def stop(self) -> None:
        """Stop, and remove what was temporary. Calling it twice does no harm."""
        self._process = None
        self._held.close()

    def _end_loop(self, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        self._run(loop.shutdown_default_executor())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENT_SECONDS)
        loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something in the cluster's own loop, and wait for it."""
        assert self._loop is not None
        future: Future[Result] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(PATIENT_SECONDS)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    # --- for clients ---

    @property
    def bootstrap_servers(self) -> str:
        """What clients take as `bootstrap.servers`: every broker's address."""
        return self._addresses(Door.BROKER)

    @property
    def bootstrap_controllers(self) -> str:
        """What admin clients take as `bootstrap.controllers`."""
        return self._addresses(Door.CONTROLLER)

    def _addresses(self, door: Door) -> str:
        if self._process is None:
            raise RuntimeError("this Doorkeeper is not running")
        return ",".join(f"{one.host}:{one.port}" for one in self._process.doors if one.door is door)

    def admin(self) -> Admin:
        """An admin client of this cluster, for the caller's event loop: `async with kafka.admin() as admin:`"""
        from doorkeeper.client import Admin

        return Admin(self.bootstrap_servers)
