"""Fetch sessions by themselves: how many there may be, who gives way, and what a session remembers."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.fetch_sessions import (
    EVICTION_SECONDS,
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    FetchContext,
    FetchSessions,
    PartitionKey,
    Wanted,
)

ORDERS = PartitionKey("orders", 0)
PAYMENTS = PartitionKey("payments", 0)


def wants(*keys: PartitionKey) -> dict[PartitionKey, Wanted]:
    return {key: Wanted(0, 1000) for key in keys}


def begin(sessions: FetchSessions, now: float = 0.0) -> FetchContext:
    context = sessions.open(0, INITIAL_EPOCH, wants(ORDERS), (), by_id=False, now=now)
    assert isinstance(context, FetchContext)
    return context


def test_session_beyond_the_last_slot_is_none() -> None:
    sessions = FetchSessions(1)
    assert begin(sessions).session_id != 0
    assert begin(sessions, now=EVICTION_SECONDS - 1).session_id == 0
    assert len(sessions) == 1


def test_session_that_was_idle_long_enough_gives_way() -> None:
    sessions = FetchSessions(1)
    first = begin(sessions).session_id
    second = begin(sessions, now=EVICTION_SECONDS)
    assert second.session_id not in (0, first)
    assert sessions.open(first, 1, {}, (), by_id=False) is ErrorCode.fetch_session_id_not_found


def test_session_that_is_used_does_not_give_way() -> None:
    sessions = FetchSessions(2)
    first = begin(sessions).session_id
    second = begin(sessions).session_id
    assert isinstance(sessions.open(first, 1, {}, (), by_id=False, now=EVICTION_SECONDS), FetchContext)
    begin(sessions, now=EVICTION_SECONDS)
    assert isinstance(sessions.open(first, 2, {}, (), by_id=False, now=EVICTION_SECONDS), FetchContext)
    assert sessions.open(second, 1, {}, (), by_id=False) is ErrorCode.fetch_session_id_not_found


def test_without_slots_there_are_no_sessions() -> None:
    assert begin(FetchSessions(0)).session_id == 0


def test_epoch_begins_anew_after_the_largest() -> None:
    sessions = FetchSessions(1)
    session = begin(sessions).session
    assert session is not None
    session.epoch = MAX_EPOCH
    assert isinstance(sessions.open(session.id, MAX_EPOCH, {}, (), by_id=False), FetchContext)
    assert session.epoch == 1


@pytest.mark.parametrize("epoch", [INITIAL_EPOCH, FINAL_EPOCH])
def test_full_request_ends_the_session_that_it_names(epoch: int) -> None:
    sessions = FetchSessions(1)
    first = begin(sessions).session_id
    sessions.open(first, epoch, wants(ORDERS), (), by_id=False)
    assert sessions.open(first, 1, {}, (), by_id=False) is ErrorCode.fetch_session_id_not_found


def test_changed_partition_keeps_what_its_reader_was_told() -> None:
    sessions = FetchSessions(1)
    context = begin(sessions)
    context.wanted[ORDERS].told = (5, 0)
    later = sessions.open(context.session_id, 1, {ORDERS: Wanted(5, 1000)}, (), by_id=False)
    assert isinstance(later, FetchContext)
    assert (later.wanted[ORDERS].fetch_offset, later.wanted[ORDERS].told) == (5, (5, 0))


def test_session_that_has_forgotten_everything_ends() -> None:
    sessions = FetchSessions(1)
    context = begin(sessions)
    last = sessions.open(context.session_id, 1, {}, [ORDERS, PAYMENTS], by_id=False)
    assert isinstance(last, FetchContext)
    assert last.session_id == 0
    assert len(sessions) == 0


def test_busy_partition_goes_to_the_end() -> None:
    context = FetchSessions(1).open(0, INITIAL_EPOCH, wants(ORDERS, PAYMENTS), (), by_id=False)
    assert isinstance(context, FetchContext)
    assert context.session is not None
    context.session.move_to_end(ORDERS)
    assert list(context.session.partitions) == [PAYMENTS, ORDERS]
