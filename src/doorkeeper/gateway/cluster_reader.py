"""Asking the cluster about its brokers' configs, on connections of the gateway's own.

Every change is judged by what the brokers say at that moment. What a broker said last is remembered, for the time that
it can't be asked: a broker that comes back, and registers anew, is asked anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

from doorkeeper.errors import DoorkeeperError, NetworkError
from doorkeeper.gateway.addresses import Address
from doorkeeper.gateway.config_readings import ClusterReading, Reading, features_of, read_layers
from doorkeeper.gateway.upstream import ASK_SECONDS, DESCRIBE_CLUSTER, Opener, known_versions
from doorkeeper.net.requester import Requester
from doorkeeper.rules.config_change import ResourceType
from doorkeeper.wire.api_versions import SERVED as API_VERSIONS_RANGE
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import API_VERSIONS, message_classes
from doorkeeper.wire.schema import shape_of

DESCRIBE_CONFIGS: Final = 32
ASKED_AT_ONCE: Final = 16
"""Brokers that are asked at the same time."""


class ClusterReader:
    """Implements `config_judge.Cluster`."""

    def __init__(self, open_requester: Opener, candidates: Callable[[], Iterable[Address]]) -> None:
        """:param candidates: real addresses of brokers, the best first."""
        self._open = open_requester
        self._candidates = candidates
        self._remembered: dict[int, Reading] = {}
        self._turns = asyncio.Semaphore(ASKED_AT_ONCE)

    async def read(self, brokers: frozenset[int] | None) -> ClusterReading:
        """The configs of these brokers, or of all.

        :raises DoorkeeperError: when the cluster can't be asked, or one of its brokers refuses to say.
        """
        requester = await self._anyone()
        try:
            addresses = await _broker_addresses(requester)
            finalized = await _finalized_features(requester)
        finally:
            await requester.close()
        wanted = sorted(addresses.keys() if brokers is None else addresses.keys() & brokers)
        readings = await asyncio.gather(*(self._read_one(one, addresses[one]) for one in wanted))
        told: dict[int, Reading | None] = dict(zip(wanted, readings, strict=True))
        registered = {one: told.get(one, self._remembered.get(one)) for one in addresses}
        for gone in self._remembered.keys() - addresses.keys():
            del self._remembered[gone]
        return ClusterReading(registered, features_of(finalized))

    async def _anyone(self) -> Requester:
        faults = []
        for host, port in self._candidates():
            try:
                return await self._open(host, port)
            except DoorkeeperError as error:
                faults.append(str(error))
        raise NetworkError("no broker can be asked about configs: " + "; ".join(faults))

    async def _read_one(self, node_id: int, address: Address) -> Reading | None:
        async with self._turns:
            try:
                requester = await self._open(*address)
            except NetworkError:
                return self._remembered.get(node_id)
            try:
                reading = self._remembered[node_id] = await _describe(requester, node_id)
            finally:
                await requester.close()
        return reading


async def _broker_addresses(requester: Requester) -> dict[int, Address]:
    """Every registered broker, fenced ones included where the cluster tells them (KIP-1073)."""
    version = requester.version_for(DESCRIBE_CLUSTER, known_versions(DESCRIBE_CLUSTER))
    values = {"include_fenced_brokers": True} if version >= 2 else {}
    request = build(message_classes(DESCRIBE_CLUSTER, version).request, values)
    response = await requester.send(request, timeout=ASK_SECONDS)
    if response.error_code:
        raise NetworkError(f"{requester.address}: DescribeCluster is answered with error {response.error_code}")
    return {one.broker_id: (one.host, one.port) for one in response.brokers}


async def _finalized_features(requester: Requester) -> dict[str, int]:
    version = requester.version_for(API_VERSIONS, known_versions(API_VERSIONS))
    if version < 3:
        return {}
    values = {"client_software_name": "doorkeeper-gateway", "client_software_version": "1"}
    request = build(message_classes(API_VERSIONS, min(version, API_VERSIONS_RANGE.highest)).request, values)
    response = await requester.send(request, timeout=ASK_SECONDS)
    return {one.name: one.max_version_level for one in response.finalized_features or ()}


async def _describe(requester: Requester, node_id: int) -> Reading:
    version = requester.version_for(DESCRIBE_CONFIGS, known_versions(DESCRIBE_CONFIGS))
    entity = message_classes(DESCRIBE_CONFIGS, version).request
    resource = {"resource_type": int(ResourceType.BROKER), "resource_name": str(node_id), "configuration_keys": None}
    values = {"resources": (_element(entity, "resources", resource),), "include_synonyms": True}
    response = await requester.send(build(entity, values), timeout=ASK_SECONDS)
    (result,) = response.results
    if result.error_code:
        raise NetworkError(f"{requester.address}: DescribeConfigs is answered with error {result.error_code}")
    return read_layers(result.configs)


def _element(entity: type[Any], name: str, values: dict[str, Any]) -> Any:
    shape = shape_of(next(one for one in entity.__dataclass_fields__.values() if one.name == name))
    assert shape.entity is not None
    return build(shape.entity, values)
