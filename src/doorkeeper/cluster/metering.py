"""All that a node meters: its clients and their quotas, requests by API, and how fast addresses connect.

Quotas come from the metadata, which the meter follows, so that a changed one counts from the next request on. From
QuotaFactory and ClientQuotaMetadataManager.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.quotas import ClientQuotasImage, QuotaEntityKey
from doorkeeper.cluster.server_config import NodeConfig
from doorkeeper.metering.clients import ClientBook, ClientMeter
from doorkeeper.metering.connections import ConnectionRates
from doorkeeper.metering.quotas import CONNECTION_CREATION_RATE, Entity, Name
from doorkeeper.metering.requests import TICK_SECONDS, RequestBook
from doorkeeper.metering.samples import Windows
from doorkeeper.metering.sensors import MutationQuota
from doorkeeper.rules.client_id import DEFAULT

USER, CLIENT_ID, IP = "user", "client-id", "ip"
_MISSING: Final = ""


def now_ms() -> int:
    """A clock that nobody sets, in whole milliseconds."""
    return time.monotonic_ns() // 1_000_000


def user_of(principal: str) -> str:
    """The name in `User:name`."""
    return principal.partition(":")[2]


class NodeMeter:
    """One node's books."""

    def __init__(self, config: NodeConfig) -> None:
        windows = Windows(config.number("quota.window.num"), config.number("quota.window.size.seconds") * 1000)
        self.clients = ClientBook(windows)
        self.requests = RequestBook()
        self.connections = ConnectionRates(windows)
        self._applied = ClientQuotasImage.EMPTY

    def follow(self, image: MetadataImage) -> None:
        """Take in the quotas of this image, if they are others."""
        quotas = image.client_quotas
        if quotas is self._applied:
            return
        self._applied = quotas
        self.clients.change_quotas(_of_clients(quotas.entities))
        self.connections.change_limits(_of_addresses(quotas.entities))

    def find(self, principal: str, client_id: str | None, now: int) -> ClientMeter:
        """The meter of a client."""
        return self.clients.find(user_of(principal), client_id or "", now)

    def mutation_quota(self, call: Call, strict_since: int) -> MutationQuota:
        """The account for what a request does to topics (KIP-599).

        :param strict_since: the first version of the API that knows THROTTLING_QUOTA_EXCEEDED.
        """
        meter = self.find(call.principal, call.request.client_id, now_ms())
        return MutationQuota(self.clients.mutation(meter), strict=call.version >= strict_since)

    def most_to_fetch(self, call: Call) -> float | None:
        """More bytes than this would be throttled for certain; None without a limit."""
        meter = call.peer.meter
        if meter is None or meter.epoch != self.clients.epoch:
            meter = self.find(call.principal, call.request.client_id, now_ms())
        return self.clients.fetch(meter).most_in_window(self.clients.windows)

    def admit(self, address: str) -> float:
        """Count a new connection; returns after how many seconds it is to be closed, 0 if it may stay."""
        return self.connections.admit(address, now_ms()) / 1000

    def tick(self) -> None:
        """To be called every `requests.TICK_SECONDS`: averages fade, and who has been silent for an hour goes."""
        now = now_ms()
        self.requests.tick()
        self.clients.expire(now)
        self.connections.expire(now)


async def keep_meter(meter: NodeMeter) -> None:
    """Tick for as long as the node runs."""
    while True:
        await asyncio.sleep(TICK_SECONDS)
        meter.tick()


def _of_clients(entities: Mapping[QuotaEntityKey, Mapping[str, float]]) -> dict[Entity, Mapping[str, float]]:
    found: dict[Entity, Mapping[str, float]] = {}
    for key, values in entities.items():
        names = dict(key)
        if IP not in names:
            found[_name(names, USER), _name(names, CLIENT_ID)] = values
    return found


def _of_addresses(entities: Mapping[QuotaEntityKey, Mapping[str, float]]) -> dict[str | None, float]:
    return {
        dict(key)[IP]: values[CONNECTION_CREATION_RATE]
        for key, values in entities.items()
        if IP in dict(key) and CONNECTION_CREATION_RATE in values
    }


def _name(names: Mapping[str, str | None], kind: str) -> Name:
    found = names.get(kind, _MISSING)
    if found is None:
        return DEFAULT
    return found or None
