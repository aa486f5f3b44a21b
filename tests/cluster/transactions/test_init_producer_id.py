"""InitProducerId: producers come, come again, and are fenced."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, FIRST_PRODUCER_ID, START_MS, TIMEOUT_MS, Ledger, producer

from doorkeeper.cluster.transactions.messages import InitProducerIdResponse
from doorkeeper.cluster.transactions.metadata import EPOCH_MAX, LAST_CLIENT_EPOCH

PID = FIRST_PRODUCER_ID
EXPIRATION_MS = 7 * 24 * 3600 * 1000


def test_gives_a_new_producer_an_id_and_epoch_zero(ledger: Ledger) -> None:
    assert producer(ledger.init()) == (PID, 0)
    assert ledger.state == "Empty"
    assert ledger.states_in_log() == [0]
    assert (ledger.metadata.timeout_ms, ledger.metadata.last_update_ms) == (TIMEOUT_MS, START_MS)


def test_bumps_the_epoch_of_a_producer_that_comes_again(ledger: Ledger) -> None:
    assert [producer(ledger.init()) for _ in range(3)] == [(PID, 0), (PID, 1), (PID, 2)]


def test_gives_idempotent_producers_ids_and_writes_nothing(ledger: Ledger) -> None:
    assert producer(ledger.init(transactional_id=None)) == (PID, 0)
    assert producer(ledger.init(transactional_id=None)) == (PID + 1, 0)
    assert ledger.log == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"transactional_id": ""}, ErrorCode.invalid_request),
        ({"transactional_id": "", "enable_two_pc": True}, ErrorCode.invalid_request),
        ({"enable_two_pc": True}, ErrorCode.transactional_id_authorization_failed),
        ({"enable_two_pc": True, "keep_prepared_txn": True}, ErrorCode.transactional_id_authorization_failed),
        ({"keep_prepared_txn": True, "transaction_timeout_ms": 0}, ErrorCode.unsupported_version),
        ({"transaction_timeout_ms": 0}, ErrorCode.invalid_transaction_timeout),
        ({"transaction_timeout_ms": -1}, ErrorCode.invalid_transaction_timeout),
        ({"transaction_timeout_ms": 900_001}, ErrorCode.invalid_transaction_timeout),
        ({"producer_id": 5}, ErrorCode.invalid_request),
        ({"producer_epoch": 5}, ErrorCode.invalid_request),
        ({"producer_epoch": 5, "transactional_id": None}, ErrorCode.invalid_request),
    ],
)
def test_refuses_what_is_not_lawful(ledger: Ledger, changes: dict[str, Any], code: ErrorCode) -> None:
    assert ledger.init(**changes) == InitProducerIdResponse(error_code=code)
    assert ledger.log == []


@pytest.mark.parametrize("timeout_ms", [1, 900_000])
def test_accepts_timeouts_up_to_the_highest(ledger: Ledger, timeout_ms: int) -> None:
    assert producer(ledger.init(transaction_timeout_ms=timeout_ms)) == (PID, 0)
    assert ledger.metadata.timeout_ms == timeout_ms


def test_takes_the_timeout_of_the_newest_producer(ledger: Ledger) -> None:
    ledger.init()
    ledger.init(transaction_timeout_ms=5)
    assert ledger.metadata.timeout_ms == 5


def test_asks_to_come_again_while_there_are_no_producer_ids(ledger: Ledger) -> None:
    ledger.ids_left = 0
    assert ledger.init().error_code is ErrorCode.coordinator_load_in_progress
    assert ledger.init(transactional_id=None).error_code is ErrorCode.coordinator_load_in_progress
    ledger.ids_left = 1
    assert producer(ledger.init()) == (PID, 0)


# --- a producer that says who it is (KIP-360) ---


def test_bumps_the_epoch_for_the_producer_that_names_the_current_one(ledger: Ledger) -> None:
    ledger.init()
    assert producer(ledger.init(PID, 0)) == (PID, 1)
    assert ledger.metadata.last_producer_epoch == 0


def test_answers_a_retried_bump_without_another(ledger: Ledger) -> None:
    ledger.init()
    ledger.init(PID, 0)
    assert producer(ledger.init(PID, 0)) == (PID, 1)
    assert producer(ledger.init(PID, 0)) == (PID, 1)


def test_fences_a_retried_bump_after_another_producer_came(ledger: Ledger) -> None:
    ledger.init()
    ledger.init(PID, 0)
    ledger.init()
    assert ledger.init(PID, 0).error_code is ErrorCode.producer_fenced
    assert ledger.init(PID, 1).error_code is ErrorCode.producer_fenced
    assert producer(ledger.init(PID, 2)) == (PID, 3)


def test_fences_an_epoch_of_the_future(ledger: Ledger) -> None:
    ledger.init()
    assert ledger.init(PID, 1).error_code is ErrorCode.producer_fenced


def test_fences_another_producer_id(ledger: Ledger) -> None:
    ledger.init()
    assert ledger.init(PID + 5, 0).error_code is ErrorCode.producer_fenced


def test_gives_a_new_id_to_a_producer_that_was_forgotten(ledger: Ledger) -> None:
    assert producer(ledger.init(77, 12)) == (PID, 0)
    assert ledger.metadata.last_producer_epoch == -1


def test_a_retry_over_a_restart_is_fenced_since_the_last_epoch_is_not_in_the_log(ledger: Ledger) -> None:
    ledger.init()
    ledger.init(PID, 0)
    ledger.restart()
    assert ledger.init(PID, 0).error_code is ErrorCode.producer_fenced


@pytest.mark.parametrize(("version", "code"), [(3, ErrorCode.invalid_producer_epoch), (4, ErrorCode.producer_fenced)])
def test_old_versions_know_fencing_by_another_name(ledger: Ledger, version: int, code: ErrorCode) -> None:
    ledger.init()
    assert ledger.init(PID, 9, version=version).error_code is code


# --- epochs run out ---


def test_gives_the_last_but_one_epoch_and_then_another_producer_id(ledger: Ledger) -> None:
    ledger.init()
    ledger.at_epoch(LAST_CLIENT_EPOCH - 1)
    assert producer(ledger.init()) == (PID, LAST_CLIENT_EPOCH)
    assert producer(ledger.init()) == (PID + 1, 0)
    assert ledger.metadata.previous_producer_id == PID
    assert ledger.metadata.last_producer_epoch == -1


def test_rotates_the_id_of_a_producer_that_was_fenced_with_the_very_last_epoch(ledger: Ledger) -> None:
    ledger.init()
    ledger.at_epoch(EPOCH_MAX)
    assert producer(ledger.init()) == (PID + 1, 0)


def test_answers_a_retried_rotation_once_with_the_new_id(ledger: Ledger) -> None:
    ledger.init()
    ledger.at_epoch(LAST_CLIENT_EPOCH)
    assert producer(ledger.init(PID, LAST_CLIENT_EPOCH)) == (PID + 1, 0)
    assert producer(ledger.init(PID, LAST_CLIENT_EPOCH)) == (PID + 1, 0)
    # As Kafka has it, the retry is itself a transition, after which the id before the last is the new one.
    assert ledger.init(PID, LAST_CLIENT_EPOCH).error_code is ErrorCode.producer_fenced


def test_fences_the_former_id_with_an_epoch_that_was_not_its_last(ledger: Ledger) -> None:
    ledger.init()
    ledger.at_epoch(LAST_CLIENT_EPOCH)
    ledger.init(PID, LAST_CLIENT_EPOCH)
    assert ledger.init(PID, LAST_CLIENT_EPOCH - 1).error_code is ErrorCode.producer_fenced


def test_fails_as_kafka_does_on_an_older_epoch_when_epochs_are_used_up(ledger: Ledger) -> None:
    ledger.init()
    ledger.at_epoch(LAST_CLIENT_EPOCH)
    assert ledger.init(PID, LAST_CLIENT_EPOCH - 1).error_code is ErrorCode.unknown_server_error


def test_keeps_the_producer_when_there_is_no_id_to_rotate_to(ledger: Ledger) -> None:
    ledger.init()
    ledger.at_epoch(LAST_CLIENT_EPOCH)
    ledger.ids_left = 0
    assert ledger.init().error_code is ErrorCode.coordinator_load_in_progress
    assert ledger.producer == (PID, LAST_CLIENT_EPOCH)


# --- with a transaction under way ---


def test_aborts_the_ongoing_transaction_before_another_producer_may_begin(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    assert ledger.init().error_code is ErrorCode.concurrent_transactions
    assert ledger.state == "PrepareAbort"
    assert ledger.init().error_code is ErrorCode.concurrent_transactions
    (marker,) = ledger.markers
    assert (marker.producer_id, marker.producer_epoch, marker.committed) == (PID, 1, False)
    ledger.write_markers()
    assert ledger.state == "CompleteAbort"
    assert producer(ledger.init()) == (PID, 2)


def test_the_fenced_producer_can_do_no_more(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.init()
    ledger.write_markers()
    assert ledger.add(PID, 0, A0) is ErrorCode.producer_fenced
    ledger.init()
    assert ledger.add(PID, 0, A0) is ErrorCode.producer_fenced
    assert ledger.end(PID, 0, commit=True).error_code is ErrorCode.producer_fenced
    assert ledger.add_offsets(PID, 0) is ErrorCode.producer_fenced


def test_a_foreign_producer_does_not_abort_the_ongoing_transaction(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    assert ledger.init(PID + 1, 0).error_code is ErrorCode.producer_fenced
    assert ledger.state == "Ongoing"


def test_an_older_epoch_of_the_same_id_aborts_the_ongoing_transaction_as_in_kafka(ledger: Ledger) -> None:
    ledger.init()
    ledger.init()
    ledger.add(PID, 1, A0)
    assert ledger.init(PID, 0).error_code is ErrorCode.concurrent_transactions
    assert ledger.state == "PrepareAbort"


def test_before_kip_890_fencing_uses_the_very_last_epoch(tv1: Ledger) -> None:
    tv1.init()
    tv1.at_epoch(LAST_CLIENT_EPOCH)
    tv1.add(PID, LAST_CLIENT_EPOCH, A0)
    tv1.init()
    assert tv1.markers[0].producer_epoch == EPOCH_MAX
    tv1.write_markers()
    assert tv1.producer == (PID, EPOCH_MAX)
    assert producer(tv1.init()) == (PID + 1, 0)


def test_since_kip_890_fencing_the_last_epoch_rotates_the_id(tv2: Ledger) -> None:
    tv2.init()
    tv2.at_epoch(LAST_CLIENT_EPOCH)
    tv2.add(PID, LAST_CLIENT_EPOCH, A0)
    tv2.init()
    marker = tv2.markers[0]
    assert (marker.producer_id, marker.producer_epoch) == (PID, EPOCH_MAX)
    tv2.write_markers()
    assert tv2.producer == (PID + 1, 0)
    assert producer(tv2.init()) == (PID + 1, 1)


def test_since_kip_890_fencing_without_a_new_id_changes_nothing(tv2: Ledger) -> None:
    tv2.init()
    tv2.at_epoch(LAST_CLIENT_EPOCH)
    tv2.add(PID, LAST_CLIENT_EPOCH, A0)
    tv2.ids_left = 0
    assert tv2.init().error_code is ErrorCode.coordinator_load_in_progress
    assert tv2.state == "Ongoing"
    assert tv2.markers == []
