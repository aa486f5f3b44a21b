"""The sessions' clock: a silent broker is fenced in time, a controller that stood still fences nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.cluster.controller.session_clock import LATE_READINGS, SessionClock
from doorkeeper.cluster.controller.sessions import HeartbeatTracker

SESSION = 9_000
START = 123_456
TRACKER = HeartbeatTracker(SESSION).registered(1, epoch=11, record_offset=5).registered(2, epoch=12, record_offset=6)


class Loop:
    """An event loop with a clock of its own: it wakes at every tick unless it stands still."""

    def __init__(self) -> None:
        self.now = START
        self.clock = SessionClock(SESSION, self.now)
        self.tracker = TRACKER
        self.fenced: list[int] = []

    def heartbeat(self, broker_id: int) -> None:
        self.tracker = self.tracker.touched(broker_id, 10 + broker_id, 7, self.clock.read(self.now))

    def wake_after(self, milliseconds: int) -> None:
        self.now += milliseconds
        late, self.tracker = self.tracker.expire(self.clock.read(self.now))
        self.fenced += late

    def turn_for(self, milliseconds: int) -> None:
        end = self.now + milliseconds
        while self.now < end:
            self.wake_after(min(self.clock.tick_ms, end - self.now))


@pytest.mark.parametrize(("silence", "fenced"), [(SESSION, []), (SESSION + 1, [1])])
def test_a_silent_broker_is_fenced_when_its_session_is_over_and_not_before(silence: int, fenced: list[int]) -> None:
    loop = Loop()
    loop.heartbeat(1)
    loop.turn_for(silence)
    assert loop.fenced == fenced


@pytest.mark.parametrize("stall", [SESSION - 1, SESSION + 1, 3_600_000])
def test_a_loop_that_stood_still_gives_everybody_time_to_be_heard_of(stall: int) -> None:
    loop = Loop()
    loop.heartbeat(1)
    loop.heartbeat(2)
    loop.turn_for(2_000)
    loop.wake_after(stall)
    assert loop.fenced == []
    loop.heartbeat(1)
    loop.turn_for(SESSION)
    assert loop.fenced == [2]


def test_one_stall_after_the_other_fences_nobody_who_is_heard_of_between_them() -> None:
    loop = Loop()
    for _ in range(50):
        loop.heartbeat(1)
        loop.wake_after(10 * SESSION)
        loop.wake_after(1)
    assert loop.fenced == []


def test_a_silent_broker_is_fenced_between_stalls_too() -> None:
    loop = Loop()
    loop.heartbeat(1)
    for _ in range(5):
        loop.wake_after(10 * SESSION)
    assert loop.fenced == [1]


@given(st.lists(st.integers(0, 3 * SESSION)))
def test_is_never_faster_than_time_and_as_fast_where_it_is_read_often(pauses: list[int]) -> None:
    clock = SessionClock(SESSION, START)
    longest = LATE_READINGS * clock.tick_ms
    now, before = START, 0
    for pause in pauses:
        now += pause
        shown = clock.read(now)
        assert shown - before == min(pause, longest)
        before = shown


@pytest.mark.parametrize("timeout", [0, 1, 7])
def test_ticks_even_for_the_shortest_session(timeout: int) -> None:
    assert SessionClock(timeout, START).tick_ms == 1
