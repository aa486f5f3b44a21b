"""Reading by offset and by time, against the simplest model that there is."""

from __future__ import annotations

import os
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster.log.batches import NOW, batch
from tests.cluster.log.conftest import OpenLog, few_files

from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.reading import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    FoundOffset,
    Isolation,
    ReadResult,
)
from doorkeeper.cluster.log.recovery import Known, open_log
from doorkeeper.cluster.log.refusals import LogError, Refusal
from doorkeeper.cluster.log.retention import apply_retention
from doorkeeper.wire.records import iter_batches

BATCHES = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 50), st.integers(0, 400)), min_size=1, max_size=40)
"""Records, minutes and bytes of each batch."""


def fill(log: PartitionLog, plan: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Append batches; returns offset and time of every record."""
    model = []
    for count, minutes, size in plan:
        timestamp = NOW + minutes
        offset = log.log_end_offset
        log.append(batch(*[bytes(size)] * count, timestamp=timestamp), leader_epoch=1, now=NOW)
        model += [(offset + place, timestamp) for place in range(count)]
    return model


def read(log: PartitionLog, offset: int, max_bytes: int = 100_000, *, at_least_one: bool = True) -> ReadResult:
    result = log.read(offset, max_bytes, at_least_one=at_least_one)
    assert isinstance(result, ReadResult), result
    return result


def fresh(directory: str, segment_bytes: int, index_interval_bytes: int) -> PartitionLog:
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=index_interval_bytes)
    return open_log("t", 0, Path(directory), config, few_files(2), Known(was_clean=True), NOW)


class TestByOffset:
    @given(plan=BATCHES, segment_bytes=st.sampled_from([3000, 10_000]), interval=st.sampled_from([0, 200, 4096]))
    @settings(max_examples=50)
    def test_a_read_begins_with_the_batch_that_holds_the_offset(
        self, plan: list[tuple[int, int, int]], segment_bytes: int, interval: int
    ) -> None:
        with tempfile.TemporaryDirectory() as directory:
            log = fresh(directory, segment_bytes=segment_bytes, index_interval_bytes=interval)
            for offset, _ in fill(log, plan):
                records = read(log, offset, 1).records
                assert records is not None
                ((_, found),) = iter_batches(records.read())
                assert found.header.base_offset <= offset <= found.header.last_offset

    @given(plan=BATCHES, max_bytes=st.integers(0, 3000))
    @settings(max_examples=50)
    def test_reading_on_from_the_last_offset_gives_everything_once(
        self, plan: list[tuple[int, int, int]], max_bytes: int
    ) -> None:
        with tempfile.TemporaryDirectory() as directory:
            log = fresh(directory, segment_bytes=3000, index_interval_bytes=100)
            model = fill(log, plan)
            seen: list[int] = []
            offset = 0
            while offset < log.log_end_offset:
                records = read(log, offset, max_bytes).records
                assert records is not None
                data = records.read()
                for header in _whole_headers(data):
                    seen += range(header[0], header[1] + 1)
                    offset = header[1] + 1
            assert seen == [offset for offset, _ in model]

    def test_gives_at_least_one_batch_however_large(self, log: PartitionLog) -> None:
        data = batch(bytes(5000))
        log.append(data, leader_epoch=0, now=NOW)
        small = read(log, 0, 10).records
        assert small is not None
        assert small.length == len(data)
        cut = read(log, 0, 10, at_least_one=False).records
        assert cut is not None
        assert cut.length == 10

    def test_gives_nothing_at_the_end(self, log: PartitionLog) -> None:
        fill(log, [(2, 0, 10)])
        assert read(log, 2).records is None

    @pytest.mark.parametrize("offset", [-1, 0, 1, 5, 100])
    def test_refuses_offsets_before_the_start_and_beyond_the_end(self, log: PartitionLog, offset: int) -> None:
        fill(log, [(1, 0, 10)] * 4)
        log.delete_records(2)
        result = log.read(offset, 100)
        assert isinstance(result, Refusal)
        assert result.code is LogError.OFFSET_OUT_OF_RANGE

    @pytest.mark.parametrize("offset", [2, 3, 4])
    def test_takes_offsets_from_the_start_to_the_end(self, log: PartitionLog, offset: int) -> None:
        fill(log, [(1, 0, 10)] * 4)
        log.delete_records(2)
        read(log, offset)

    def test_a_slice_can_be_read_after_its_file_was_let_go_and_deleted(self, open_partition: OpenLog) -> None:
        log = open_partition(near=few_files(1), segment_bytes=300, retention_ms=0)
        fill(log, [(1, 0, 100)] * 10)
        held = read(log, 0).records
        assert held is not None
        before = held.read()
        read(log, 9)
        apply_retention(log, NOW + 10**9)
        log.reap(1000)
        assert log.log_start_offset == 10
        assert held.read() == before
        assert os.fstat(held.file.fileno()).st_nlink == 0

    def test_the_answer_carries_all_offsets(self, log: PartitionLog) -> None:
        fill(log, [(3, 0, 10)])
        log.delete_records(1)
        result = read(log, 1)
        assert (result.log_start_offset, result.high_watermark, result.last_stable_offset) == (1, 3, 3)


def _whole_headers(data: bytes) -> list[tuple[int, int]]:
    """First and last offsets of the batches that are not cut off."""
    found, position = [], 0
    while len(data) - position >= 61:
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        if position + size > len(data):
            break
        base = int.from_bytes(data[position : position + 8], "big")
        found.append((base, base + int.from_bytes(data[position + 23 : position + 27], "big")))
        position += size
    return found


class TestByTime:
    @given(plan=BATCHES, minutes=st.integers(-1, 51), start=st.integers(0, 20))
    @settings(max_examples=60)
    def test_finds_the_first_record_at_or_after_a_time(
        self, plan: list[tuple[int, int, int]], minutes: int, start: int
    ) -> None:
        with tempfile.TemporaryDirectory() as directory:
            log = fresh(directory, segment_bytes=3000, index_interval_bytes=100)
            model = fill(log, plan)
            log.delete_records(min(start, log.log_end_offset))
            expected = _first_in_its_segment(log, model, NOW + minutes)
            assert log.offset_for_time(NOW + minutes) == expected

    @given(plan=BATCHES)
    @settings(max_examples=50)
    def test_finds_the_largest_time(self, plan: list[tuple[int, int, int]]) -> None:
        with tempfile.TemporaryDirectory() as directory:
            log = fresh(directory, segment_bytes=3000, index_interval_bytes=100)
            model = fill(log, plan)
            largest = max(time for _, time in model)
            first = min(offset for offset, time in model if time == largest)
            assert log.offset_for_time(MAX_TIMESTAMP) == FoundOffset(first, largest, 1)

    def test_knows_the_ends(self, log: PartitionLog) -> None:
        fill(log, [(4, 0, 10)])
        log.delete_records(1)
        assert log.offset_for_time(EARLIEST_TIMESTAMP) == FoundOffset(1, -1, 1)
        assert log.offset_for_time(EARLIEST_LOCAL_TIMESTAMP) == FoundOffset(1, -1, 1)
        assert log.offset_for_time(LATEST_TIMESTAMP) == FoundOffset(4, -1, 1)

    @pytest.mark.parametrize("timestamp", [LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP])
    def test_has_nothing_in_tiered_storage(self, log: PartitionLog, timestamp: int) -> None:
        fill(log, [(4, 0, 10)])
        assert log.offset_for_time(timestamp) == FoundOffset(-1, -1, -1)

    def test_an_empty_log_has_no_times(self, log: PartitionLog) -> None:
        assert log.offset_for_time(MAX_TIMESTAMP) is None
        assert log.offset_for_time(NOW) is None

    def test_read_committed_sees_nothing_beyond_the_last_stable_offset(self, log: PartitionLog) -> None:
        log.append(batch(timestamp=NOW), leader_epoch=0, now=NOW)
        log.append(batch(timestamp=NOW + 1, producer_id=1, is_transactional=True), leader_epoch=0, now=NOW)
        assert log.offset_for_time(LATEST_TIMESTAMP, Isolation.READ_COMMITTED) == FoundOffset(1, -1, 0)
        assert log.offset_for_time(NOW + 1, Isolation.READ_COMMITTED) is None
        assert log.offset_for_time(NOW + 1) == FoundOffset(1, NOW + 1, 0)


def _first_in_its_segment(log: PartitionLog, model: list[tuple[int, int]], time: int) -> FoundOffset | None:
    """Kafka looks into the first segment that reaches the time, and into no other."""
    bases = [segment.base_offset for segment in log.segments] + [log.log_end_offset]
    for base, end in pairwise(bases):
        inside = [(offset, at) for offset, at in model if base <= offset < end]
        if inside and max(at for _, at in inside) >= time:
            found = [pair for pair in inside if pair[1] >= time and pair[0] >= log.log_start_offset]
            return FoundOffset(*found[0], 1) if found else None
    return None


class TestLeaderEpochs:
    def test_an_epoch_ends_where_the_next_begins(self, log: PartitionLog) -> None:
        for epoch in (2, 2, 5):
            log.append(batch(), leader_epoch=epoch, now=NOW)
        assert log.epoch_end_offset(2) == (2, 2)
        assert log.epoch_end_offset(3) == (2, 2)
        assert log.epoch_end_offset(5) == (5, 3)
        assert log.epoch_end_offset(1) == (1, 0)
        assert log.epoch_end_offset(6) == (-1, -1)
        assert log.epoch_end_offset(-1) == (-1, -1)

    def test_epochs_survive_restarts_and_deletions(self, log: PartitionLog, open_partition: OpenLog) -> None:
        for epoch in (2, 4, 4, 5):
            log.append(batch(), leader_epoch=epoch, now=NOW)
        log.delete_records(2)
        log.close()
        again = open_partition(known=Known(was_clean=True, log_start_offset=2))
        assert again.epochs.entries == ((4, 2), (5, 3))
        assert again.epochs.epoch_for(2) == 4
        assert again.epochs.epoch_for(1) == -1
