"""Producer ids from blocks that the controller gives out (KIP-730). From RPCProducerIdManager."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.channel import ControllerChannel
from doorkeeper.errors import NetworkError
from doorkeeper.wire.registry import VersionRange

ALLOCATE_PRODUCER_IDS: Final = 67
VERSIONS: Final = VersionRange(0, 0)


class ProducerIds:
    """Hands out ids, each once."""

    def __init__(self, node_id: int, channel: ControllerChannel, timeout: float, epoch: Callable[[], int]) -> None:
        """:param epoch: the broker's epoch, as the controller gave it."""
        self._node_id = node_id
        self._channel = channel
        self._timeout = timeout
        self._epoch = epoch
        self._left = range(0)
        self._asking = asyncio.Lock()

    def take(self) -> int | None:
        """The next id of the block at hand; None when a new block is needed."""
        if not self._left:
            return None
        chosen = self._left[0]
        self._left = self._left[1:]
        return chosen

    async def take_new(self) -> int:
        """The next id, with a new block if need be. NetworkError if the controller gives none."""
        while (chosen := self.take()) is None:
            await self.refill()
        return chosen

    @property
    def is_empty(self) -> bool:
        """Whether the next id needs a new block."""
        return not self._left

    async def refill(self) -> None:
        """Have ids at hand. NetworkError if the controller gives none."""
        async with self._asking:
            if not self._left:
                await self._ask()

    async def _ask(self) -> None:
        values = {"broker_id": self._node_id, "broker_epoch": self._epoch()}
        response = await self._channel.ask(ALLOCATE_PRODUCER_IDS, VERSIONS, values, timeout=self._timeout)
        if response.error_code or response.producer_id_len <= 0:
            raise NetworkError(f"the controller gave no producer ids: {ErrorCode(response.error_code).name}")
        first = response.producer_id_start
        self._left = range(first, first + response.producer_id_len)
