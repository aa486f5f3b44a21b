"""Sessions of brokers: contact, deadlines, both sides of the time-out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.controller.clusters import PLACE, broker, cluster

from doorkeeper.cluster.controller.sessions import NOBODY_ACTIVE, HeartbeatTracker, Session

TRACKER = HeartbeatTracker(100).registered(1, epoch=11, record_offset=5)


def test_gives_no_session_before_the_first_heartbeat() -> None:
    assert not TRACKER.has_valid_session(1, 11, now_ms=0)
    assert TRACKER.next_deadline_ms is None


@pytest.mark.parametrize(("now_ms", "valid"), [(1000, True), (1100, True), (1101, False)])
def test_a_session_lasts_the_whole_timeout(now_ms: int, valid: bool) -> None:
    tracker = TRACKER.touched(1, 11, metadata_offset=7, now_ms=1000)
    assert tracker.has_valid_session(1, 11, now_ms) is valid
    assert tracker.expire(now_ms)[0] == (() if valid else (1,))
    assert tracker.next_deadline_ms == 1101


def test_a_heartbeat_of_an_old_epoch_or_of_a_stranger_changes_nothing() -> None:
    assert TRACKER.touched(1, 10, 7, 1000) is TRACKER
    assert TRACKER.touched(2, 11, 7, 1000) is TRACKER
    assert not TRACKER.touched(1, 11, 7, 1000).has_valid_session(1, 10, 1000)


def test_an_expired_session_expires_once() -> None:
    tracker = TRACKER.touched(1, 11, 7, 1000)
    expired, later = tracker.expire(5000)
    assert expired == (1,)
    assert later.expire(9000)[0] == ()
    assert later.sessions[1].metadata_offset == 7


def test_expires_in_the_order_of_deadlines() -> None:
    tracker = TRACKER.registered(2, 12, 6).touched(1, 11, 7, 1002).touched(2, 12, 7, 1001)
    assert tracker.next_deadline_ms == 1102
    assert tracker.expire(2000)[0] == (2, 1)


def test_a_new_incarnation_begins_a_new_session_and_the_same_one_goes_on() -> None:
    tracker = TRACKER.touched(1, 11, 7, 1000)
    assert tracker.registered(1, 11, 20).sessions[1] == Session(11, 20, 1000, 7)
    assert tracker.registered(1, 30, 30).sessions[1] == Session(30, 30)


def test_fencing_ends_a_controlled_shutdown_and_the_first_offset_counts() -> None:
    tracker = TRACKER.shutting_down(1, 40).shutting_down(1, 50)
    assert tracker.sessions[1].controlled_shutdown_offset == 40
    assert not tracker.fenced(1).sessions[1].is_shutting_down


def test_after_a_restart_unfenced_brokers_get_a_whole_session() -> None:
    tracker = HeartbeatTracker.for_image(cluster(broker(1), broker(2, fenced=True)), 100, now_ms=1000)
    assert tracker.has_valid_session(1, 11, 1100)
    assert not tracker.has_valid_session(2, 12, 1000)
    assert tracker.sessions[1].registered_at == PLACE.offset


def test_the_slowest_active_broker_counts() -> None:
    image = cluster(broker(1), broker(2), broker(3, fenced=True))
    tracker = HeartbeatTracker(100)
    for broker_id, offset in ((1, 20), (2, 30), (3, 5), (4, 1)):
        tracker = tracker.registered(broker_id, 10 + broker_id, 1).touched(broker_id, 10 + broker_id, offset, 0)
    assert tracker.lowest_active_offset(image) == 20
    assert tracker.shutting_down(1, 9).lowest_active_offset(image) == 30
    assert tracker.shutting_down(1, 9).removed(2).lowest_active_offset(image) == NOBODY_ACTIVE


@given(st.dictionaries(st.integers(0, 9), st.integers(0, 10_000), min_size=1), st.integers(0, 1000))
def test_nobody_expires_before_the_next_deadline_and_somebody_does_at_it(
    contacts: dict[int, int], timeout_ms: int
) -> None:
    tracker = HeartbeatTracker(timeout_ms)
    for broker_id, contact in contacts.items():
        tracker = tracker.registered(broker_id, 1, 1).touched(broker_id, 1, 1, contact)
    deadline = tracker.next_deadline_ms
    assert deadline is not None
    assert tracker.expire(deadline - 1)[0] == ()
    assert tracker.expire(deadline)[0]
