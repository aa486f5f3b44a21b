"""Idempotence and transactions: what a partition remembers of its producers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.log.batches import NOW, batch
from tests.cluster.log.conftest import UNSYNCED, OpenLog

from doorkeeper.cluster.log.batch import Marker, MarkerType
from doorkeeper.cluster.log.partition_log import Appended, PartitionLog
from doorkeeper.cluster.log.producer_snapshot import read_snapshot, write_snapshot
from doorkeeper.cluster.log.producer_state import ProducerEntry, ProducerSettings, Verification
from doorkeeper.cluster.log.reading import AbortedRange, Isolation, ReadResult
from doorkeeper.cluster.log.refusals import LogError, Refusal
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.errors import RecordError
from doorkeeper.wire.records import MAX_SEQUENCE, iter_batches

DAY = 86_400_000


def send(log: PartitionLog, sequence: int, *, epoch: int = 0, count: int = 1, **options: object) -> Appended | Refusal:
    data = batch(*[b"v"] * count, producer_id=1, epoch=epoch, sequence=sequence, **options)  # type: ignore[arg-type]
    return log.append(data, leader_epoch=0, now=NOW)


def end(log: PartitionLog, kind: MarkerType, *, epoch: int = 0, producer_id: int = 1, version: int = 1) -> Appended:
    result = log.append_marker(
        producer_id, epoch, Marker(kind, 0, NOW), leader_epoch=0, now=NOW, transaction_version=version
    )
    assert isinstance(result, Appended), result
    return result


def code_of(result: Appended | Refusal) -> LogError:
    assert isinstance(result, Refusal), result
    return result.code


class TestSequences:
    def test_answers_a_repeated_batch_with_its_first_offsets(self, log: PartitionLog) -> None:
        for sequence in range(5):
            send(log, sequence)
        for sequence in range(5):
            repeated = send(log, sequence)
            assert isinstance(repeated, Appended)
            assert (repeated.base_offset, repeated.is_duplicate) == (sequence, True)
        assert log.log_end_offset == 5

    def test_remembers_five_batches_and_no_more(self, log: PartitionLog) -> None:
        for sequence in range(6):
            send(log, sequence)
        assert code_of(send(log, 0)) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert isinstance(send(log, 1), Appended)

    @pytest.mark.parametrize("sequence", [0, 2, 4, 100])
    def test_refuses_a_sequence_that_does_not_follow(self, log: PartitionLog, sequence: int) -> None:
        send(log, 0, count=3)
        assert code_of(send(log, sequence)) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_goes_on_from_zero_after_the_largest_number(self, log: PartitionLog) -> None:
        assert isinstance(send(log, MAX_SEQUENCE - 1, count=2), Appended)
        assert isinstance(send(log, 0), Appended)

    def test_a_batch_may_run_over_the_largest_number(self, log: PartitionLog) -> None:
        assert isinstance(send(log, MAX_SEQUENCE, count=3), Appended)
        assert isinstance(send(log, 2), Appended)

    @pytest.mark.parametrize("sequence", [0, 17])
    def test_takes_any_sequence_from_a_producer_it_does_not_know(self, log: PartitionLog, sequence: int) -> None:
        assert isinstance(send(log, sequence), Appended)

    def test_a_new_epoch_begins_at_zero(self, log: PartitionLog) -> None:
        send(log, 0)
        assert code_of(send(log, 1, epoch=1)) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert isinstance(send(log, 0, epoch=1), Appended)

    def test_fences_an_old_epoch(self, log: PartitionLog) -> None:
        send(log, 0, epoch=1)
        assert code_of(send(log, 1, epoch=0)) is LogError.INVALID_PRODUCER_EPOCH

    def test_forgets_a_producer_that_is_silent_for_a_day(self, log: PartitionLog) -> None:
        send(log, 0)
        log.producers.expire(NOW + DAY - 1)
        assert 1 in log.producers.entries
        log.producers.expire(NOW + DAY)
        assert 1 not in log.producers.entries

    def test_knows_the_last_batch_after_a_restart(self, log: PartitionLog, open_partition: OpenLog) -> None:
        for sequence in range(3):
            send(log, sequence)
        log.close()
        again = open_partition()
        repeated = send(again, 2)
        assert isinstance(repeated, Appended)
        assert repeated.is_duplicate
        assert code_of(send(again, 5)) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert isinstance(send(again, 3), Appended)


class TestTransactions:
    def test_the_last_stable_offset_waits_for_the_oldest_transaction(self, log: PartitionLog) -> None:
        log.append(batch(), leader_epoch=0, now=NOW)
        send(log, 0, is_transactional=True)
        log.append(batch(producer_id=2, is_transactional=True), leader_epoch=0, now=NOW)
        assert log.last_stable_offset == 1
        end(log, MarkerType.COMMIT)
        assert log.last_stable_offset == 2
        end(log, MarkerType.ABORT, producer_id=2)
        assert log.last_stable_offset == log.log_end_offset == 5

    def test_read_committed_stops_at_the_last_stable_offset(self, log: PartitionLog) -> None:
        log.append(batch(b"plain"), leader_epoch=0, now=NOW)
        send(log, 0, is_transactional=True)
        committed = log.read(0, 10_000, Isolation.READ_COMMITTED)
        assert isinstance(committed, ReadResult)
        assert committed.records is not None
        assert [found.records[0].value for _, found in iter_batches(committed.records.read())] == [b"plain"]
        waiting = log.read(1, 10_000, Isolation.READ_COMMITTED)
        assert isinstance(waiting, ReadResult)
        assert (waiting.records, waiting.aborted, waiting.high_watermark) == (None, (), 2)

    def test_read_committed_names_the_aborted_transactions(self, log: PartitionLog) -> None:
        send(log, 0, is_transactional=True)
        end(log, MarkerType.ABORT)
        send(log, 1, is_transactional=True)
        end(log, MarkerType.COMMIT)
        result = log.read(0, 10_000, Isolation.READ_COMMITTED)
        assert isinstance(result, ReadResult)
        assert result.aborted == (AbortedRange(1, 0),)
        after = log.read(2, 10_000, Isolation.READ_COMMITTED)
        assert isinstance(after, ReadResult)
        assert after.aborted == ()
        plain = log.read(0, 10_000)
        assert isinstance(plain, ReadResult)
        assert plain.aborted is None

    def test_finds_an_abort_in_a_later_segment(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=150)
        send(log, 0, is_transactional=True)
        for _ in range(4):
            log.append(batch(), leader_epoch=0, now=NOW)
        end(log, MarkerType.ABORT)
        result = log.read(0, 1, Isolation.READ_COMMITTED)
        assert len(log.segments) > 2
        assert isinstance(result, ReadResult)
        assert result.aborted == (AbortedRange(1, 0),)

    def test_refuses_a_plain_batch_within_a_transaction(self, log: PartitionLog) -> None:
        send(log, 0, is_transactional=True)
        assert code_of(send(log, 1)) is LogError.INVALID_TXN_STATE

    def test_refuses_a_marker_of_an_older_coordinator(self, log: PartitionLog) -> None:
        send(log, 0, is_transactional=True)
        log.append_marker(1, 0, Marker(MarkerType.COMMIT, 5, NOW), leader_epoch=0, now=NOW, transaction_version=1)
        late = log.append_marker(1, 0, Marker(MarkerType.ABORT, 4, NOW), leader_epoch=0, now=NOW, transaction_version=1)
        assert code_of(late) is LogError.TRANSACTION_COORDINATOR_FENCED

    @pytest.mark.parametrize(("version", "is_refused"), [(0, False), (1, False), (2, True)])
    def test_a_marker_of_version_2_needs_a_new_epoch(
        self, log: PartitionLog, version: int, *, is_refused: bool
    ) -> None:
        send(log, 0, is_transactional=True)
        marker = Marker(MarkerType.COMMIT, 0, NOW)
        result = log.append_marker(1, 0, marker, leader_epoch=0, now=NOW, transaction_version=version)
        assert isinstance(result, Refusal) == is_refused

    def test_a_marker_of_version_2_may_come_twice(self, log: PartitionLog) -> None:
        send(log, 0, is_transactional=True)
        end(log, MarkerType.COMMIT, epoch=1, version=2)
        end(log, MarkerType.COMMIT, epoch=1, version=2)

    def test_an_open_transaction_survives_a_restart(self, log: PartitionLog, open_partition: OpenLog) -> None:
        log.append(batch(), leader_epoch=0, now=NOW)
        send(log, 0, is_transactional=True)
        log.close()
        again = open_partition(now=NOW + 10 * DAY)
        assert again.last_stable_offset == 1
        end(again, MarkerType.ABORT)
        result = again.read(1, 10_000, Isolation.READ_COMMITTED)
        assert isinstance(result, ReadResult)
        assert result.aborted == (AbortedRange(1, 1),)


class TestVerification:
    @pytest.fixture
    def strict(self, open_partition: OpenLog) -> PartitionLog:
        return open_partition(near=Surroundings(disk=UNSYNCED, producers=ProducerSettings(requires_verification=True)))

    def verify(self, log: PartitionLog, *, sequence: int = 0, bump: bool = False) -> Verification:
        found = log.producers.start_verification(1, sequence, 0, NOW, supports_epoch_bump=bump)
        assert isinstance(found, Verification)
        return found

    def append(self, log: PartitionLog, verification: Verification | None, sequence: int = 0) -> Appended | Refusal:
        data = batch(producer_id=1, sequence=sequence, is_transactional=True)
        return log.append(data, leader_epoch=0, now=NOW, verification=verification)

    def test_a_transaction_begins_only_with_leave(self, strict: PartitionLog) -> None:
        assert code_of(self.append(strict, None)) is LogError.INVALID_TXN_STATE
        leave = self.verify(strict)
        assert code_of(self.append(strict, Verification(0, 0, NOW, supports_epoch_bump=False))) is (
            LogError.INVALID_TXN_STATE
        )
        assert isinstance(self.append(strict, leave), Appended)

    def test_one_that_is_under_way_needs_none(self, strict: PartitionLog) -> None:
        self.append(strict, self.verify(strict))
        assert strict.producers.start_verification(1, 1, 0, NOW, supports_epoch_bump=False) is None
        assert isinstance(self.append(strict, None, sequence=1), Appended)

    def test_leave_ends_with_the_transaction(self, strict: PartitionLog) -> None:
        leave = self.verify(strict)
        self.append(strict, leave)
        end(strict, MarkerType.COMMIT)
        assert code_of(self.append(strict, leave, sequence=1)) is LogError.INVALID_TXN_STATE

    def test_refuses_an_old_epoch_before_anybody_is_asked(self, strict: PartitionLog) -> None:
        send(strict, 0, epoch=3)
        refusal = strict.producers.start_verification(1, 0, 2, NOW, supports_epoch_bump=False)
        assert isinstance(refusal, Refusal)
        assert refusal.code is LogError.INVALID_PRODUCER_EPOCH

    def test_keeps_to_the_lowest_sequence_that_it_has_seen(self, strict: PartitionLog) -> None:
        self.verify(strict, sequence=4)
        leave = self.verify(strict, sequence=2)
        assert code_of(self.append(strict, leave, sequence=3)) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert isinstance(self.append(strict, leave, sequence=2), Appended)

    def test_version_2_begins_at_zero_where_nothing_is_known(self, strict: PartitionLog) -> None:
        leave = self.verify(strict, sequence=3, bump=True)
        assert code_of(self.append(strict, leave, sequence=3)) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER


ENTRIES = st.builds(
    ProducerEntry,
    producer_id=st.integers(0, 2**63 - 1),
    epoch=st.integers(-1, 2**15 - 1),
    coordinator_epoch=st.integers(-1, 2**31 - 1),
    last_timestamp=st.integers(-1, 2**62),
    transaction_start=st.integers(-1, 2**62),
)


class TestSnapshots:
    @given(st.lists(ENTRIES, unique_by=lambda entry: entry.producer_id))
    def test_reads_what_it_writes(self, entries: list[ProducerEntry]) -> None:
        def rows(some: list[ProducerEntry]) -> list[tuple[int, ...]]:
            return sorted(
                (each.producer_id, each.epoch, each.coordinator_epoch, each.last_timestamp, each.transaction_start)
                for each in some
            )

        assert rows(read_snapshot(write_snapshot(entries))) == rows(entries)

    @given(st.binary(max_size=200))
    def test_any_other_bytes_are_refused(self, data: bytes) -> None:
        with pytest.raises(RecordError):
            read_snapshot(data)

    def test_a_changed_byte_is_noticed(self) -> None:
        data = bytearray(write_snapshot([ProducerEntry(5, 1)]))
        data[-1] ^= 1
        with pytest.raises(RecordError, match="checksum"):
            read_snapshot(bytes(data))
