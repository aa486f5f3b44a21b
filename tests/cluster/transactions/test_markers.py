"""Markers: which partitions get which, what is tried again, and when a transaction is over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, A1, B0, FIRST_PRODUCER_ID, NAME, Ledger, producer

from doorkeeper.cluster.transactions.markers import RETRY_BACKOFF_MS
from doorkeeper.cluster.transactions.messages import NONE, TopicPartition, TxnMarker

PID = FIRST_PRODUCER_ID


def prepare(ledger: Ledger, *partitions: TopicPartition, commit: bool = True) -> TxnMarker:
    """End a transaction; the marker that is to be written."""
    ledger.init()
    ledger.add(PID, 0, *partitions)
    ledger.end(PID, 0, commit=commit)
    (marker,) = ledger.markers
    ledger.markers.clear()
    return marker


def report(ledger: Ledger, marker: TxnMarker, outcomes: dict[TopicPartition, ErrorCode]) -> None:
    ledger.take(ledger.coordinator.markers_written(marker, outcomes, ledger.now_ms))


def skip(ledger: Ledger, marker: TxnMarker, *gone: TopicPartition) -> None:
    ledger.take(ledger.coordinator.markers_skipped(marker, gone, ledger.now_ms))


def part(marker: TxnMarker, *partitions: TopicPartition) -> TxnMarker:
    return replace(marker, partitions=partitions)


@pytest.mark.parametrize("commit", [True, False])
def test_one_marker_names_all_partitions_and_the_outcome(ledger: Ledger, commit: bool) -> None:
    ledger.coordinator_epoch = 6
    ledger.load([])
    marker = prepare(ledger, B0, A1, A0, commit=commit)
    assert marker == TxnMarker(
        transactional_id=NAME,
        producer_id=PID,
        producer_epoch=1 if ledger.transaction_version == 2 else 0,
        coordinator_epoch=6,
        committed=commit,
        transaction_version=2 if ledger.transaction_version == 2 else 0,
        partitions=(A0, A1, B0),
    )


def test_the_transaction_is_over_when_the_last_leader_has_answered(ledger: Ledger) -> None:
    marker = prepare(ledger, A0, A1, B0)
    report(ledger, part(marker, A0, B0), {A0: NONE, B0: NONE})
    assert ledger.state == "PrepareCommit"
    assert ledger.metadata.partitions == {A1}
    report(ledger, part(marker, A1), {A1: NONE})
    assert ledger.state == "CompleteCommit"


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_leader_or_follower,
        ErrorCode.not_enough_replicas,
        ErrorCode.not_enough_replicas_after_append,
        ErrorCode.request_timed_out,
        ErrorCode.kafka_storage_error,
        ErrorCode.network_exception,
        ErrorCode.corrupt_message,
    ],
)
def test_a_marker_that_could_not_be_written_is_sent_again_after_a_while(ledger: Ledger, code: ErrorCode) -> None:
    marker = prepare(ledger, A0, A1)
    report(ledger, marker, {A0: NONE, A1: code})
    assert ledger.markers == []
    assert ledger.coordinator.next_deadline() == ledger.now_ms + RETRY_BACKOFF_MS
    ledger.pass_time(ledger.now_ms + RETRY_BACKOFF_MS - 1)
    assert ledger.markers == []
    ledger.pass_time(ledger.now_ms + 1)
    assert ledger.markers == [part(marker, A1)]
    assert ledger.coordinator.next_deadline() is None
    ledger.write_markers()
    assert ledger.state == "CompleteCommit"


def test_a_partition_that_is_left_out_of_the_answer_is_tried_again(ledger: Ledger) -> None:
    marker = prepare(ledger, A0, A1)
    report(ledger, marker, {A0: NONE})
    ledger.pass_time(ledger.now_ms + RETRY_BACKOFF_MS)
    assert ledger.markers == [part(marker, A1)]


def test_retries_of_several_leaders_go_together(ledger: Ledger) -> None:
    marker = prepare(ledger, A0, A1, B0)
    report(ledger, part(marker, A0), {A0: ErrorCode.network_exception})
    report(ledger, part(marker, A1), {A1: NONE})
    report(ledger, part(marker, B0), {B0: ErrorCode.not_leader_or_follower})
    ledger.pass_time(ledger.now_ms + RETRY_BACKOFF_MS)
    assert ledger.markers == [part(marker, A0, B0)]


@pytest.mark.parametrize("code", [ErrorCode.unsupported_for_message_format, ErrorCode.unsupported_version])
def test_a_partition_that_can_have_no_marker_needs_none(ledger: Ledger, code: ErrorCode) -> None:
    report(ledger, prepare(ledger, A0), {A0: code})
    assert ledger.state == "CompleteCommit"


@pytest.mark.parametrize("code", [ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced])
def test_a_coordinator_that_is_not_the_newest_gives_up_until_it_is_loaded_again(
    ledger: Ledger, code: ErrorCode
) -> None:
    marker = prepare(ledger, A0, A1, B0)
    report(ledger, part(marker, B0), {B0: ErrorCode.network_exception})
    report(ledger, part(marker, A0, A1), {A0: NONE, A1: code})
    assert ledger.coordinator.next_deadline() is None
    assert ledger.state == "PrepareCommit"
    assert ledger.init().error_code is ErrorCode.concurrent_transactions
    ledger.restart()
    assert [one.partitions for one in ledger.markers] == [(A0, A1, B0)]
    ledger.write_markers()
    assert ledger.state == "CompleteCommit"


def test_partitions_that_were_deleted_are_not_waited_for(ledger: Ledger) -> None:
    marker = prepare(ledger, A0, A1)
    skip(ledger, marker, A0)
    assert ledger.metadata.partitions == {A1}
    skip(ledger, marker, A1)
    assert ledger.state == "CompleteCommit"


def test_skipping_one_partition_keeps_the_retry_of_another(ledger: Ledger) -> None:
    marker = prepare(ledger, A0, A1)
    report(ledger, part(marker, A0), {A0: ErrorCode.network_exception})
    skip(ledger, part(marker, A1), A1)
    ledger.pass_time(ledger.now_ms + RETRY_BACKOFF_MS)
    assert ledger.markers == [part(marker, A0)]


def test_a_deleted_partition_that_waited_to_be_tried_again_ends_the_transaction(ledger: Ledger) -> None:
    marker = prepare(ledger, A0)
    report(ledger, marker, {A0: ErrorCode.unknown_topic_or_partition})
    skip(ledger, marker, A0)
    assert ledger.state == "CompleteCommit"
    ledger.pass_time(ledger.now_ms + RETRY_BACKOFF_MS)
    assert ledger.markers == []


def test_a_deleted_partition_is_not_tried_again_while_another_is_under_way(ledger: Ledger) -> None:
    marker = prepare(ledger, A0, A1)
    report(ledger, part(marker, A0), {A0: ErrorCode.unknown_topic_or_partition})
    skip(ledger, marker, A0)
    assert ledger.coordinator.state.markers_to_retry == {}
    assert ledger.coordinator.next_deadline() is None
    report(ledger, part(marker, A1), {A1: NONE})
    assert ledger.state == "CompleteCommit"


def test_a_partition_that_was_not_in_the_marker_cannot_be_skipped(ledger: Ledger) -> None:
    marker = prepare(ledger, A0, A1)
    skip(ledger, part(marker, A0), A1)
    assert ledger.metadata.partitions == {A0, A1}


# --- old news ---


def test_an_answer_that_comes_twice_changes_nothing(ledger: Ledger) -> None:
    marker = prepare(ledger, A0)
    report(ledger, marker, {A0: NONE})
    written = len(ledger.log)
    report(ledger, marker, {A0: NONE})
    report(ledger, marker, {A0: ErrorCode.network_exception})
    skip(ledger, marker, A0)
    assert len(ledger.log) == written
    assert ledger.coordinator.state.markers_to_retry == {}


def test_an_answer_to_a_former_coordinator_is_ignored(ledger: Ledger) -> None:
    marker = prepare(ledger, A0)
    ledger.restart()
    report(ledger, marker, {A0: NONE})
    assert ledger.state == "PrepareCommit"
    ledger.write_markers()
    assert ledger.state == "CompleteCommit"


def test_an_answer_for_a_former_transaction_is_ignored(tv2: Ledger) -> None:
    former = prepare(tv2, A0)
    report(tv2, former, {A0: NONE})
    tv2.add(PID, 1, A0)
    tv2.end(PID, 1, commit=False)
    report(tv2, former, {A0: NONE})
    skip(tv2, former, A0)
    assert tv2.state == "PrepareAbort"
    tv2.write_markers()
    assert producer(tv2.end(PID, 1, commit=False)) == (PID, 2)


def test_an_answer_for_a_forgotten_transactional_id_is_ignored(ledger: Ledger) -> None:
    marker = replace(prepare(ledger, A0), transactional_id="nobody")
    report(ledger, marker, {A0: NONE})
    assert ledger.state == "PrepareCommit"
