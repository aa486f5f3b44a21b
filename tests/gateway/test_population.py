"""Who is silent for too long is closed, and who can't even be closed is cut off."""

from __future__ import annotations

import pytest
from tests.gateway.test_gathering import Door, at_a_door

from doorkeeper.gateway.client_connection import ClientConnection
from doorkeeper.gateway.doors import Population
from doorkeeper.gateway.limits import GatewayLimits

IDLE_SECONDS = 600.0


def admitted(connection: ClientConnection) -> Population:
    population = Population(GatewayLimits(idle_seconds=IDLE_SECONDS))
    assert population.admit(connection) is None
    return population


def after(connection: ClientConnection, seconds: float) -> float:
    return connection.last_active + seconds


def test_who_waits_for_an_answer_is_not_idle() -> None:
    async def story(door: Door) -> None:
        population = admitted(door.connection)
        door.ask(1)
        assert population.close_idle(after(door.connection, IDLE_SECONDS + 1)) == 0
        door.answer(0)
        assert population.close_idle(after(door.connection, IDLE_SECONDS - 1)) == 0
        assert population.close_idle(after(door.connection, IDLE_SECONDS + 1)) == 1
        assert door.client.closed
        assert not door.client.aborted

    at_a_door(story)


def test_who_asks_an_upstream_that_takes_nothing_is_not_kept_for_ever() -> None:
    """Its end would not even be seen: the client is left unread."""

    async def story(door: Door) -> None:
        population = admitted(door.connection)
        door.ask(1)
        assert door.connection._upstream is not None
        door.connection._upstream.pause_writing()
        assert population.close_idle(after(door.connection, IDLE_SECONDS - 1)) == 0
        assert population.close_idle(after(door.connection, IDLE_SECONDS + 1)) == 1
        assert door.client.closed
        population.close_idle(after(door.connection, IDLE_SECONDS + 2))
        assert door.upstream.aborted

    at_a_door(story)


@pytest.mark.parametrize(("seconds", "cut_off"), [(IDLE_SECONDS - 1, False), (IDLE_SECONDS + 1, True)])
def test_what_a_client_left_for_an_upstream_that_takes_nothing_is_not_kept_for_ever(
    seconds: float, cut_off: bool
) -> None:
    async def story(door: Door) -> None:
        population = admitted(door.connection)
        door.ask(1)
        door.connection.connection_lost(None)
        population.leave(door.connection)
        population.close_idle(after(door.connection, seconds))
        assert door.upstream.aborted == cut_off

    at_a_door(story)


@pytest.mark.parametrize(("seconds", "cut_off"), [(IDLE_SECONDS - 1, False), (IDLE_SECONDS + 1, True)])
def test_a_client_that_takes_nothing_is_not_kept_for_ever_when_upstream_has_closed(
    seconds: float, cut_off: bool
) -> None:
    async def story(door: Door) -> None:
        population = admitted(door.connection)
        door.ask(2)
        door.answer(0)
        door.connection.lose_upstream()
        assert door.connection.is_waiting
        population.close_idle(after(door.connection, seconds))
        assert door.client.aborted == cut_off

    at_a_door(story)
