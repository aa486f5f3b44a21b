"""The log brings the coordinator back: any prefix of it, and the markers that were decided and not written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.transactions.ledger import A0, A1, FIRST_PRODUCER_ID, NAME, Ledger

from doorkeeper.cluster.transactions.messages import TV_0, TV_2
from doorkeeper.cluster.transactions.metadata import TransactionMetadata
from doorkeeper.cluster.transactions.records import from_value, to_record
from doorkeeper.cluster.transactions.states import VALID_PREVIOUS_STATES, TransactionState
from doorkeeper.cluster.transactions.step import TransactionRefusedError
from doorkeeper.errors import RecordError
from doorkeeper.wire.coordinator_records import CoordinatorRecord, GroupMetadataKey
from doorkeeper.wire.transaction_records import PartitionsSchema, TransactionLogKey, TransactionLogValue

PID = FIRST_PRODUCER_ID
KEY = TransactionLogKey(transactional_id=NAME)

FULL = TransactionMetadata(
    transactional_id=NAME,
    producer_id=5,
    previous_producer_id=4,
    next_producer_id=6,
    producer_epoch=7,
    timeout_ms=1000,
    state=TransactionState.PREPARE_COMMIT,
    partitions=frozenset({A0, A1}),
    start_ms=10,
    last_update_ms=20,
    client_transaction_version=TV_2,
)


def value_of(record: CoordinatorRecord) -> TransactionLogValue:
    assert isinstance(record.value, TransactionLogValue)
    return record.value


def known(ledger: Ledger) -> tuple[object, ...] | None:
    """What the log keeps of the id, but for what version 0 of its record has no room for."""
    metadata = ledger.coordinator.state.transactions.get(NAME)
    if metadata is None:
        return None
    return metadata.state, metadata.producer_id, metadata.producer_epoch, metadata.partitions, metadata.start_ms


@pytest.mark.parametrize("transaction_version", [1, 2])
def test_a_record_with_tagged_fields_keeps_everything(transaction_version: int) -> None:
    record = to_record(FULL, transaction_version)
    assert record.version == 1
    assert from_value(NAME, value_of(record)) == FULL


def test_a_record_without_tagged_fields_loses_the_other_producer_ids_and_the_clients_version() -> None:
    record = to_record(FULL, 0)
    assert record.version == 0
    assert from_value(NAME, value_of(record)) == replace(
        FULL, previous_producer_id=-1, next_producer_id=-1, client_transaction_version=TV_0
    )


def test_partitions_are_grouped_by_topic() -> None:
    assert value_of(to_record(FULL, 2)).transaction_partitions == (PartitionsSchema(topic="a", partition_ids=(0, 1)),)


def test_an_empty_state_has_null_partitions_and_any_other_has_some_or_none() -> None:
    empty = replace(FULL, state=TransactionState.EMPTY, partitions=frozenset())
    assert value_of(to_record(empty, 2)).transaction_partitions is None
    complete = replace(empty, state=TransactionState.COMPLETE_COMMIT)
    assert value_of(to_record(complete, 2)).transaction_partitions == ()


def test_partitions_of_an_empty_state_do_not_count() -> None:
    value = TransactionLogValue(transaction_partitions=(PartitionsSchema(topic="a", partition_ids=(1,)),))
    assert from_value(NAME, value).partitions == frozenset()


@pytest.mark.parametrize("status", [-1, 8])
def test_refuses_a_state_that_does_not_exist(ledger: Ledger, status: int) -> None:
    with pytest.raises(RecordError):
        ledger.coordinator.replay(CoordinatorRecord(KEY, TransactionLogValue(transaction_status=status), 1))


def test_refuses_a_record_of_another_coordinator(ledger: Ledger) -> None:
    with pytest.raises(RecordError):
        ledger.coordinator.replay(CoordinatorRecord(GroupMetadataKey(group="g")))


def test_a_tombstone_of_an_unknown_id_is_no_matter(ledger: Ledger) -> None:
    ledger.coordinator.replay(CoordinatorRecord(KEY))
    assert ledger.coordinator.state.transactions == {}


def test_every_prefix_of_the_log_is_a_state_that_was(ledger: Ledger) -> None:
    steps: list[Callable[[], object]] = [
        ledger.init,
        lambda: ledger.add(PID, 0, A0),
        lambda: ledger.add(PID, 0, A1),
        lambda: ledger.end(PID, 0, commit=True),
        ledger.write_markers,
        lambda: ledger.add(*ledger.producer, A0),
        ledger.init,
        ledger.write_markers,
        ledger.init,
        lambda: ledger.pass_time(ledger.now_ms + 8 * 24 * 3_600_000),
    ]
    seen = [known(ledger)]
    for step in steps:
        step()
        seen.append(known(ledger))
    assert len(ledger.log) == len(steps)
    for length, expected in enumerate(seen):
        again = Ledger(transaction_version=ledger.transaction_version, log=ledger.log[:length])
        assert known(again) == expected


@pytest.mark.parametrize("commit", [True, False])
def test_markers_that_were_not_written_are_sent_after_a_restart(ledger: Ledger, commit: bool) -> None:
    ledger.init()
    ledger.add(PID, 0, A0, A1)
    ledger.end(PID, 0, commit=commit)
    before = ledger.markers[0]
    ledger.take(ledger.coordinator.markers_written(replace(before, partitions=(A0,)), {A0: ErrorCode.none}, 0))
    ledger.restart()
    assert ledger.markers == [replace(before, coordinator_epoch=1)]
    ledger.write_markers()
    assert ledger.state == ("CompleteCommit" if commit else "CompleteAbort")


def test_an_end_without_partitions_is_completed_by_the_restart(tv2: Ledger) -> None:
    tv2.init()
    tv2.end(PID, 0, commit=False)
    assert tv2.states_in_log() == [0, 3, 5]
    del tv2.log[-1]
    tv2.restart()
    assert tv2.states_in_log() == [0, 3, 5]
    assert (tv2.state, tv2.producer) == ("CompleteAbort", (PID, 1))


def test_a_transaction_goes_on_after_a_restart(ledger: Ledger) -> None:
    ledger.init()
    ledger.add(PID, 0, A0)
    ledger.restart()
    assert ledger.add(PID, 0, A1) is ErrorCode.none
    assert ledger.end(PID, 0, commit=True).error_code is ErrorCode.none
    assert ledger.markers[0].partitions == (A0, A1)


def test_since_kip_890_a_retried_end_is_known_after_a_restart(tv2: Ledger) -> None:
    tv2.init()
    tv2.add(PID, 0, A0)
    first = tv2.end(PID, 0, commit=True)
    tv2.write_markers()
    tv2.restart()
    assert tv2.end(PID, 0, commit=True) == first


# --- states ---


def test_states_that_are_never_written_lead_nowhere_but_to_a_fault(ledger: Ledger) -> None:
    ledger.init()
    ledger.coordinator.state.put(NAME, replace(ledger.metadata, state=TransactionState.DEAD))
    assert ledger.init().error_code is ErrorCode.unknown_server_error
    assert ledger.add(PID, 0, A0) is ErrorCode.unknown_server_error


@pytest.mark.parametrize("state", list(TransactionState))
def test_a_transition_is_legal_or_refused(state: TransactionState) -> None:
    known = replace(FULL, state=state)
    transitions: dict[TransactionState, Callable[[], TransactionMetadata]] = {
        TransactionState.EMPTY: lambda: known.with_next_epoch(1, None, 0),
        TransactionState.ONGOING: lambda: known.with_partitions(frozenset(), 0, 0),
        TransactionState.PREPARE_COMMIT: lambda: known.prepared(
            commit=True, client_version=0, next_producer_id=-1, now_ms=0
        ),
        TransactionState.PREPARE_ABORT: lambda: known.prepared(
            commit=False, client_version=0, next_producer_id=-1, now_ms=0
        ),
    }
    for target, transit in transitions.items():
        if state in VALID_PREVIOUS_STATES[target]:
            assert transit().state is target
        else:
            with pytest.raises(TransactionRefusedError):
                transit()
