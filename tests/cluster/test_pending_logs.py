"""Logs that have yet to be made or removed: a few at a time, in order, and again after a failure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.cluster.broker.pending_logs import FIRST_RETRY_MS, LONGEST_RETRY_MS, PendingLogs
from doorkeeper.cluster.log.config import MAX_LONG

NOW = 1_700_000_000_000
KEY = ("orders", 0)


def test_nothing_is_due_at_first() -> None:
    pending = PendingLogs()
    assert pending.next_due() == MAX_LONG
    assert pending.take(10, NOW) == []


def test_takes_as_many_as_asked_in_the_order_they_came() -> None:
    pending = PendingLogs()
    pending.add([("orders", index) for index in range(3)])
    pending.add([("orders", 0), ("more", 0)])
    assert pending.next_due() == 0
    assert pending.take(2, NOW) == [("orders", 0), ("orders", 1)]
    assert pending.take(5, NOW) == [("orders", 2), ("more", 0)]
    assert pending.next_due() == MAX_LONG


def test_a_failure_is_due_again_after_a_while_and_not_before() -> None:
    pending = PendingLogs()
    pending.failed(KEY, NOW)
    assert pending.has_failed(KEY)
    assert pending.next_due() == NOW + FIRST_RETRY_MS
    assert pending.take(1, NOW + FIRST_RETRY_MS - 1) == []
    assert pending.take(1, NOW + FIRST_RETRY_MS) == [KEY]


def test_patience_doubles_up_to_a_minute() -> None:
    pending = PendingLogs()
    waits = []
    now = NOW
    for _ in range(9):
        pending.failed(KEY, now)
        waits.append(pending.next_due() - now)
        now = pending.next_due()
    assert waits[:3] == [FIRST_RETRY_MS, 2 * FIRST_RETRY_MS, 4 * FIRST_RETRY_MS]
    assert waits[-1] == waits[-2] == LONGEST_RETRY_MS


def test_what_is_settled_has_not_failed_and_starts_with_little_patience_again() -> None:
    pending = PendingLogs()
    pending.failed(KEY, NOW)
    pending.failed(KEY, NOW)
    pending.settled(KEY)
    assert not pending.has_failed(KEY)
    assert pending.next_due() == MAX_LONG
    pending.failed(KEY, NOW)
    assert pending.next_due() == NOW + FIRST_RETRY_MS


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5))), st.integers(1, 5))
def test_every_partition_is_taken_once(keys: list[tuple[str, int]], limit: int) -> None:
    pending = PendingLogs()
    pending.add(keys)
    taken: list[tuple[str, int]] = []
    while pending.next_due() == 0:
        some = pending.take(limit, NOW)
        assert len(some) <= limit
        taken += some
    assert taken == list(dict.fromkeys(keys))
