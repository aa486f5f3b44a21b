"""Deadlines without a clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.cluster.groups.timers import Due, TimerKey, TimerKind, Timers

A = TimerKey(TimerKind.CLASSIC_JOIN, "a")
B = TimerKey(TimerKind.CLASSIC_JOIN, "b")


def test_has_no_deadline_when_nothing_is_scheduled() -> None:
    timers = Timers()
    assert timers.next_deadline() is None
    assert timers.pop_due(10**12) is None


def test_fires_at_its_deadline_and_not_a_millisecond_before() -> None:
    timers = Timers()
    timers.schedule(A, 100, (7,))
    assert timers.pop_due(99) is None
    assert timers.pop_due(100) == Due(A, (7,))
    assert timers.pop_due(100) is None


def test_moves_the_deadline_of_a_key_that_is_scheduled_again() -> None:
    timers = Timers()
    timers.schedule(A, 100)
    timers.schedule(A, 200)
    assert timers.next_deadline() == 200
    assert timers.pop_due(150) is None


def test_keeps_the_first_deadline_if_asked_to() -> None:
    timers = Timers()
    timers.schedule_if_absent(A, 100)
    timers.schedule_if_absent(A, 50)
    assert timers.deadline_of(A) == 100
    assert timers.deadline_of(B) is None


def test_forgets_a_cancelled_deadline() -> None:
    timers = Timers()
    timers.schedule(A, 100)
    timers.schedule(B, 200)
    timers.cancel(A)
    assert not timers.is_scheduled(A)
    assert timers.next_deadline() == 200


def test_fires_in_the_order_of_deadlines_then_of_scheduling() -> None:
    timers = Timers()
    timers.schedule(B, 100)
    timers.schedule(A, 100)
    timers.schedule(A._replace(member_id="m"), 50)
    fired = [due.key for due in iter(lambda: timers.pop_due(100), None)]
    assert fired == [A._replace(member_id="m"), B, A]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50), st.booleans()), max_size=400))
def test_behaves_like_a_plain_table(commands: list[tuple[int, int, bool]]) -> None:
    timers = Timers()
    table: dict[TimerKey, int] = {}
    for number, deadline, keep in commands:
        key = TimerKey(TimerKind.CLASSIC_JOIN, str(number))
        if keep:
            timers.schedule(key, deadline)
            table[key] = deadline
        else:
            timers.cancel(key)
            table.pop(key, None)
        assert timers.next_deadline() == min(table.values(), default=None)
