"""What a Produce or a TxnOffsetCommit asks of the coordinator, and what its client is told."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, FIRST_PRODUCER_ID, NAME, OFFSETS, Ledger

from doorkeeper.cluster.transactions.messages import NONE
from doorkeeper.cluster.transactions.verification import (
    Operation,
    produce_code,
    produce_operation,
    txn_offset_commit_code,
    txn_offset_commit_operation,
    verification_request,
)

PID = FIRST_PRODUCER_ID
OLD, NEWER, NEWEST = Operation.DEFAULT_ERROR, Operation.GENERIC_ERROR_SUPPORTED, Operation.ADD_PARTITION


@pytest.mark.parametrize(("version", "operation"), [(3, OLD), (10, OLD), (11, NEWER), (12, NEWEST), (13, NEWEST)])
def test_the_version_of_a_produce_request_tells_what_is_asked(version: int, operation: Operation) -> None:
    assert produce_operation(version) is operation


@pytest.mark.parametrize(("version", "operation"), [(0, OLD), (3, OLD), (4, NEWER), (5, NEWEST)])
def test_the_version_of_an_offset_commit_tells_what_is_asked(version: int, operation: Operation) -> None:
    assert txn_offset_commit_operation(version) is operation


def test_an_offset_commit_of_a_new_client_takes_the_offsets_into_the_transaction(tv2: Ledger) -> None:
    tv2.init()
    request = verification_request(txn_offset_commit_operation(5), NAME, PID, 0, [OFFSETS])
    assert tv2.take(tv2.coordinator.add_partitions_to_txn(request, 5, tv2.now_ms)) == {OFFSETS: NONE}
    assert tv2.metadata.partitions == {OFFSETS}


def test_an_offset_commit_of_an_older_client_is_only_verified(tv1: Ledger) -> None:
    tv1.init()
    request = verification_request(txn_offset_commit_operation(4), NAME, PID, 0, [OFFSETS])

    def verified() -> ErrorCode:
        codes = tv1.take(tv1.coordinator.add_partitions_to_txn(request, 5, tv1.now_ms))
        return txn_offset_commit_code(txn_offset_commit_operation(4), codes[OFFSETS])

    assert verified() is ErrorCode.transaction_abortable
    tv1.add_offsets(PID, 0)
    assert verified() is NONE


@pytest.mark.parametrize(
    ("operation", "code", "told"),
    [
        (OLD, NONE, NONE),
        (OLD, ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch),
        (NEWEST, ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch),
        (OLD, ErrorCode.transaction_abortable, ErrorCode.invalid_txn_state),
        (NEWER, ErrorCode.transaction_abortable, ErrorCode.transaction_abortable),
        (OLD, ErrorCode.concurrent_transactions, ErrorCode.not_enough_replicas),
        (NEWER, ErrorCode.concurrent_transactions, ErrorCode.not_enough_replicas),
        (NEWEST, ErrorCode.concurrent_transactions, ErrorCode.concurrent_transactions),
        (NEWEST, ErrorCode.network_exception, ErrorCode.not_enough_replicas),
        (OLD, ErrorCode.coordinator_load_in_progress, ErrorCode.not_enough_replicas),
        (OLD, ErrorCode.coordinator_not_available, ErrorCode.not_enough_replicas),
        (OLD, ErrorCode.not_coordinator, ErrorCode.not_enough_replicas),
        (OLD, ErrorCode.invalid_producer_id_mapping, ErrorCode.invalid_producer_id_mapping),
    ],
)
def test_a_producer_is_told_what_it_understands(operation: Operation, code: ErrorCode, told: ErrorCode) -> None:
    assert produce_code(operation, code) is told


@pytest.mark.parametrize(
    ("operation", "code", "told"),
    [
        (OLD, NONE, NONE),
        (OLD, ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch),
        (OLD, ErrorCode.transaction_abortable, ErrorCode.invalid_txn_state),
        (NEWEST, ErrorCode.transaction_abortable, ErrorCode.transaction_abortable),
        (OLD, ErrorCode.network_exception, ErrorCode.coordinator_load_in_progress),
        (OLD, ErrorCode.not_leader_or_follower, ErrorCode.not_coordinator),
        (OLD, ErrorCode.unknown_topic_or_partition, ErrorCode.coordinator_not_available),
        (OLD, ErrorCode.concurrent_transactions, ErrorCode.concurrent_transactions),
    ],
)
def test_who_commits_offsets_is_told_what_it_understands(
    operation: Operation, code: ErrorCode, told: ErrorCode
) -> None:
    assert txn_offset_commit_code(operation, code) is told


def test_a_new_client_is_never_only_verified() -> None:
    asked = {operation: verification_request(operation, NAME, PID, 0, [A0]).verify_only for operation in Operation}
    assert asked == {OLD: True, NEWER: True, NEWEST: False}
