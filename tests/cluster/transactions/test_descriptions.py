"""DescribeTransactions and ListTransactions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, A1, B0, FIRST_PRODUCER_ID, NAME, START_MS, TIMEOUT_MS, Ledger

from doorkeeper.cluster.transactions.messages import (
    DescribedTransaction,
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from doorkeeper.cluster.transactions.states import TransactionState

PID = FIRST_PRODUCER_ID


def describe(ledger: Ledger, transactional_id: str = NAME) -> DescribedTransaction:
    (described,) = ledger.coordinator.describe_transactions([transactional_id])
    return described


def names(ledger: Ledger, **filters: Any) -> list[str]:
    listed = ledger.coordinator.list_transactions(ListTransactionsRequest(**filters), ledger.now_ms)
    assert listed.error_code is ErrorCode.none
    return [one.transactional_id for one in listed.transaction_states]


@pytest.fixture
def three(tv2: Ledger) -> Ledger:
    """An ongoing transaction, an empty one, and a complete one that is younger."""
    tv2.init(transactional_id="ongoing")
    tv2.add(PID, 0, A0, transactional_id="ongoing")
    tv2.init(transactional_id="empty")
    tv2.now_ms += 100
    tv2.init(transactional_id="done")
    tv2.add(PID + 2, 0, A0, transactional_id="done")
    tv2.end(PID + 2, 0, commit=True, transactional_id="done")
    tv2.write_markers()
    return tv2


def test_describes_a_transactional_id_without_a_transaction(ledger: Ledger) -> None:
    ledger.init()
    assert describe(ledger) == DescribedTransaction(
        transactional_id=NAME,
        transaction_state="Empty",
        transaction_timeout_ms=TIMEOUT_MS,
        transaction_start_time_ms=-1,
        producer_id=PID,
        producer_epoch=0,
    )


def test_describes_the_partitions_that_have_no_marker_yet(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, B0, A1, A0)
    assert describe(ledger).partitions == (A0, A1, B0)
    assert describe(ledger).transaction_start_time_ms == START_MS
    ledger.end(PID, 0, commit=True)
    ledger.take(
        ledger.coordinator.markers_written(replace(ledger.markers[0], partitions=(A1,)), {A1: ErrorCode.none}, 0)
    )
    assert describe(ledger).transaction_state == "PrepareCommit"
    assert describe(ledger).partitions == (A0, B0)


@pytest.mark.parametrize(
    ("transactional_id", "code"), [("", ErrorCode.invalid_request), ("x", ErrorCode.transactional_id_not_found)]
)
def test_describes_no_id_that_is_empty_or_unknown(ledger: Ledger, transactional_id: str, code: ErrorCode) -> None:
    assert describe(ledger, transactional_id) == DescribedTransaction(
        transactional_id=transactional_id, error_code=code
    )


def test_an_id_that_kafka_wrote_as_dead_is_not_shown(ledger: Ledger) -> None:
    ledger.init()
    ledger.coordinator.state.put(NAME, replace(ledger.metadata, state=TransactionState.DEAD))
    assert describe(ledger).error_code is ErrorCode.transactional_id_not_found
    assert names(ledger) == []


def test_lists_all_without_filters(three: Ledger) -> None:
    assert three.coordinator.list_transactions(ListTransactionsRequest(), 0) == ListTransactionsResponse(
        transaction_states=(
            ListedTransaction("ongoing", PID, "Ongoing"),
            ListedTransaction("empty", PID + 1, "Empty"),
            ListedTransaction("done", PID + 2, "CompleteCommit"),
        )
    )


def test_lists_by_state(three: Ledger) -> None:
    assert names(three, state_filters=("Ongoing", "CompleteCommit")) == ["ongoing", "done"]
    assert names(three, state_filters=("ongoing",)) == []


def test_names_the_states_it_does_not_know_and_lists_by_the_others(three: Ledger) -> None:
    request = ListTransactionsRequest(state_filters=("Foo", "Empty", "Foo"))
    listed = three.coordinator.list_transactions(request, 0)
    assert listed.unknown_state_filters == ("Foo",)
    assert [one.transactional_id for one in listed.transaction_states] == ["empty"]


def test_only_unknown_states_list_nothing(three: Ledger) -> None:
    assert names(three, state_filters=("Foo",)) == []


def test_lists_by_producer_id(three: Ledger) -> None:
    assert names(three, producer_id_filters=(PID + 2, 5)) == ["done"]


def test_lists_what_runs_longer_than_a_duration(three: Ledger) -> None:
    # What has not begun began, by Kafka's reckoning, before all time.
    assert names(three, duration_filter=99) == ["ongoing", "empty"]
    assert names(three, duration_filter=100) == ["empty"]
    assert names(three, duration_filter=0) == ["ongoing", "empty"]
    assert names(three, duration_filter=-1) == ["ongoing", "empty", "done"]


def test_lists_by_a_pattern_of_the_whole_id(three: Ledger) -> None:
    assert names(three, transactional_id_pattern=".*n.*") == ["ongoing", "done"]
    assert names(three, transactional_id_pattern="don") == []
    assert names(three, transactional_id_pattern="") == ["ongoing", "empty", "done"]


def test_lists_by_all_filters_together(three: Ledger) -> None:
    assert names(three, state_filters=("Ongoing",), producer_id_filters=(PID,), transactional_id_pattern="o.*") == [
        "ongoing"
    ]
    assert names(three, state_filters=("Ongoing",), producer_id_filters=(PID + 1,)) == []


@pytest.mark.parametrize("pattern", ["(ab(cd", "[", r"(a)\1"])
def test_refuses_what_is_no_pattern(three: Ledger, pattern: str) -> None:
    request = ListTransactionsRequest(transactional_id_pattern=pattern)
    assert three.coordinator.list_transactions(request, 0) == ListTransactionsResponse(
        error_code=ErrorCode.invalid_regular_expression
    )
