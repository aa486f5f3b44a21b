"""A cluster of ours in this process, for tests that talk to it as any client would: over sockets, from outside."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.kafka.requests import Connection

from doorkeeper.cluster.layout import Wishes, lay_out
from doorkeeper.cluster.loggers import NodeLoggers
from doorkeeper.cluster.node import Node
from doorkeeper.cluster.process import NodeProcess
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.net.loop import loop_factory
from doorkeeper.rules.logger_config import ROOT_LOGGER
from doorkeeper.wire.registry import Door

HOST = "127.0.0.1"
START_SECONDS = 30


class RunningCluster:
    """`with RunningCluster(folder) as cluster:` starts a combined node, or as many brokers as asked, on free ports."""

    def __init__(
        self,
        folder: Path,
        *,
        brokers: int = 1,
        overrides: Mapping[str, str] | None = None,
        broker_overrides: Mapping[int, Mapping[str, str]] | None = None,
        configs: Sequence[NodeConfig] | None = None,
    ) -> None:
        wishes = Wishes(
            port=0,
            data=folder,
            brokers=brokers,
            overrides=overrides or {},
            broker_overrides=broker_overrides or {},
        )
        self._process = NodeProcess(lay_out(None, wishes) if configs is None else configs)
        self._loop = loop_factory()()
        self._root_level = logging.getLogger().level
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.run(self._process.start())
        except BaseException:
            self._end_loop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.run(self._process.stop())
        finally:
            self._end_loop()
            self._restore_loggers()

    def _restore_loggers(self) -> None:
        """Levels belong to the process, and the next test's cluster lives in the same one."""
        logging.getLogger().setLevel(self._root_level)
        for name in NodeLoggers().levels().keys() - {ROOT_LOGGER}:
            logging.getLogger(name).setLevel(logging.NOTSET)

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do something in the cluster's own loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(START_SECONDS)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Return once something is so in the cluster; it is asked again after every turn of its loop."""

        async def wait() -> None:
            while not condition():
                await asyncio.sleep(0)

        self.run(wait())

    @property
    def nodes(self) -> list[Node]:
        return self._process.nodes

    @property
    def broker_ids(self) -> list[int]:
        return [one.config.node_id for one in self.nodes if one.config.is_broker]

    @property
    def log_dirs(self) -> list[Path]:
        return [folder for one in self.nodes for folder in one.config.log_dirs]

    def node(self, node_id: int = 1) -> Node:
        return next(one for one in self.nodes if one.config.node_id == node_id)

    def address(self, door: Door, node_id: int | None = None) -> tuple[str, int]:
        return HOST, self._process.port(door, node_id)

    def connect(self, door: Door = Door.BROKER, node_id: int | None = None, client_id: str = "test") -> Connection:
        return Connection(self.address(door, node_id), client_id)

    @property
    def bootstrap_servers(self) -> str:
        return "{}:{}".format(*self.address(Door.BROKER))

    @property
    def bootstrap_controllers(self) -> str:
        return "{}:{}".format(*self.address(Door.CONTROLLER))


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]
