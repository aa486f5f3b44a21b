"""After a crash: whatever was cut off, what is left is whole batches, and everything else follows from them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster.log.batches import NOW, batch
from tests.cluster.log.conftest import OpenLog, few_files

from doorkeeper.cluster.log.batch import Marker, MarkerType
from doorkeeper.cluster.log.compaction import Compaction, measure_dirt
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.partition_log import Appended, PartitionLog
from doorkeeper.cluster.log.reading import AbortedRange, Isolation, ReadResult
from doorkeeper.cluster.log.recovery import Known, open_log
from doorkeeper.errors import StorageError
from doorkeeper.wire.records import iter_batches

CRASHED = Known(was_clean=False)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("plain"), st.integers(1, 3)),
        st.tuples(st.just("data"), st.integers(1, 2)),
        st.tuples(st.just("transaction"), st.integers(1, 2)),
        st.tuples(st.sampled_from(["commit", "abort"]), st.integers(1, 2)),
    ),
    min_size=1,
    max_size=25,
)


def play(log: PartitionLog, steps: list[tuple[str, int]]) -> None:
    """Producers 1 and 2 write plainly, 11 and 12 in transactions."""
    sequences: dict[int, int] = {}
    for kind, number in steps:
        if kind == "plain":
            result = log.append(batch(*[b"x"] * number), leader_epoch=log.log_end_offset // 7, now=NOW)
        elif kind in ("commit", "abort"):
            marker = Marker(MarkerType.COMMIT if kind == "commit" else MarkerType.ABORT, 0, NOW)
            result = log.append_marker(number + 10, 0, marker, leader_epoch=log.log_end_offset // 7, now=NOW)
        else:
            producer = number + 10 * (kind == "transaction")
            sequence = sequences.get(producer, 0)
            data = batch(b"v", producer_id=producer, sequence=sequence, is_transactional=kind == "transaction")
            result = log.append(data, leader_epoch=log.log_end_offset // 7, now=NOW)
            sequences[producer] = sequence + 1
        assert isinstance(result, Appended), result


def open_at(directory: Path, known: Known, **configs: Any) -> PartitionLog:
    return open_log("t", 0, directory, LogConfig(**configs), few_files(4), known, NOW)


def state(log: PartitionLog) -> dict[str, Any]:
    """All that must follow from the log's bytes alone; of a producer's batches only the last, as snapshots have it."""
    committed = log.read(log.log_start_offset, 1_000_000, Isolation.READ_COMMITTED)
    assert isinstance(committed, ReadResult)
    return {
        "end": log.log_end_offset,
        "stable": log.last_stable_offset,
        "producers": {
            key: (entry.epoch, entry.last_sequence, entry.last_offset, entry.transaction_start, entry.last_timestamp)
            for key, entry in log.producers.entries.items()
        },
        "aborted": committed.aborted,
        "epochs": log.epochs.entries,
        "largest": [segment.largest.timestamp for segment in log.segments],
    }


def bytes_of(log: PartitionLog) -> bytes:
    return b"".join(segment.path.read_bytes() for segment in log.segments)


class TestCuts:
    @given(steps=STEPS, cut=st.floats(0, 1), junk=st.binary(max_size=80))
    @settings(max_examples=120)
    def test_any_cut_leaves_a_prefix_of_whole_batches_and_the_state_that_belongs_to_it(
        self, steps: list[tuple[str, int]], cut: float, junk: bytes
    ) -> None:
        with tempfile.TemporaryDirectory() as directory:
            crashed, replayed = Path(directory, "crashed"), Path(directory, "replayed")
            crashed.mkdir()
            replayed.mkdir()
            log = open_at(crashed, CRASHED, segment_bytes=600, index_interval_bytes=100)
            play(log, steps)
            whole = bytes_of(log)
            active = log.active.path
            keep = int(cut * active.stat().st_size)
            with active.open("r+b") as file:
                file.truncate(keep)
                file.seek(keep)
                file.write(junk)
            recovered = open_at(crashed, CRASHED, segment_bytes=600, index_interval_bytes=100)
            survived = bytes_of(recovered)
            assert whole.startswith(survived)
            batches = [found for _, found in iter_batches(survived)]
            assert recovered.log_end_offset == (batches[-1].header.next_offset if batches else 0)

            same = open_at(replayed, CRASHED, segment_bytes=600, index_interval_bytes=100)
            play(same, steps[: len(batches)])
            expected = state(same)
            found = state(recovered)
            for log_state in (expected, found):
                log_state["largest"] = max(log_state["largest"])
            assert found == expected

    @given(steps=STEPS)
    @settings(max_examples=60)
    def test_a_clean_end_and_a_crash_lead_to_the_same_log(self, steps: list[tuple[str, int]]) -> None:
        with tempfile.TemporaryDirectory() as directory:
            log = open_at(Path(directory), CRASHED, segment_bytes=600, index_interval_bytes=0)
            play(log, steps)
            expected = state(log)
            log.close()
            copy = Path(directory, "copy")
            copy.mkdir()
            shutil.copytree(Path(directory, "t-0"), copy / "t-0")
            assert state(open_at(Path(directory), Known(was_clean=True), segment_bytes=600)) == expected
            assert state(open_at(copy, CRASHED, segment_bytes=600)) == expected

    @given(steps=STEPS, recovery_point=st.integers(0, 40))
    @settings(max_examples=40)
    def test_segments_before_the_recovery_point_are_trusted(
        self, steps: list[tuple[str, int]], recovery_point: int
    ) -> None:
        with tempfile.TemporaryDirectory() as directory:
            log = open_at(Path(directory), CRASHED, segment_bytes=600, index_interval_bytes=0)
            play(log, steps)
            expected = state(log)
            point = min(recovery_point, log.log_end_offset)
            again = open_at(Path(directory), Known(was_clean=False, recovery_point=point), segment_bytes=600)
            assert state(again) == expected

    def test_a_bad_batch_in_the_middle_ends_the_log_there(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=200)
        for _ in range(9):
            log.append(batch(bytes(40)), leader_epoch=0, now=NOW)
        assert len(log.segments) > 3
        middle = log.segments[2]
        data = bytearray(middle.path.read_bytes())
        data[-1] ^= 1
        middle.path.write_bytes(data)
        again = open_partition(known=CRASHED, segment_bytes=200)
        assert [segment.base_offset for segment in again.segments] == [0, 1, 2][: len(again.segments)]
        assert again.log_end_offset < 9
        assert sorted(path.suffix for path in again.directory.iterdir()).count(".log") == len(again.segments)
        assert isinstance(again.append(batch(), leader_epoch=0, now=NOW), Appended)

    def test_a_batch_whose_offset_the_segment_can_not_hold_ends_the_log_there(self, open_partition: OpenLog) -> None:
        log = open_partition(index_interval_bytes=0)
        for _ in range(2):
            log.append(batch(), leader_epoch=0, now=NOW)
        path = log.segments[0].path
        data = bytearray(path.read_bytes())
        second = len(data) // 2
        data[second : second + 8] = (2**31).to_bytes(8, "big")  # one more than an index entry has room for
        path.write_bytes(data)
        assert open_partition(known=CRASHED, index_interval_bytes=0).log_end_offset == 1


class TestFiles:
    @pytest.mark.parametrize("name", ["partition.metadata", "leader-epoch-checkpoint"])
    def test_a_small_file_that_is_no_text_is_refused_in_a_sentence(self, open_partition: OpenLog, name: str) -> None:
        log = open_partition()
        log.close()
        (log.directory / name).write_bytes(b"version: \xff")
        with pytest.raises(StorageError, match=f"can't read .*{name}: it is not UTF-8"):
            open_partition()

    @pytest.mark.parametrize("suffix", [".index", ".timeindex"])
    @pytest.mark.parametrize("harm", ["missing", "odd", "zeros"])
    def test_a_bad_index_is_made_anew_after_a_clean_end_too(
        self, open_partition: OpenLog, suffix: str, harm: str
    ) -> None:
        log = open_partition(index_interval_bytes=0)
        for number in range(10):
            log.append(batch(timestamp=NOW + number), leader_epoch=0, now=NOW)
        log.close()
        index = log.segments[0].path.with_suffix(suffix)
        good = index.read_bytes()
        if harm == "missing":
            index.unlink()
        else:
            index.write_bytes(good[:-1] if harm == "odd" else bytes(len(good)))
        again = open_partition(index_interval_bytes=0)
        again.close()
        if not (harm == "zeros" and suffix == ".timeindex"):  # zeros are times, if unlikely ones
            assert index.read_bytes() == good
        result = again.read(7, 1)
        assert isinstance(result, ReadResult)
        assert result.records is not None

    def test_a_damaged_snapshot_costs_a_replay_and_nothing_else(self, open_partition: OpenLog) -> None:
        log = open_partition()
        log.append(batch(producer_id=1), leader_epoch=0, now=NOW)
        log.close()
        (snapshot,) = log.directory.glob("*.snapshot")
        snapshot.write_bytes(b"rubbish")
        again = open_partition()
        assert again.producers.entries[1].last_sequence == 0
        assert list(log.directory.glob("*.snapshot")) == []

    def test_aborted_transactions_are_found_again(self, open_partition: OpenLog) -> None:
        log = open_partition()
        play(log, [("transaction", 1), ("abort", 1), ("plain", 1)])
        log.segments[0].path.with_suffix(".txnindex").unlink()
        again = open_partition(known=CRASHED)
        result = again.read(0, 1000, Isolation.READ_COMMITTED)
        assert isinstance(result, ReadResult)
        assert result.aborted == (AbortedRange(11, 0),)

    def test_deleted_and_orphaned_files_are_removed(self, open_partition: OpenLog) -> None:
        log = open_partition()
        log.append(batch(), leader_epoch=0, now=NOW)
        log.close()
        for name in (
            "00000000000000000007.index",
            "00000000000000000000.log.deleted",
            "00000000000000000000.log.cleaned",
        ):
            (log.directory / name).write_bytes(b"old")
        open_partition()
        names = {path.name for path in log.directory.iterdir()}
        assert not any(name.endswith((".deleted", ".cleaned")) or "07.index" in name for name in names)

    def test_a_log_that_ends_before_its_start_begins_anew(self, open_partition: OpenLog) -> None:
        log = open_partition()
        log.append(batch(), leader_epoch=0, now=NOW)
        log.close()
        again = open_partition(known=Known(was_clean=True, log_start_offset=50))
        assert (again.log_start_offset, again.log_end_offset) == (50, 50)
        appended = again.append(batch(), leader_epoch=0, now=NOW)
        assert isinstance(appended, Appended)
        assert appended.base_offset == 50

    def test_the_log_start_is_kept(self, open_partition: OpenLog) -> None:
        log = open_partition()
        play(log, [("plain", 3)] * 3)
        log.delete_records(4)
        log.close()
        again = open_partition(known=Known(was_clean=True, log_start_offset=4))
        assert again.log_start_offset == 4

    def test_damage_in_what_was_flushed_is_not_hidden(self, open_partition: OpenLog) -> None:
        log = open_partition(segment_bytes=200)
        for sequence in range(9):
            log.append(batch(bytes(40), producer_id=1, sequence=sequence), leader_epoch=0, now=NOW)
        log.close()
        for snapshot in log.directory.glob("*.snapshot"):
            snapshot.unlink()
        first = log.segments[0].path
        data = bytearray(first.read_bytes())
        data[-1] ^= 1
        first.write_bytes(data)
        with pytest.raises(StorageError, match="is damaged at byte"):
            open_partition(known=Known(was_clean=False, recovery_point=8), segment_bytes=200)


class TestInterruptedCompaction:
    @pytest.mark.parametrize("renames", range(12))
    def test_a_crash_between_any_two_renames_loses_no_key(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
    ) -> None:
        log = open_at(tmp_path, CRASHED, segment_bytes=300, is_compacted=True)
        for number in range(12):
            log.append(batch(b"%d" % number, key=b"k%d" % (number % 3)), leader_epoch=0, now=NOW)
        log.roll(NOW)
        expected = {record.key: record.value for _, found in iter_batches(bytes_of(log)) for record in found.records}
        compaction = Compaction(log, measure_dirt(log, NOW), NOW)
        done = 0
        replace = Path.replace

        def failing(self: Path, target: Path) -> Path:
            nonlocal done
            if done == renames:
                raise KeyboardInterrupt  # the end of the process, as far as the files are concerned
            done += 1
            return replace(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", failing)
            try:
                while not compaction.step(1_000_000):
                    pass
            except KeyboardInterrupt:
                pass
        again = open_at(tmp_path, CRASHED, segment_bytes=300, is_compacted=True)
        found = {record.key: record.value for _, each in iter_batches(bytes_of(again)) for record in each.records}
        assert found == expected
        assert again.log_end_offset == 12
        assert not [path for path in again.directory.iterdir() if path.suffix in (".swap", ".cleaned", ".deleted")]


WRITER = """
import sys
from pathlib import Path
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.store import open_store
from tests.cluster.log.batches import NOW, batch
from uuid import UUID
store = open_store(Path(sys.argv[1]), lambda topic: LogConfig(), NOW)
log = store.create("t", 0, UUID(int=5), LogConfig(segment_bytes=5000), NOW)
for sequence in range(10**9):
    result = log.append(batch(producer_id=1, sequence=sequence), leader_epoch=0, now=NOW)
    print(result.base_offset, flush=True)
"""


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as writer:
        assert writer.stdout is not None
        acknowledged = -1
        for line in writer.stdout:
            acknowledged = int(line)
            if acknowledged == 500:
                writer.send_signal(signal.SIGKILL)
    log = open_log("t", 0, tmp_path, LogConfig(), few_files(4), CRASHED, NOW)
    assert log.log_end_offset > acknowledged >= 500
    assert log.producers.entries[1].last_sequence == log.log_end_offset - 1
