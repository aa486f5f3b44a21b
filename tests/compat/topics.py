"""A topic for one test."""

from __future__ import annotations

import asyncio
from typing import Protocol
from uuid import uuid4

from doorkeeper.client import Admin, NewTopic


class Administered(Protocol):
    """A cluster, or what stands before one."""

    def admin(self) -> Admin: ...


def new_topic(cluster: Administered) -> str:
    """The name of a new topic of two partitions."""
    name = f"orders-{uuid4()}"

    async def create() -> None:
        async with cluster.admin() as admin:
            (await admin.create_topics([NewTopic(name, 2)])).require()

    asyncio.run(create())
    return name
