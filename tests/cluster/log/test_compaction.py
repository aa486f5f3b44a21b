"""Compaction: the last record of each key stays; the bytes are compared with Kafka's in `test_against_kafka`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster.log.batches import NOW, batch, patched
from tests.cluster.log.conftest import OpenLog, few_files

from doorkeeper.cluster.log.batch import Marker, MarkerType
from doorkeeper.cluster.log.compaction import Compaction, measure_dirt, needs_compaction
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.partition_log import Appended, PartitionLog
from doorkeeper.cluster.log.reading import Isolation, ReadResult
from doorkeeper.cluster.log.recovery import Known, open_log
from doorkeeper.wire.compression import Compression
from doorkeeper.wire.records import Record, iter_batches

RECORDS = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.one_of(st.none(), st.binary(max_size=30))), max_size=60
)


def put(log: PartitionLog, key: bytes, value: bytes | None, now: int = NOW) -> None:
    assert isinstance(log.append(batch(value, key=key, timestamp=now), leader_epoch=0, now=now), Appended)


def compact(log: PartitionLog, now: int = NOW, *, max_keys: int = 1000) -> None:
    log.roll(now)
    compaction = Compaction(log, measure_dirt(log, now), now, max_keys=max_keys)
    while not compaction.step(1):
        pass


def records(log: PartitionLog) -> list[Record]:
    data = b"".join(segment.path.read_bytes() for segment in log.segments)
    return [record for _, found in iter_batches(data) for record in found.records]


def latest(log: PartitionLog) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in records(log)}


class TestKeys:
    @given(plan=RECORDS, max_keys=st.integers(1, 5), compression=st.sampled_from(list(Compression)))
    @settings(max_examples=60)
    def test_of_every_key_exactly_the_last_record_stays(
        self, plan: list[tuple[bytes, bytes | None]], max_keys: int, compression: Compression
    ) -> None:
        with tempfile.TemporaryDirectory() as directory:
            config = LogConfig(is_compacted=True, segment_bytes=400, compression=compression)
            log = open_log("t", 0, Path(directory), config, few_files(2), Known(was_clean=True), NOW)
            for key, value in plan:
                put(log, key, value)
            expected = {key: (offset, value) for offset, (key, value) in enumerate(plan)}
            for _ in range(len(plan) + 1):  # a small map takes several rounds
                compact(log, max_keys=max_keys)
            kept = records(log)
            assert {record.key: (record.offset, record.value) for record in kept} == expected
            assert len(kept) == len(expected)
            assert log.log_end_offset == len(plan)
            assert [record.offset for record in kept] == sorted(record.offset for record in kept)

    def test_every_offset_can_be_read_after_it(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True, segment_bytes=300, index_interval_bytes=0)
        for number in range(20):
            put(log, b"k%d" % (number % 3), b"v%d" % number)
        compact(log)
        for offset in range(20):
            result = log.read(offset, 1)
            assert isinstance(result, ReadResult)
            assert result.records is not None
            ((_, found),) = iter_batches(result.records.read())
            assert found.header.last_offset >= offset

    def test_a_restart_finds_the_same(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True, segment_bytes=300)
        for number in range(20):
            put(log, b"k%d" % (number % 3), b"v%d" % number)
        compact(log)
        expected = records(log)
        log.close()
        assert records(open_partition(is_compacted=True)) == expected
        assert records(open_partition(is_compacted=True, known=Known(was_clean=False))) == expected

    def test_neighbours_are_merged_up_to_a_segments_size(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True, segment_bytes=300)
        for number in range(30):
            put(log, b"k", b"v%d" % number)
        compact(log)
        before = len(log.segments)
        log.cleaned_to = 0
        compact(log)  # what the first round has made small
        assert len(log.segments) < before
        assert all(segment.size <= 300 for segment in log.segments)

    def test_a_batch_that_can_not_be_opened_stays(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=300)
        broken = patched(batch(b"x", key=b"k"), ">h", 21, Compression.GZIP)
        assert isinstance(log.append(broken, leader_epoch=0, now=NOW), Appended)
        for number in range(5):
            put(log, b"k", b"%d" % number)
        log.config = LogConfig(is_compacted=True, segment_bytes=300)
        compact(log)
        assert bytes(broken[61:]) in log.segments[0].path.read_bytes()


class TestTombstones:
    def test_stay_for_delete_retention_ms_and_then_go(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True, delete_retention_ms=1000)
        put(log, b"k", b"v")
        put(log, b"k", None)
        put(log, b"other", b"v")
        compact(log)
        assert latest(log) == {b"k": None, b"other": b"v"}
        log.cleaned_to = 0
        put(log, b"other", b"w")
        compact(log, NOW + 999)
        assert b"k" in latest(log)
        log.cleaned_to = 0
        put(log, b"other", b"x")
        compact(log, NOW + 1000)
        assert latest(log) == {b"other": b"x"}

    def test_keep_their_own_time_under_a_delete_horizon(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True, delete_retention_ms=1000)
        put(log, b"k", None)
        compact(log, NOW + 5)
        ((_, found),) = iter_batches(log.segments[0].path.read_bytes())
        assert found.header.delete_horizon is not None
        assert found.header.base_timestamp == NOW + 1005
        assert found.records[0].timestamp == NOW


class TestTransactions:
    def play(self, log: PartitionLog, kind: MarkerType) -> None:
        for sequence, key in enumerate([b"a", b"b"]):
            data = batch(b"in", key=key, producer_id=1, sequence=sequence, is_transactional=True)
            assert isinstance(log.append(data, leader_epoch=0, now=NOW), Appended)
        log.append_marker(1, 0, Marker(kind, 0, NOW), leader_epoch=0, now=NOW, transaction_version=1)

    def test_aborted_records_go_and_committed_ones_stay(self, open_partition: OpenLog) -> None:
        for kind, kept in ((MarkerType.ABORT, {b"a": b"before"}), (MarkerType.COMMIT, {b"a": b"in", b"b": b"in"})):
            log = open_partition(is_compacted=True, delete_retention_ms=0)
            put(log, b"a", b"before")
            self.play(log, kind)
            put(log, b"z", b"last")
            compact(log)
            found = {key: value for key, value in latest(log).items() if key in (b"a", b"b")}
            assert found == kept
            for path in log.directory.iterdir():
                path.unlink()

    def test_a_consumer_still_skips_what_is_left_of_an_aborted_transaction(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True)
        self.play(log, MarkerType.ABORT)
        put(log, b"z", b"last")
        compact(log)
        result = log.read(0, 100_000, Isolation.READ_COMMITTED)
        assert isinstance(result, ReadResult)
        assert result.aborted is not None
        assert [each.producer_id for each in result.aborted] == [1]

    def test_nothing_is_cleaned_beyond_an_open_transaction(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True)
        put(log, b"a", b"1")
        log.roll(NOW)
        data = batch(b"in", key=b"a", producer_id=1, is_transactional=True)
        log.append(data, leader_epoch=0, now=NOW)
        log.roll(NOW)
        assert measure_dirt(log, NOW).first_uncleanable == 1

    def test_the_last_sequence_of_a_producer_outlives_its_records(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True)
        log.append(batch(b"1", key=b"a", producer_id=5), leader_epoch=0, now=NOW)
        put(log, b"a", b"2")
        put(log, b"z", b"last")
        compact(log)
        assert latest(log)[b"a"] == b"2"
        for snapshot in log.directory.glob("*.snapshot"):
            snapshot.unlink()
        again = open_partition(is_compacted=True, known=Known(was_clean=False))
        assert again.producers.entries[5].last_sequence == 0


class TestSchedule:
    def filled(self, open_partition: OpenLog, **configs: int | float) -> PartitionLog:
        log = open_partition(is_compacted=True, segment_bytes=300, **configs)
        for number in range(12):
            put(log, b"k", b"v%d" % number, NOW + number)
        return log

    def test_a_log_is_due_when_enough_of_it_is_dirty(self, open_partition: OpenLog) -> None:
        log = self.filled(open_partition)
        dirt = measure_dirt(log, NOW)
        assert dirt.ratio == 1.0
        assert needs_compaction(log, dirt)
        compact(log)
        assert not needs_compaction(log, measure_dirt(log, NOW))

    def test_young_records_are_left_alone(self, open_partition: OpenLog) -> None:
        log = self.filled(open_partition, min_compaction_lag_ms=1000)
        assert measure_dirt(log, NOW + 500).cleanable_bytes == 0
        assert measure_dirt(log, NOW + 5000).cleanable_bytes > 0

    def test_old_records_are_cleaned_however_few_they_are(self, open_partition: OpenLog) -> None:
        log = self.filled(open_partition, max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1.0)
        assert not needs_compaction(log, measure_dirt(log, NOW + 500))
        assert needs_compaction(log, measure_dirt(log, NOW + 2000))

    def test_only_compacted_topics_are_compacted(self, open_partition: OpenLog) -> None:
        log = self.filled(open_partition)
        log.config = LogConfig()
        assert not needs_compaction(log, measure_dirt(log, NOW))

    def test_a_step_is_about_as_large_as_asked(self, open_partition: OpenLog) -> None:
        log = self.filled(open_partition)
        compaction = Compaction(log, measure_dirt(log, NOW), NOW)
        steps = 1
        while not compaction.step(100):
            steps += 1
        assert steps > 5

    def test_appends_go_on_between_steps(self, open_partition: OpenLog) -> None:
        log = self.filled(open_partition)
        compaction = Compaction(log, measure_dirt(log, NOW), NOW)
        number = 0
        while not compaction.step(1):
            put(log, b"new%d" % number, b"v")
            number += 1
        assert {b"new%d" % each for each in range(number)} < latest(log).keys()
        assert latest(log)[b"k"] == b"v11"

    @pytest.mark.parametrize("after", range(0, 40, 3))
    def test_gives_up_when_its_segments_are_deleted_under_it(self, open_partition: OpenLog, after: int) -> None:
        log = self.filled(open_partition)
        compaction = Compaction(log, measure_dirt(log, NOW), NOW)
        is_over = any(compaction.step(1) for _ in range(after))
        log.delete_segments(1, NOW)
        while not is_over:
            is_over = compaction.step(1)
        assert not list(log.directory.glob("*.cleaned"))
        assert latest(log)[b"k"] == b"v11"

    def test_abandoning_leaves_nothing_behind(self, open_partition: OpenLog) -> None:
        log = self.filled(open_partition)
        before = records(log)
        compaction = Compaction(log, measure_dirt(log, NOW), NOW)
        for _ in range(10):
            compaction.step(1)
        assert list(log.directory.glob("*.cleaned"))
        compaction.abandon()
        assert records(log) == before
        assert not list(log.directory.glob("*.cleaned"))
