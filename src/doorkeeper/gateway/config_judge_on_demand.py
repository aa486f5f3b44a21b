"""The judge of config changes, made when the first change comes: most gateways see few, and its rules take a while to
load, which nobody who starts a gateway should wait for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from doorkeeper.gateway.addresses import Address
from doorkeeper.gateway.judging import Judge
from doorkeeper.gateway.upstream import Opener

if TYPE_CHECKING:
    from doorkeeper.door.refusal import Refusal
    from doorkeeper.gateway.callers import Client
    from doorkeeper.gateway.config_judge import ConfigJudge
    from doorkeeper.gateway.gatekeeper import DoorFacts
    from doorkeeper.wire.codec import Request


class ConfigJudgeOnDemand:
    """Implements `gatekeeper.ConfigJudge`."""

    def __init__(self, judge: Judge, open_requester: Opener, candidates: Callable[[], Iterable[Address]]) -> None:
        """:param candidates: real addresses of brokers, the best first."""
        self._arguments = (judge, open_requester, candidates)
        self._made: ConfigJudge | None = None

    async def judge(self, request: Request, door: DoorFacts, client: Client) -> Refusal | None:
        """What is refused of a change; None for nothing."""
        if self._made is None:
            # In a thread, so that other connections are served meanwhile; two first changes may both make one.
            self._made = await asyncio.to_thread(self._make)
        return await self._made.judge(request, door, client)

    def _make(self) -> ConfigJudge:
        from doorkeeper.gateway.cluster_reader import ClusterReader
        from doorkeeper.gateway.config_judge import ConfigJudge

        judge, open_requester, candidates = self._arguments
        return ConfigJudge(judge, ClusterReader(open_requester, candidates))
