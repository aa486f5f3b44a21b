"""Rolling segments, and letting old ones go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.cluster.log.batches import NOW, batch
from tests.cluster.log.conftest import UNSYNCED, OpenLog

from doorkeeper.cluster.log.files import Disk
from doorkeeper.cluster.log.partition_log import Appended, PartitionLog
from doorkeeper.cluster.log.refusals import LogError, Refusal
from doorkeeper.cluster.log.retention import apply_retention
from doorkeeper.cluster.log.surroundings import Surroundings

SIZE = len(batch())


def put(log: PartitionLog, count: int = 1, *, timestamp: int = NOW, now: int = NOW) -> None:
    for _ in range(count):
        assert isinstance(log.append(batch(timestamp=timestamp), leader_epoch=0, now=now), Appended)


def bases(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


class TestRolling:
    def test_a_segment_is_full_at_segment_bytes(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=2 * SIZE)
        put(log, 5)
        assert bases(log) == [0, 2, 4]

    def test_a_segment_is_old_at_segment_ms(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_ms=1000)
        put(log)
        put(log, timestamp=NOW + 1000)
        assert bases(log) == [0]
        put(log, timestamp=NOW + 1001)
        assert bases(log) == [0, 2]

    def test_records_without_times_are_counted_by_the_clock(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_ms=1000)
        put(log, timestamp=-1)
        put(log, timestamp=-1, now=NOW + 1000)
        assert bases(log) == [0]
        put(log, timestamp=-1, now=NOW + 1001)
        assert bases(log) == [0, 2]

    def test_jitter_rolls_earlier(self, open_partition: OpenLog) -> None:
        near = Surroundings(disk=UNSYNCED, draw_below=lambda limit: limit - 1)
        log = open_partition(near=near, segment_ms=1000, segment_jitter_ms=101)
        put(log)
        put(log, timestamp=NOW + 900)
        assert bases(log) == [0]
        put(log, timestamp=NOW + 901)
        assert bases(log) == [0, 2]

    def test_a_full_index_rolls(self, open_partition: OpenLog) -> None:
        log = open_partition(index_interval_bytes=0, segment_index_bytes=36)
        for number in range(12):
            put(log, timestamp=NOW + number)
        assert len(log.segments) > 1
        assert all(len(segment.offset_index) * 8 <= 36 for segment in log.segments)

    def test_keeps_the_producers_as_of_each_roll(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=2 * SIZE)
        put(log, 5)
        names = sorted(path.name for path in log.directory.glob("*.snapshot"))
        assert names == ["00000000000000000002.snapshot", "00000000000000000004.snapshot"]


class TestTime:
    def test_segments_go_when_their_youngest_record_is_too_old(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=2 * SIZE, retention_ms=1000)
        for number in range(6):
            put(log, timestamp=NOW + number * 100)
        assert apply_retention(log, NOW + 1100) == 0
        assert apply_retention(log, NOW + 1101) == 1
        assert (bases(log), log.log_start_offset) == ([2, 4], 2)

    def test_all_may_go_and_an_empty_segment_stays(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=2 * SIZE, retention_ms=1000)
        put(log, 6)
        apply_retention(log, NOW + 10_000)
        assert (bases(log), log.log_start_offset, log.log_end_offset, log.size) == ([6], 6, 6, 0)
        assert apply_retention(log, NOW + 20_000) == 0
        put(log)
        assert log.log_end_offset == 7

    def test_without_a_limit_nothing_goes(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=2 * SIZE, retention_ms=-1)
        put(log, 6)
        assert apply_retention(log, NOW + 10**12) == 0

    def test_a_compacted_topic_keeps_its_old_records(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=2 * SIZE, retention_ms=1)
        put(log, 6)
        log.config = replace(log.config, is_compacted=True, is_deleted=False)
        assert apply_retention(log, NOW + 10**9) == 0
        log.config = replace(log.config, is_deleted=True)
        assert apply_retention(log, NOW + 10**9) > 0


class TestSize:
    @pytest.mark.parametrize(("limit", "left"), [(6, 3), (5, 3), (4, 2), (3, 2), (2, 1), (1, 1), (0, 1)])
    def test_segments_go_while_the_rest_is_large_enough(self, open_partition: OpenLog, limit: int, left: int) -> None:
        log = open_partition(segment_bytes=2 * SIZE, retention_bytes=limit * SIZE)
        put(log, 6)
        apply_retention(log, NOW)
        assert len(log.segments) == left
        assert log.size >= min(limit, 6) * SIZE or limit == 0


class TestDeleteRecords:
    def test_moves_the_start_and_frees_whole_segments(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=2 * SIZE)
        put(log, 6)
        assert log.delete_records(3) == 3
        assert bases(log) == [0, 2, 4]
        apply_retention(log, NOW)
        assert bases(log) == [2, 4]

    def test_minus_one_means_everything(self, log: PartitionLog) -> None:
        put(log, 3)
        assert log.delete_records(-1) == 3

    def test_never_moves_back(self, log: PartitionLog) -> None:
        put(log, 3)
        log.delete_records(2)
        assert log.delete_records(1) == 2

    @pytest.mark.parametrize("offset", [4, -2])
    def test_refuses_offsets_that_are_not_there(self, log: PartitionLog, offset: int) -> None:
        put(log, 3)
        result = log.delete_records(offset)
        assert isinstance(result, Refusal)
        assert result.code is LogError.OFFSET_OUT_OF_RANGE

    def test_refuses_compacted_topics(self, open_partition: OpenLog) -> None:
        result = open_partition(is_compacted=True, is_deleted=False).delete_records(0)
        assert isinstance(result, Refusal)
        assert result.code is LogError.POLICY_VIOLATION


class TestFiles:
    def test_are_renamed_at_once_and_removed_in_bounded_steps(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=SIZE, retention_ms=1)
        put(log, 4)
        apply_retention(log, NOW + 10_000)
        assert len(list(log.directory.glob("*.deleted"))) == 12
        assert log.reap(5) == 7
        assert len(list(log.directory.glob("*.deleted"))) == 7
        assert log.reap(100) == 0
        kept = {path.suffix for path in log.directory.iterdir() if path.name.startswith("0")}
        assert kept == {".log", ".index", ".timeindex", ".snapshot"}

    def test_a_flush_covers_everything_since_the_last(self, open_partition: OpenLog) -> None:
        synced: list[int] = []
        log = open_partition(near=Surroundings(disk=Disk(sync=synced.append)), segment_bytes=2 * SIZE)
        put(log, 6)
        synced.clear()
        log.flush(NOW)
        assert len(synced) == 9
        assert log.recovery_point == 6
        synced.clear()
        put(log)
        log.flush(NOW)
        assert len(synced) < 9
