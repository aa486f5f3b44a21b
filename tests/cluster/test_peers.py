"""How one broker finds another."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from doorkeeper.cluster.broker.peers import BrokerPeers
from doorkeeper.cluster.image.cluster import ClusterImage
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import BrokerRegistration, Listener
from doorkeeper.errors import NetworkError

PLAINTEXT, SASL_PLAINTEXT = 0, 2
OPEN, CLOSED = Listener("open.example", 1, PLAINTEXT), Listener("closed.example", 2, SASL_PLAINTEXT)


def find(listeners: dict[str, Listener], *, fenced: bool = False) -> tuple[str, int]:
    broker = BrokerRegistration(id=2, epoch=1, incarnation_id=uuid4(), listeners=listeners, fenced=fenced)
    image = replace(MetadataImage.EMPTY, cluster=ClusterImage({2: broker}))
    return BrokerPeers(1, "BETWEEN", lambda: image, 1.0)._locate(2)


def test_takes_the_listener_for_brokers() -> None:
    other = Listener("other.example", 3, PLAINTEXT)
    assert find({"OTHER": other, "BETWEEN": OPEN}) == ("open.example", 1)


def test_takes_another_where_that_one_asks_for_a_login() -> None:
    assert find({"BETWEEN": CLOSED, "OTHER": OPEN}) == ("open.example", 1)


@pytest.mark.parametrize(
    ("listeners", "fenced"), [({"BETWEEN": CLOSED}, False), ({"BETWEEN": OPEN}, True), ({}, False)]
)
def test_says_that_there_is_no_way(listeners: dict[str, Listener], fenced: bool) -> None:
    with pytest.raises(NetworkError, match="broker 2"):
        find(listeners, fenced=fenced)


def test_a_broker_that_nobody_knows_is_not_reached() -> None:
    peers = BrokerPeers(1, "BETWEEN", lambda: MetadataImage.EMPTY, 1.0)

    async def story() -> None:
        from doorkeeper.wire.registry import VersionRange

        with pytest.raises(NetworkError, match="broker 9 is not there"):
            await peers.ask(9, 24, VersionRange(4, 5), {})
        await peers.close()

    asyncio.run(story())
