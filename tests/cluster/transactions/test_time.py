"""Transactions that take too long are aborted, transactional ids that nobody uses are forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, FIRST_PRODUCER_ID, NAME, START_MS, TIMEOUT_MS, Ledger, producer

from doorkeeper.cluster.transactions.coordinator import MAX_EXPIRED_IDS
from doorkeeper.cluster.transactions.deadlines import SMALL_HEAP, Deadlines, next_sweep
from doorkeeper.cluster.transactions.messages import NONE
from doorkeeper.cluster.transactions.metadata import LAST_CLIENT_EPOCH, NO_TIMEOUT_MS
from doorkeeper.cluster.transactions.settings import TransactionSettings, settings_from_config

PID = FIRST_PRODUCER_ID
SWEEP_MS = 10_000
HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
EVERY_MS = TransactionSettings(abort_interval_ms=1, expiration_interval_ms=1, id_expiration_ms=1_000_000)


def test_aborts_in_the_first_sweep_after_the_timeout(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    # At the sixth sweep the transaction is exactly as old as it may become.
    assert ledger.coordinator.next_deadline() == START_MS + TIMEOUT_MS + SWEEP_MS
    ledger.pass_time(START_MS + TIMEOUT_MS + SWEEP_MS - 1)
    assert ledger.state == "Ongoing"
    ledger.pass_time(START_MS + TIMEOUT_MS + SWEEP_MS)
    assert ledger.state == "PrepareAbort"
    (marker,) = ledger.markers
    assert (marker.committed, marker.producer_epoch) == (False, 1)


def test_a_transaction_may_become_as_old_as_its_timeout_and_no_older() -> None:
    ledger = Ledger(settings=EVERY_MS)
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.pass_time(START_MS + TIMEOUT_MS)
    assert ledger.state == "Ongoing"
    ledger.pass_time(START_MS + TIMEOUT_MS + 1)
    assert ledger.state == "PrepareAbort"


def test_more_partitions_do_not_put_the_timeout_off() -> None:
    ledger = Ledger(settings=EVERY_MS)
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.pass_time(START_MS + TIMEOUT_MS - 1)
    ledger.add_offsets(PID, 0)
    assert ledger.coordinator.next_deadline() == START_MS + TIMEOUT_MS + 1


def test_the_producer_of_an_aborted_transaction_is_fenced(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.pass_time(START_MS + 2 * TIMEOUT_MS)
    ledger.write_markers()
    assert ledger.state == "CompleteAbort"
    assert ledger.add(PID, 0, A0) is ErrorCode.producer_fenced
    expected = ErrorCode.invalid_txn_state if ledger.transaction_version == 2 else ErrorCode.producer_fenced
    assert ledger.end(PID, 0, commit=True).error_code is expected


def test_before_kip_890_a_late_abort_is_fenced(tv1: Ledger) -> None:
    tv1.init()
    tv1.add(PID, 0, A0)
    tv1.pass_time(START_MS + 2 * TIMEOUT_MS)
    tv1.write_markers()
    assert tv1.end(PID, 0, commit=False).error_code is ErrorCode.producer_fenced


def test_since_kip_890_a_late_abort_finds_it_done_and_goes_on(tv2: Ledger) -> None:
    tv2.init()
    tv2.add(PID, 0, A0)
    tv2.pass_time(START_MS + 2 * TIMEOUT_MS)
    tv2.write_markers()
    assert producer(tv2.end(PID, 0, commit=False)) == (PID, 1)
    assert tv2.add(PID, 1, A0) is NONE


def test_a_producer_that_recovers_with_its_id_goes_on_where_the_timeout_left_it(tv2: Ledger) -> None:
    tv2.init()
    tv2.add(PID, 0, A0)
    tv2.pass_time(START_MS + 2 * TIMEOUT_MS)
    tv2.write_markers()
    assert producer(tv2.init(PID, 0)) == (PID, 1)


def test_the_timeout_counts_over_a_restart() -> None:
    ledger = Ledger(settings=EVERY_MS)
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.now_ms += 20_000
    ledger.restart()
    assert ledger.coordinator.next_deadline() == START_MS + TIMEOUT_MS + 1


def test_tries_again_at_the_next_sweep_while_there_is_no_producer_id(tv2: Ledger) -> None:
    tv2.init()
    tv2.at_epoch(LAST_CLIENT_EPOCH)
    tv2.add(PID, LAST_CLIENT_EPOCH, A0)
    tv2.ids_left = 0
    late_ms = START_MS + TIMEOUT_MS + SWEEP_MS
    tv2.pass_time(late_ms)
    assert tv2.state == "Ongoing"
    assert tv2.coordinator.next_deadline() == late_ms + SWEEP_MS
    tv2.ids_left = 1
    tv2.pass_time(late_ms + SWEEP_MS)
    assert tv2.state == "PrepareAbort"


def test_a_transaction_that_another_coordinator_ends_has_no_timeout(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.coordinator.state.put(NAME, replace(ledger.metadata, timeout_ms=NO_TIMEOUT_MS))
    assert ledger.coordinator.next_deadline() is None


def test_nothing_is_due_before_its_time(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    decision = ledger.coordinator.expire(START_MS)
    assert (decision.records, decision.markers) == ((), ())


# --- expiration ---


def test_forgets_an_id_that_nobody_used_for_a_week(ledger: Ledger) -> None:
    ledger.init()
    ledger.pass_time(START_MS + WEEK_MS - 1)
    assert ledger.state == "Empty"
    ledger.pass_time(START_MS + WEEK_MS)
    assert ledger.coordinator.state.transactions == {}
    assert ledger.states_in_log() == [0, None]
    assert ledger.coordinator.next_deadline() is None
    assert producer(ledger.init(PID, 0)) == (PID + 1, 0)


@pytest.mark.parametrize("commit", [True, False])
def test_forgets_the_id_of_a_complete_transaction(ledger: Ledger, commit: bool) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.end(PID, 0, commit=commit)
    ledger.write_markers()
    ledger.pass_time(START_MS + WEEK_MS)
    assert ledger.coordinator.state.transactions == {}


def test_every_use_puts_the_expiration_off() -> None:
    ledger = Ledger(settings=EVERY_MS)
    ledger.init()
    ledger.now_ms += 5
    ledger.init()
    assert ledger.coordinator.next_deadline() == START_MS + 5 + 1_000_000


def test_never_forgets_an_id_whose_markers_are_being_written(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.end(PID, 0, commit=True)
    ledger.pass_time(START_MS + 2 * WEEK_MS)
    assert ledger.state == "PrepareCommit"


def test_an_id_that_expired_stays_forgotten_after_a_restart(ledger: Ledger) -> None:
    ledger.init()
    ledger.pass_time(START_MS + WEEK_MS)
    ledger.restart()
    assert ledger.coordinator.state.transactions == {}


def test_forgets_many_ids_in_steps_of_a_bounded_size() -> None:
    ledger = Ledger(settings=EVERY_MS)
    for number in range(MAX_EXPIRED_IDS + 1):
        ledger.init(transactional_id=f"t{number}")
    late_ms = START_MS + 1_000_000
    first = ledger.coordinator.expire(late_ms)
    assert len(first.records) == MAX_EXPIRED_IDS
    assert ledger.coordinator.next_deadline() == late_ms
    assert len(ledger.coordinator.expire(late_ms).records) == 1
    assert ledger.coordinator.next_deadline() is None


def test_other_settings_move_the_deadlines(ledger: Ledger) -> None:
    ledger.init()
    ledger.coordinator.set_settings(replace(EVERY_MS, id_expiration_ms=50))
    assert ledger.coordinator.next_deadline() == START_MS + 50


def test_other_settings_leave_a_pending_retry_alone(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.end(PID, 0, commit=True)
    ledger.write_markers(ErrorCode.network_exception)
    before = ledger.coordinator.next_deadline()
    ledger.coordinator.set_settings(EVERY_MS)
    assert ledger.coordinator.next_deadline() == before


def test_settings_come_from_the_brokers_configs() -> None:
    assert settings_from_config({}) == TransactionSettings()
    values = {
        "transaction.max.timeout.ms": 1,
        "transactional.id.expiration.ms": 2,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 3,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 4,
        "log.dirs": "x",
    }
    assert settings_from_config(values) == TransactionSettings(
        max_timeout_ms=1, id_expiration_ms=2, abort_interval_ms=3, expiration_interval_ms=4
    )


# --- deadlines ---


@given(st.integers(0, 10**6), st.integers(1, 10**4), st.integers(-(10**6), 10**7))
def test_a_sweep_is_the_first_that_is_not_too_early(since: int, interval: int, earliest: int) -> None:
    sweep = next_sweep(since, interval, earliest)
    assert sweep >= earliest
    assert sweep > since
    assert (sweep - since) % interval == 0
    assert sweep == since + interval or sweep - interval < earliest


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(0, 50)), max_size=300))
def test_deadlines_come_in_order_and_once_each(changes: list[tuple[str, int | None]]) -> None:
    deadlines = Deadlines()
    expected: dict[str, int] = {}
    for name, deadline in changes:
        deadlines.set(name, deadline)
        if deadline is None:
            expected.pop(name, None)
        else:
            expected[name] = deadline
        assert deadlines.next_deadline() == min(expected.values(), default=None)
    assert deadlines.pop_due(-1) is None
    popped = [deadlines.pop_due(50) for _ in expected]
    assert deadlines.pop_due(50) is None
    assert sorted(popped, key=str) == sorted(expected)
    assert [expected[str(name)] for name in popped] == sorted(expected.values())


def test_deadlines_that_move_often_take_no_more_room() -> None:
    deadlines = Deadlines()
    for deadline in range(1000):
        deadlines.set("a", deadline)
        deadlines.set("b", 2000 + deadline)
    assert len(deadlines._heap) <= SMALL_HEAP + 1
    assert [deadlines.pop_due(5000), deadlines.pop_due(5000), deadlines.pop_due(5000)] == ["a", "b", None]
