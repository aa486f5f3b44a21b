"""AddPartitionsToTxn, AddOffsetsToTxn, and the question whether a partition is in a transaction."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, A1, B0, FIRST_PRODUCER_ID, OFFSETS, START_MS, Ledger

from doorkeeper.cluster.transactions.messages import NONE, TV_0, TV_2

PID = FIRST_PRODUCER_ID


def test_the_first_partition_begins_the_transaction(ledger: Ledger) -> None:
    ledger.init()
    ledger.now_ms += 10
    assert ledger.add(PID, 0, A0) is NONE
    assert (ledger.state, ledger.metadata.start_ms) == ("Ongoing", START_MS + 10)
    assert ledger.metadata.partitions == {A0}


def test_later_partitions_join_it_without_changing_its_start(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.now_ms += 10
    assert ledger.add(PID, 0, A1, B0) is NONE
    assert ledger.metadata.partitions == {A0, A1, B0}
    assert (ledger.metadata.start_ms, ledger.metadata.last_update_ms) == (START_MS, START_MS + 10)


def test_partitions_that_are_in_it_already_are_not_written_again(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0, A1)
    written = len(ledger.log)
    assert ledger.add(PID, 0, A1) is NONE
    assert len(ledger.log) == written
    assert ledger.add(PID, 0, A1, B0) is NONE
    assert len(ledger.log) == written + 1


def test_offsets_go_into_the_transaction_as_a_partition(ledger: Ledger) -> None:
    ledger.init()
    assert ledger.add_offsets(PID, 0) is NONE
    assert ledger.metadata.partitions == {OFFSETS}
    assert ledger.metadata.client_transaction_version == TV_0


@pytest.mark.parametrize(("version", "client_version"), [(0, TV_0), (3, TV_0), (4, TV_2), (5, TV_2)])
def test_the_version_of_the_request_tells_the_clients_transaction_version(
    tv2: Ledger, version: int, client_version: int
) -> None:
    tv2.init()
    tv2.add(PID, 0, A0, version=version)
    assert tv2.metadata.client_transaction_version == client_version


def test_refuses_an_empty_transactional_id(ledger: Ledger) -> None:
    assert ledger.add(PID, 0, A0, transactional_id="") is ErrorCode.invalid_request
    assert ledger.add(PID, 0, A0, transactional_id="", verify_only=True) is ErrorCode.invalid_request


def test_refuses_an_unknown_transactional_id(ledger: Ledger) -> None:
    assert ledger.add(PID, 0, A0) is ErrorCode.invalid_producer_id_mapping
    assert ledger.add_offsets(PID, 0) is ErrorCode.invalid_producer_id_mapping
    assert ledger.verify(PID, 0, A0) == {A0: ErrorCode.invalid_producer_id_mapping}


def test_refuses_another_producer_id_before_its_epoch_is_looked_at(ledger: Ledger) -> None:
    ledger.init()
    assert ledger.add(PID + 1, 9, A0) is ErrorCode.invalid_producer_id_mapping
    assert ledger.verify(PID + 1, 9, A0) == {A0: ErrorCode.invalid_producer_id_mapping}


@pytest.mark.parametrize("epoch", [0, 2])
def test_fences_older_and_newer_epochs(ledger: Ledger, epoch: int) -> None:
    ledger.init()
    ledger.init()
    assert ledger.add(PID, epoch, A0) is ErrorCode.producer_fenced
    assert ledger.add_offsets(PID, epoch) is ErrorCode.producer_fenced
    assert ledger.verify(PID, epoch, A0) == {A0: ErrorCode.producer_fenced}
    assert ledger.add(PID, 1, A0) is NONE


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.invalid_producer_epoch), (2, ErrorCode.producer_fenced)])
def test_old_versions_know_fencing_by_another_name(ledger: Ledger, version: int, code: ErrorCode) -> None:
    ledger.init()
    assert ledger.add(PID, 9, A0, version=version) is code
    assert ledger.add_offsets(PID, 9, version=version) is code


def test_waits_for_the_markers_whoever_asks(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.end(PID, 0, commit=True)
    assert ledger.add(PID + 7, 99, B0) is ErrorCode.concurrent_transactions
    assert ledger.add_offsets(PID, 0) is ErrorCode.concurrent_transactions


def test_a_complete_transaction_is_followed_by_the_next(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.end(PID, 0, commit=True)
    ledger.write_markers()
    ledger.now_ms += 5
    assert ledger.add(*ledger.producer, B0) is NONE
    assert ledger.metadata.partitions == {B0}
    assert ledger.metadata.start_ms == START_MS + 5


# --- what the broker turns down itself ---


@pytest.mark.parametrize("verify_only", [False, True])
def test_one_partition_that_is_not_there_keeps_all_others_out(ledger: Ledger, verify_only: bool) -> None:
    ledger.init()
    refused = {A1: ErrorCode.unknown_topic_or_partition, B0: ErrorCode.topic_authorization_failed}
    codes = ledger.ask_partitions(PID, 0, A0, A1, B0, refused=refused, verify_only=verify_only)
    assert codes == {A0: ErrorCode.operation_not_attempted, **refused}
    assert ledger.state == "Empty"


# --- verification ---


def test_tells_which_partitions_are_in_the_transaction(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    written = len(ledger.log)
    assert ledger.verify(PID, 0, A0, A1) == {A0: NONE, A1: ErrorCode.transaction_abortable}
    assert len(ledger.log) == written


def test_before_the_transaction_no_partition_is_in_it(ledger: Ledger) -> None:
    ledger.init()
    assert ledger.verify(PID, 0, A0) == {A0: ErrorCode.transaction_abortable}


def test_while_markers_are_written_no_partition_is_verified(tv1: Ledger) -> None:
    tv1.init()
    tv1.add(PID, 0, A0)
    tv1.end(PID, 0, commit=True)
    assert tv1.verify(PID, 0, A0) == {A0: ErrorCode.concurrent_transactions}
    assert tv1.verify(PID, 1, A0) == {A0: ErrorCode.producer_fenced}


def test_while_markers_are_written_the_epoch_before_is_fenced(tv2: Ledger) -> None:
    tv2.init()
    tv2.add(PID, 0, A0)
    tv2.end(PID, 0, commit=True)
    assert tv2.verify(PID, 0, A0) == {A0: ErrorCode.producer_fenced}
    assert tv2.verify(PID, 1, A0) == {A0: ErrorCode.concurrent_transactions}


# --- a cluster whose log can't say what a newer client does ---


def test_a_cluster_at_version_zero_refuses_clients_at_version_two() -> None:
    ledger = Ledger(transaction_version=0)
    ledger.init()
    assert ledger.add(PID, 0, A0, version=4) is ErrorCode.unsupported_version
    assert ledger.end(PID, 0, commit=False, version=5).error_code is ErrorCode.unsupported_version
    assert ledger.state == "Empty"
    ledger.coordinator.set_transaction_version(1)
    assert ledger.add(PID, 0, A0, version=4) is NONE
