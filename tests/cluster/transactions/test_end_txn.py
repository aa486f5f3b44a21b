"""EndTxn before and since KIP-890, first time and again, in every state."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, A1, FIRST_PRODUCER_ID, START_MS, Ledger, producer

from doorkeeper.cluster.transactions.messages import NONE, EndTxnResponse, TopicPartition
from doorkeeper.cluster.transactions.metadata import EPOCH_MAX, LAST_CLIENT_EPOCH

PID = FIRST_PRODUCER_ID
COMMIT, ABORT = True, False
NOBODY = (-1, -1)
COMPLETE = {COMMIT: "CompleteCommit", ABORT: "CompleteAbort"}
PREPARE = {COMMIT: "PrepareCommit", ABORT: "PrepareAbort"}


def begin(ledger: Ledger, *partitions: TopicPartition) -> None:
    ledger.init()
    assert ledger.add(PID, 0, *(partitions or (A0,))) is NONE


def complete(ledger: Ledger, *, commit: bool) -> None:
    begin(ledger)
    assert ledger.end(PID, 0, commit=commit).error_code is NONE
    ledger.write_markers()
    assert ledger.state == COMPLETE[commit]


# --- at every transaction version ---


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_ends_a_transaction_and_completes_it_when_the_markers_are_written(ledger: Ledger, commit: bool) -> None:
    begin(ledger, A0, A1)
    ledger.now_ms += 7
    assert ledger.end(PID, 0, commit=commit).error_code is NONE
    assert ledger.state == PREPARE[commit]
    assert [(marker.committed, marker.partitions) for marker in ledger.markers] == [(commit, (A0, A1))]
    ledger.write_markers()
    assert ledger.state == COMPLETE[commit]
    assert ledger.metadata.partitions == frozenset()
    assert ledger.metadata.start_ms == START_MS
    assert ledger.states_in_log() == ([0, 1, 2, 4] if commit else [0, 1, 3, 5])


def test_refuses_empty_and_unknown_transactional_ids(ledger: Ledger) -> None:
    assert ledger.end(PID, 0, commit=COMMIT, transactional_id="").error_code is ErrorCode.invalid_request
    assert ledger.end(PID, 0, commit=COMMIT).error_code is ErrorCode.invalid_producer_id_mapping


def test_refuses_another_producer_id_before_its_epoch_is_looked_at(ledger: Ledger) -> None:
    begin(ledger)
    response = ledger.end(PID + 1, 9, commit=COMMIT)
    assert response == EndTxnResponse(error_code=ErrorCode.invalid_producer_id_mapping)


@pytest.mark.parametrize("epoch", [0, 2])
@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_fences_older_and_newer_epochs_of_an_ongoing_transaction(ledger: Ledger, epoch: int, commit: bool) -> None:
    ledger.init()
    ledger.init()
    ledger.add(PID, 1, A0)
    assert ledger.end(PID, epoch, commit=commit).error_code is ErrorCode.producer_fenced
    assert ledger.state == "Ongoing"


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.invalid_producer_epoch), (2, ErrorCode.producer_fenced)])
def test_old_versions_know_fencing_by_another_name(tv1: Ledger, version: int, code: ErrorCode) -> None:
    begin(tv1)
    assert tv1.end(PID, 9, commit=COMMIT, version=version).error_code is code


# --- transaction version 1: the epoch stays ---


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_before_kip_890_the_producer_stays_who_it_is(tv1: Ledger, commit: bool) -> None:
    begin(tv1)
    assert producer(tv1.end(PID, 0, commit=commit)) == NOBODY
    assert tv1.markers[0].producer_epoch == 0
    tv1.write_markers()
    assert tv1.producer == (PID, 0)


@pytest.mark.parametrize("was", [COMMIT, ABORT])
@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_before_kip_890_the_same_end_again_is_granted_and_the_other_is_not(
    tv1: Ledger, was: bool, commit: bool
) -> None:
    complete(tv1, commit=was)
    written = len(tv1.log)
    expected = NONE if was == commit else ErrorCode.invalid_txn_state
    assert tv1.end(PID, 0, commit=commit).error_code is expected
    assert len(tv1.log) == written
    assert tv1.end(PID, 1, commit=commit).error_code is ErrorCode.producer_fenced


@pytest.mark.parametrize("was", [COMMIT, ABORT])
@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_before_kip_890_the_producer_waits_for_its_markers(tv1: Ledger, was: bool, commit: bool) -> None:
    begin(tv1)
    tv1.end(PID, 0, commit=was)
    assert tv1.end(PID, 0, commit=commit).error_code is ErrorCode.concurrent_transactions
    assert tv1.end(PID, 1, commit=commit).error_code is ErrorCode.producer_fenced
    assert tv1.end(PID + 1, 0, commit=commit).error_code is ErrorCode.invalid_producer_id_mapping


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_before_kip_890_nothing_ends_that_has_not_begun(tv1: Ledger, commit: bool) -> None:
    tv1.init()
    assert tv1.end(PID, 0, commit=commit).error_code is ErrorCode.invalid_txn_state


# --- transaction version 2: the epoch is bumped ---


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_since_kip_890_the_producer_gets_the_next_epoch(tv2: Ledger, commit: bool) -> None:
    begin(tv2)
    assert producer(tv2.end(PID, 0, commit=commit)) == (PID, 1)
    (marker,) = tv2.markers
    assert (marker.producer_epoch, marker.transaction_version) == (1, 2)
    tv2.write_markers()
    assert tv2.producer == (PID, 1)
    assert tv2.metadata.last_producer_epoch == 0


@pytest.mark.parametrize("was", [COMMIT, ABORT])
@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_since_kip_890_a_retry_is_known_by_the_epoch_before(tv2: Ledger, was: bool, commit: bool) -> None:
    complete(tv2, commit=was)
    written = len(tv2.log)
    response = tv2.end(PID, 0, commit=commit)
    if was == commit:
        assert producer(response) == (PID, 1)
    else:
        assert response == EndTxnResponse(error_code=ErrorCode.invalid_txn_state)
    assert len(tv2.log) == written


@pytest.mark.parametrize("was", [COMMIT, ABORT])
def test_since_kip_890_a_producer_in_doubt_may_abort_what_has_not_begun(tv2: Ledger, was: bool) -> None:
    complete(tv2, commit=was)
    assert tv2.end(PID, 1, commit=COMMIT).error_code is ErrorCode.invalid_txn_state
    tv2.now_ms += 9
    assert producer(tv2.end(PID, 1, commit=ABORT)) == (PID, 2)
    assert tv2.state == "CompleteAbort"
    assert tv2.metadata.start_ms == START_MS + 9
    assert tv2.markers == []


def test_since_kip_890_an_empty_transaction_may_be_aborted_and_not_committed(tv2: Ledger) -> None:
    tv2.init()
    assert tv2.end(PID, 0, commit=COMMIT).error_code is ErrorCode.invalid_txn_state
    assert producer(tv2.end(PID, 0, commit=ABORT)) == (PID, 1)
    assert tv2.states_in_log() == [0, 3, 5]


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_since_kip_890_an_empty_transaction_knows_no_retry(tv2: Ledger, commit: bool) -> None:
    tv2.init()
    tv2.init()
    assert tv2.end(PID, 0, commit=commit).error_code is ErrorCode.producer_fenced


@pytest.mark.parametrize("epoch", [0, 1, 2, 99])
@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_since_kip_890_everybody_waits_for_the_markers(tv2: Ledger, epoch: int, commit: bool) -> None:
    begin(tv2)
    tv2.end(PID, 0, commit=COMMIT)
    assert tv2.end(PID, epoch, commit=commit).error_code is ErrorCode.concurrent_transactions
    assert tv2.end(PID + 1, epoch, commit=commit).error_code is ErrorCode.concurrent_transactions


@pytest.mark.parametrize("epoch", [2, 99])
def test_since_kip_890_an_epoch_of_the_future_is_fenced(tv2: Ledger, epoch: int) -> None:
    complete(tv2, commit=COMMIT)
    assert tv2.end(PID, epoch, commit=COMMIT).error_code is ErrorCode.producer_fenced


def test_since_kip_890_the_epoch_before_the_last_is_fenced(tv2: Ledger) -> None:
    complete(tv2, commit=ABORT)
    tv2.end(PID, 1, commit=ABORT)
    assert tv2.end(PID, 0, commit=ABORT).error_code is ErrorCode.producer_fenced


# --- the last epoch ---


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_the_epoch_before_the_last_is_followed_by_the_last(tv2: Ledger, commit: bool) -> None:
    tv2.init()
    tv2.at_epoch(LAST_CLIENT_EPOCH - 1)
    tv2.add(PID, LAST_CLIENT_EPOCH - 1, A0)
    assert producer(tv2.end(PID, LAST_CLIENT_EPOCH - 1, commit=commit)) == (PID, LAST_CLIENT_EPOCH)


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_the_last_epoch_is_followed_by_another_producer_id(tv2: Ledger, commit: bool) -> None:
    tv2.init()
    tv2.at_epoch(LAST_CLIENT_EPOCH)
    tv2.add(PID, LAST_CLIENT_EPOCH, A0)
    assert producer(tv2.end(PID, LAST_CLIENT_EPOCH, commit=commit)) == (PID + 1, 0)
    (marker,) = tv2.markers
    assert (marker.producer_id, marker.producer_epoch) == (PID, EPOCH_MAX)
    assert tv2.add(PID + 1, 0, A1) is ErrorCode.concurrent_transactions
    tv2.write_markers()
    assert tv2.producer == (PID + 1, 0)
    assert tv2.add(PID + 1, 0, A1) is NONE


@pytest.mark.parametrize("was", [COMMIT, ABORT])
@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_a_retry_over_the_rotation_is_known_by_the_former_id(tv2: Ledger, was: bool, commit: bool) -> None:
    tv2.init()
    tv2.at_epoch(LAST_CLIENT_EPOCH)
    tv2.add(PID, LAST_CLIENT_EPOCH, A0)
    tv2.end(PID, LAST_CLIENT_EPOCH, commit=was)
    tv2.write_markers()
    response = tv2.end(PID, LAST_CLIENT_EPOCH, commit=commit)
    if was == commit:
        assert producer(response) == (PID + 1, 0)
    else:
        assert response.error_code is ErrorCode.invalid_txn_state
    assert tv2.end(PID, LAST_CLIENT_EPOCH - 1, commit=commit).error_code is ErrorCode.invalid_producer_id_mapping


def test_the_rotation_survives_a_restart_before_the_markers_are_written(tv2: Ledger) -> None:
    tv2.init()
    tv2.at_epoch(LAST_CLIENT_EPOCH)
    tv2.add(PID, LAST_CLIENT_EPOCH, A0)
    tv2.end(PID, LAST_CLIENT_EPOCH, commit=COMMIT)
    tv2.restart()
    tv2.write_markers()
    assert tv2.producer == (PID + 1, 0)
    assert producer(tv2.end(PID, LAST_CLIENT_EPOCH, commit=COMMIT)) == (PID + 1, 0)


def test_the_transaction_goes_on_when_there_is_no_id_to_rotate_to(tv2: Ledger) -> None:
    tv2.init()
    tv2.at_epoch(LAST_CLIENT_EPOCH)
    tv2.add(PID, LAST_CLIENT_EPOCH, A0)
    tv2.ids_left = 0
    assert tv2.end(PID, LAST_CLIENT_EPOCH, commit=COMMIT).error_code is ErrorCode.coordinator_load_in_progress
    assert tv2.state == "Ongoing"
    tv2.ids_left = 1
    assert producer(tv2.end(PID, LAST_CLIENT_EPOCH, commit=COMMIT)) == (PID + 1, 0)


def test_before_kip_890_the_last_epoch_commits_and_stays(tv1: Ledger) -> None:
    tv1.init()
    tv1.at_epoch(LAST_CLIENT_EPOCH)
    tv1.add(PID, LAST_CLIENT_EPOCH, A0)
    assert producer(tv1.end(PID, LAST_CLIENT_EPOCH, commit=COMMIT)) == NOBODY
    tv1.write_markers()
    assert tv1.producer == (PID, LAST_CLIENT_EPOCH)


def test_an_old_client_in_a_new_cluster_ends_as_before(tv2: Ledger) -> None:
    tv2.init()
    tv2.add(PID, 0, A0, version=3)
    assert producer(tv2.end(PID, 0, commit=COMMIT, version=4)) == NOBODY
    assert (tv2.markers[0].producer_epoch, tv2.markers[0].transaction_version) == (0, 0)
    tv2.write_markers()
    assert tv2.end(PID, 0, commit=COMMIT, version=4).error_code is NONE
