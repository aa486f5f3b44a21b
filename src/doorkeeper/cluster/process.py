"""All nodes of one process: started controller first, stopped controller last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from doorkeeper.cluster.node import Node, OpenDoor
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.cluster.verdicts import Verdicts
from doorkeeper.wire.registry import Door

if TYPE_CHECKING:
    from doorkeeper.cluster.request_log import RequestLogWish

LOGGER: Final = logging.getLogger("doorkeeper.node")


class NodeProcess:
    """`async with NodeProcess(configs) as nodes:` serves until the block ends."""

    def __init__(
        self,
        configs: Sequence[NodeConfig],
        verdicts: Verdicts | None = None,
        *,
        request_log: RequestLogWish | None = None,
    ) -> None:
        """:param configs: as `layout.lay_out` gives them, the controller's first.
        :param verdicts: where the doors' verdicts on identifiers go.
        """
        self._configs = configs
        self.verdicts = verdicts or Verdicts()
        self._request_log = request_log
        self.nodes: list[Node] = []

    @property
    def doors(self) -> list[OpenDoor]:
        """Every open door, controllers' after brokers'."""
        return sorted((door for node in self.nodes for door in node.doors), key=lambda one: (one.door, one.node_id))

    def port(self, door: Door, node_id: int | None = None) -> int:
        """The port of a door; the first of its kind unless a node is named."""
        return next(one.port for one in self.doors if one.door is door and node_id in (None, one.node_id))

    async def start(self) -> None:
        """Start all nodes; one that can't start stops those that have."""
        for warning in dict.fromkeys(each for config in self._configs for each in config.warnings):
            LOGGER.warning("%s", warning)
        own_brokers = [config.node_id for config in self._configs if config.is_broker]
        try:
            for config in self._configs:
                node = Node(
                    config,
                    controller_address=self._controller_address(),
                    verdicts=self.verdicts,
                    request_log=self._request_log,
                )
                await node.start(own_brokers)
                self.nodes.append(node)
        except BaseException:
            await self.stop()
            raise

    def _controller_address(self) -> tuple[str, int] | None:
        doors = [one for one in self.doors if one.door is Door.CONTROLLER]
        return (doors[0].host, doors[0].port) if doors else None

    async def run_until(self, stop: asyncio.Event) -> None:
        """Serve until told to stop; raises what makes a node fail before that."""
        stopping = asyncio.ensure_future(stop.wait())
        failing = [asyncio.ensure_future(node.fail()) for node in self.nodes]
        try:
            await asyncio.wait((stopping, *failing), return_when=asyncio.FIRST_COMPLETED)
            for task in failing:
                if task.done():
                    task.result()
        finally:
            stopping.cancel()
            for task in failing:
                task.cancel()

    async def stop(self) -> None:
        """Stop the nodes, the controller's last."""
        while self.nodes:
            await self.nodes.pop().stop()

    async def __aenter__(self) -> NodeProcess:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
