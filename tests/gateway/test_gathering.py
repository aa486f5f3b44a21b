"""Small answers to a client with many requests in flight gather for a moment before they are read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.gateway.rig import Rig, framed_request
from tests.kafka.requests import make_request
from tests.memory import MemoryTransport

from doorkeeper.gateway.client_connection import ClientConnection, UpstreamConnection
from doorkeeper.gateway.gathering import GATHER_BYTES, GATHER_FROM, GATHER_SECONDS, LONGEST_GAP_SECONDS, Pace
from doorkeeper.gateway.limits import GatewayLimits
from doorkeeper.wire.framing import frame

HEARTBEAT = 12
PATIENCE_SECONDS = 20
FAST, SLOW = 0.00005, 0.0002
"""Seconds that Kafka takes for a request."""
MANY = 200
"""Unanswered requests that take longer than the time of gathering, however fast they are answered."""


class Door:
    """Lets everybody in (`client_connection.Reception`)."""

    limits = GatewayLimits()
    observed = False

    def __init__(self) -> None:
        self.client, self.upstream = MemoryTransport(), MemoryTransport()
        self.population = SimpleNamespace(from_clients=0, from_upstream=0)
        self._rig = Rig("enforce")
        self.plans = self._rig.plans
        self.connection = ClientConnection(cast("Any", self))

    async def open(self) -> None:
        self.connection.connection_made(self.client)
        await until(lambda: self.client.reading)

    def ask(self, count: int) -> None:
        """So many requests, numbered from 0."""
        body = make_request(HEARTBEAT, 4, group_id="readers", generation_id=1, member_id="m", group_instance_id=None)
        for number in range(count):
            self.connection.data_received(framed_request(body, number))

    def answer(self, number: int, size: int = 16) -> bytes:
        framed = frame(number.to_bytes(4, "big") + bytes(size))
        self.connection.receive_upstream(framed)
        return framed

    # -- what a connection asks of its door

    def route(self, connection: ClientConnection) -> Door:
        return self

    def admit(self, connection: ClientConnection) -> str | None:
        return None

    def leave(self, connection: ClientConnection) -> None:
        """Nobody counts."""

    forget = leave

    def gatekeeper(self, connection: ClientConnection) -> Any:
        return self._rig.keeper

    async def connect(self, protocol: UpstreamConnection) -> None:
        protocol.connection_made(self.upstream)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():
            await asyncio.sleep(0)


def at_a_door(story: Callable[[Door], Awaitable[None]]) -> None:
    async def play() -> None:
        door = Door()
        await door.open()
        await story(door)

    asyncio.run(play())


def paced(gap: float) -> Pace:
    """That of a connection whose answers have come one by one for a while."""
    pace = Pace()
    for number in range(100):
        pace.is_busy(1, 1, number * gap)
    return pace


@pytest.mark.parametrize(("gap", "left"), [(FAST, 20), (SLOW, GATHER_FROM), (LONGEST_GAP_SECONDS, GATHER_FROM)])
def test_kafka_is_busy_while_what_is_asked_takes_longer_than_gathering(gap: float, left: int) -> None:
    assert paced(gap).is_busy(1, left + 1, 100 * gap)
    assert not paced(gap).is_busy(1, left - 1, 100 * gap)


def test_answers_that_come_together_came_one_after_the_other() -> None:
    pace = paced(FAST)
    for number in range(1, 20):
        assert pace.is_busy(20, 100, 100 * FAST + number * GATHER_SECONDS)
    assert not pace.is_busy(20, 15, 100 * FAST + 20 * GATHER_SECONDS)


def test_a_pause_of_the_client_is_not_kafkas_work() -> None:
    assert not paced(FAST).is_busy(1, GATHER_FROM, 3600)


def test_answers_gather_while_many_are_to_come_and_all_arrive_in_order() -> None:
    async def story(door: Door) -> None:
        door.ask(MANY)
        sent = door.answer(0)
        assert not door.upstream.reading
        await until(lambda: door.upstream.reading)
        for number in range(1, MANY):
            sent += door.answer(number)
        assert door.client.written == sent

    at_a_door(story)


@pytest.mark.parametrize("asked", [1, 5, GATHER_FROM])
def test_nobody_waits_with_few_in_flight(asked: int) -> None:
    async def story(door: Door) -> None:
        door.ask(asked)
        for number in range(asked):
            door.answer(number)
            assert door.upstream.reading

    at_a_door(story)


def test_what_is_long_does_not_wait_for_more() -> None:
    async def story(door: Door) -> None:
        door.ask(MANY)
        door.answer(0, GATHER_BYTES)
        assert door.upstream.reading

    at_a_door(story)


def test_a_client_that_takes_nothing_is_waited_for_after_that() -> None:
    async def story(door: Door) -> None:
        door.ask(MANY)
        door.answer(0)
        door.connection.pause_writing()
        await until(lambda: door.connection._gathering is None)
        assert not door.upstream.reading
        door.connection.resume_writing()
        assert door.upstream.reading

    at_a_door(story)


def test_a_client_that_goes_meanwhile_is_not_waited_for() -> None:
    async def story(door: Door) -> None:
        door.ask(MANY)
        door.answer(0)
        door.connection.connection_lost(None)
        assert door.connection._gathering is None
        assert door.upstream.closed

    at_a_door(story)
