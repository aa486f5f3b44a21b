"""Many logs in one directory: start, background work, failures that stay where they are, and the end."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from uuid import UUID

import pytest
from tests.cluster.log.batches import NOW, batch
from tests.cluster.log.conftest import UNSYNCED

from doorkeeper.cluster.log.checkpoints import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    load_checkpoint,
    load_offsets,
    load_partition_metadata,
    save_clean_shutdown,
    take_clean_shutdown,
)
from doorkeeper.cluster.log.config import LogConfig, parse_log_config
from doorkeeper.cluster.log.files import Disk, OpenFiles, deleted_directory, parse_partition_directory
from doorkeeper.cluster.log.partition_log import Appended, PartitionLog
from doorkeeper.cluster.log.reading import ReadResult
from doorkeeper.cluster.log.refusals import LogError, Refusal
from doorkeeper.cluster.log.store import Intervals, LogStore, open_store
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.errors import StorageError
from doorkeeper.wire.compression import Compression

TOPIC_ID = UUID(int=77)
SMALL = LogConfig(segment_bytes=200, retention_ms=1000)


def open_at(path: Path, config: LogConfig | None = None, near: Surroundings | None = None) -> LogStore:
    return open_store(path, lambda topic: config or LogConfig(), NOW, near or Surroundings(disk=UNSYNCED))


def put(log: PartitionLog, count: int = 1, *, key: bytes | None = None, timestamp: int = NOW) -> None:
    for number in range(count):
        data = batch(b"%d" % number, key=key, timestamp=timestamp)
        assert isinstance(log.append(data, leader_epoch=0, now=NOW), Appended)


def run(store: LogStore, now: int) -> int:
    """Step until nothing is left to do; returns how many steps that took."""
    steps = 1
    while store.step(now, 200):
        steps += 1
        assert steps < 10_000
    return steps


class TestPartitions:
    def test_a_new_one_has_its_directory_and_topic_id(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        log = store.create("my-topic", 3, TOPIC_ID, LogConfig(), NOW)
        assert store.get("my-topic", 3) is log
        assert load_partition_metadata(tmp_path / "my-topic-3") == TOPIC_ID
        assert store.create("my-topic", 3, TOPIC_ID, LogConfig(), NOW) is log
        assert len(store) == 1

    def test_one_without_records_has_no_snapshot(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        log = store.create("a", 0, TOPIC_ID, LogConfig(), NOW)
        store.close(NOW)
        names = sorted(path.name for path in log.directory.iterdir())
        base = "0" * 20
        assert names == [f"{base}.index", f"{base}.log", f"{base}.timeindex", "partition.metadata"]

    def test_are_found_again_with_everything(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        put(store.create("a", 0, TOPIC_ID, LogConfig(), NOW), 3)
        put(store.create("a", 1, TOPIC_ID, LogConfig(), NOW), 5)
        store.close(NOW)
        again = open_at(tmp_path)
        assert {log.name: log.log_end_offset for log in again} == {"a-0": 3, "a-1": 5}
        assert [log.topic_id for log in again] == [TOPIC_ID, TOPIC_ID]

    def test_the_metadata_log_is_none_of_them(self, tmp_path: Path) -> None:
        (tmp_path / "__cluster_metadata-0").mkdir()
        (tmp_path / "something").mkdir()
        assert len(open_at(tmp_path)) == 0

    def test_a_broken_one_leaves_the_others_alone(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        for partition in (0, 1):
            put(store.create("a", partition, TOPIC_ID, LogConfig(), NOW))
        store.close(NOW)
        (tmp_path / "a-0" / "leader-epoch-checkpoint").write_text("99\n0\n")
        again = open_at(tmp_path)
        assert [log.name for log in again] == ["a-1"]
        assert "version" in again.broken["a", 0]

    def test_deletion_frees_every_file(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        log = store.create("a", 0, TOPIC_ID, SMALL, NOW)
        put(log, 30)
        told: list[bool] = []
        log.waiters.add(lambda: told.append(True))
        store.delete("a", 0)
        assert told == [True]
        assert store.get("a", 0) is None
        assert [path.name[-7:] for path in tmp_path.iterdir()] == ["-delete"]
        assert isinstance(log.append(batch(), leader_epoch=0, now=NOW), Refusal)
        run(store, NOW)
        assert list(tmp_path.iterdir()) == []
        assert store.create("a", 0, UUID(int=78), LogConfig(), NOW).log_end_offset == 0

    def test_deletion_goes_on_after_a_restart(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        put(store.create("a", 0, TOPIC_ID, LogConfig(), NOW))
        store.delete("a", 0)
        again = open_at(tmp_path)
        assert len(again) == 0
        run(again, NOW)
        assert list(tmp_path.iterdir()) == []

    def test_one_that_can_not_be_renamed_is_left_as_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = open_at(tmp_path)
        log = store.create("a", 0, TOPIC_ID, LogConfig(), NOW)

        def refuse(_self: Path, _target: Path) -> Path:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", refuse)
            with pytest.raises(StorageError):
                store.delete("a", 0)
        assert store.get("a", 0) is log
        put(log)
        store.delete("a", 0)
        assert store.get("a", 0) is None

    def test_half_a_log_is_not_left_behind(self, tmp_path: Path) -> None:
        def refuse(_descriptor: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        store = open_store(tmp_path, lambda _: LogConfig(), NOW, Surroundings(disk=Disk(sync=refuse)))
        with pytest.raises(StorageError):
            store.create("a", 0, TOPIC_ID, LogConfig(), NOW)
        assert list(tmp_path.iterdir()) == []
        assert store.get("a", 0) is None

    def test_deleting_what_is_not_there_is_no_error(self, tmp_path: Path) -> None:
        open_at(tmp_path).delete("a", 0)

    def test_a_deleted_directory_never_has_too_long_a_name(self) -> None:
        name = deleted_directory("t" * 249, 123, TOPIC_ID)
        assert len(name) == 255
        assert name.endswith("-delete")

    @pytest.mark.parametrize(
        ("name", "key"),
        [("a-0", ("a", 0)), ("a-b-12", ("a-b", 12)), ("a", None), ("-1", None), ("a-", None), ("a-1x", None)],
    )
    def test_directories_tell_topic_and_partition(self, name: str, key: tuple[str, int] | None) -> None:
        assert parse_partition_directory(name) == key


class TestBackground:
    def test_retention_comes_round_and_frees_files(self, tmp_path: Path) -> None:
        store = open_at(tmp_path, SMALL)
        log = store.create("a", 0, TOPIC_ID, SMALL, NOW)
        put(log, 20)
        run(store, NOW)
        assert log.log_start_offset == 0
        run(store, NOW + 300_000)
        assert log.log_start_offset == 20
        assert not list(log.directory.glob("*.deleted"))

    def test_compaction_takes_the_dirtiest_log_first_and_all_in_the_end(self, tmp_path: Path) -> None:
        config = LogConfig(segment_bytes=200, is_compacted=True, is_deleted=False)
        store = open_at(tmp_path, config)
        logs = [store.create("a", partition, TOPIC_ID, config, NOW) for partition in range(3)]
        for log in logs:
            put(log, 20, key=b"k")
        sizes = [log.size for log in logs]
        run(store, NOW + 15_000)
        assert all(log.size < size for log, size in zip(logs, sizes, strict=True))
        assert all(log.cleaned_to > 0 for log in logs)

    def test_a_log_can_be_deleted_while_it_is_compacted(self, tmp_path: Path) -> None:
        config = LogConfig(segment_bytes=200, is_compacted=True)
        store = open_at(tmp_path, config)
        put(store.create("a", 0, TOPIC_ID, config, NOW), 20, key=b"k")
        for _ in range(12):
            store.step(NOW + 15_000, 1)
        store.delete("a", 0)
        run(store, NOW + 15_000)
        assert [path for path in tmp_path.iterdir() if path.is_dir()] == []

    def test_says_when_it_wants_to_be_called_again(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        store.create("a", 0, TOPIC_ID, LogConfig(), NOW)
        assert store.next_due() == NOW + 15_000
        assert store.step(NOW) is False
        store.delete("a", 0)
        assert store.next_due() == 0

    def test_flush_ms_is_kept(self, tmp_path: Path) -> None:
        config = LogConfig(flush_ms=5000)
        store = open_at(tmp_path, config)
        log = store.create("a", 0, TOPIC_ID, config, NOW)
        put(log)
        store.step(NOW + 4999)
        assert log.recovery_point == 0
        assert store.next_due() == NOW + 5999
        store.step(NOW + 5999)
        assert log.recovery_point == 1
        store.set_config("a", LogConfig())
        store.step(NOW + 6999)
        assert store.next_due() > NOW + 7999

    def test_silent_producers_are_forgotten(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        log = store.create("a", 0, TOPIC_ID, LogConfig(), NOW)
        log.append(batch(producer_id=1), leader_epoch=0, now=NOW)
        store.step(NOW + 86_400_000)
        assert log.producers.entries == {}

    def test_changed_configs_reach_every_partition_of_the_topic(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        a, b = (store.create(topic, 0, TOPIC_ID, LogConfig(), NOW) for topic in "ab")
        store.set_config("a", SMALL)
        assert (a.config, b.config) == (SMALL, LogConfig())


class TestFlushing:
    def rolled(self, tmp_path: Path, disk: Disk) -> tuple[LogStore, PartitionLog]:
        store = open_at(tmp_path, SMALL, Surroundings(disk=disk))
        log = store.create("a", 0, TOPIC_ID, SMALL, NOW)
        put(log, 10)
        assert len(log.segments) > 3
        return store, log

    def test_rolled_segments_are_flushed_and_need_no_recovery(self, tmp_path: Path) -> None:
        flushed: set[str] = set()
        disk = Disk(sync=lambda descriptor: flushed.add(Path(f"/proc/self/fd/{descriptor}").resolve().name))
        store, log = self.rolled(tmp_path, disk)
        (job,) = store.flush_jobs()
        put(log, 10)  # meanwhile
        job.run()
        assert log.recovery_point == 0
        job.finish()
        assert 0 < log.recovery_point < log.active.base_offset
        if Path("/proc/self/fd").exists():
            assert {f"{segment.base_offset:020d}.log" for segment in log.segments[:3]} <= flushed
            assert f"{log.recovery_point:020d}.snapshot" in flushed
        (rest,) = store.flush_jobs()
        rest.run()
        rest.finish()
        assert store.flush_jobs() == []
        assert log.recovery_point == log.active.base_offset

    def test_segments_may_be_deleted_meanwhile(self, tmp_path: Path) -> None:
        store, log = self.rolled(tmp_path, UNSYNCED)
        (job,) = store.flush_jobs()
        log.delete_segments(2, NOW)
        log.reap(100)
        job.run()
        job.finish()
        assert log.offline is None

    def test_a_failing_flush_takes_the_log_offline(self, tmp_path: Path) -> None:
        is_broken = False

        def sync(_: int) -> None:
            if is_broken:
                raise OSError(5, "Input/output error")

        store, log = self.rolled(tmp_path, Disk(sync=sync))
        (job,) = store.flush_jobs()
        is_broken = True
        job.run()
        assert log.offline is None
        job.finish()
        assert log.offline is not None
        assert log.recovery_point == 0
        assert store.flush_jobs() == []


class TestFailures:
    def test_a_full_disk_stops_one_log_and_no_other(self, tmp_path: Path) -> None:
        full: set[int] = set()

        def write(descriptor: int, data: bytes | bytearray | memoryview) -> int:
            if os.fstat(descriptor).st_ino in full:
                raise OSError(28, "No space left on device")
            return os.write(descriptor, data)

        store = open_at(tmp_path, near=Surroundings(disk=Disk(write=write, sync=lambda _: None)))
        first, second = (store.create("a", partition, TOPIC_ID, LogConfig(), NOW) for partition in (0, 1))
        put(first)
        put(second)
        full.add(first.active.path.stat().st_ino)
        refusal = first.append(batch(), leader_epoch=0, now=NOW)
        assert isinstance(refusal, Refusal)
        assert refusal.code is LogError.KAFKA_STORAGE_ERROR
        put(second, 3)
        run(store, NOW + 10**6)
        store.close(NOW)
        assert not (tmp_path / CLEAN_SHUTDOWN).exists()
        again = open_at(tmp_path)
        assert {log.name: log.log_end_offset for log in again} == {"a-0": 1, "a-1": 4}

    def test_a_failing_compaction_takes_its_log_offline(self, tmp_path: Path) -> None:
        broken = False

        def write(descriptor: int, data: bytes | bytearray | memoryview) -> int:
            if broken:
                raise OSError(5, "Input/output error")
            return os.write(descriptor, data)

        config = LogConfig(segment_bytes=200, is_compacted=True)
        near = Surroundings(disk=Disk(write=write, sync=lambda _: None))
        store = open_at(tmp_path, config, near)
        log = store.create("a", 0, TOPIC_ID, config, NOW)
        put(log, 20, key=b"k")
        broken = True
        run(store, NOW + 15_000)
        assert log.offline is not None
        assert not list(log.directory.glob("*.cleaned"))


class TestDescriptors:
    def test_idle_logs_hold_none(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        for partition in range(20):
            store.create("a", partition, TOPIC_ID, LogConfig(), NOW)
        store.close(NOW)
        files = OpenFiles()
        again = open_at(tmp_path, near=Surroundings(disk=UNSYNCED, files=files))
        assert len(again) == 20
        assert len(files) == 0

    def test_busy_logs_share_a_few(self, tmp_path: Path) -> None:
        files = OpenFiles(4)
        store = open_at(tmp_path, near=Surroundings(disk=UNSYNCED, files=files))
        logs = [store.create("a", partition, TOPIC_ID, LogConfig(), NOW) for partition in range(20)]
        before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else None
        for _ in range(3):
            for log in logs:
                put(log)
        for log in logs:
            result = log.read(0, 10_000)
            assert isinstance(result, ReadResult)
            assert result.records is not None
            assert len(result.records.read()) == log.size
        del result
        assert len(files) == 4
        if before is not None:
            assert len(os.listdir("/proc/self/fd")) <= before + 4


class TestCheckpoints:
    def test_are_kafkas(self, tmp_path: Path) -> None:
        config = LogConfig(segment_bytes=200, is_compacted=True)
        store = open_at(tmp_path, config)
        log = store.create("a-b", 1, TOPIC_ID, config, NOW)
        put(log, 20, key=b"k")
        log.delete_records(3)
        run(store, NOW + 15_000)
        log.flush(NOW)
        store.checkpoint()
        assert (tmp_path / RECOVERY_POINTS).read_text() == "0\n1\na-b 1 20\n"
        assert load_offsets(tmp_path / HIGH_WATERMARKS) == {("a-b", 1): 20}
        assert load_offsets(tmp_path / LOG_START_OFFSETS) == {("a-b", 1): 3}
        assert load_offsets(tmp_path / CLEANER_OFFSETS) == {("a-b", 1): log.cleaned_to}
        again = open_at(tmp_path, config)
        (found,) = again
        assert (found.log_start_offset, found.cleaned_to, found.recovery_point) == (3, log.cleaned_to, 20)

    def test_a_damaged_one_is_as_good_as_none(self, tmp_path: Path) -> None:
        store = open_at(tmp_path)
        put(store.create("a", 0, TOPIC_ID, LogConfig(), NOW))
        store.close(NOW)
        for name in (RECOVERY_POINTS, LOG_START_OFFSETS, CLEANER_OFFSETS):
            (tmp_path / name).write_text("0\n7\nrubbish")
        (log,) = open_at(tmp_path)
        assert log.log_end_offset == 1

    @pytest.mark.parametrize("text", ["1\n0\n", "0\n2\na 0 5\n", "0\n", "x"])
    def test_bad_ones_are_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "file").write_text(text)
        with pytest.raises(StorageError):
            load_checkpoint(tmp_path / "file")

    @pytest.mark.parametrize("text", [None, "", "0\n0\n"])
    def test_empty_ones_are_empty(self, tmp_path: Path, text: str | None) -> None:
        if text is not None:
            (tmp_path / "file").write_text(text)
        assert load_checkpoint(tmp_path / "file") == []

    def test_a_clean_shutdown_is_believed_once(self, tmp_path: Path) -> None:
        assert take_clean_shutdown(tmp_path) is None
        save_clean_shutdown(tmp_path, 42, UNSYNCED)
        assert take_clean_shutdown(tmp_path) == 42
        assert take_clean_shutdown(tmp_path) is None
        (tmp_path / CLEAN_SHUTDOWN).write_text("rubbish")
        assert take_clean_shutdown(tmp_path) == -1

    def test_come_round_by_themselves(self, tmp_path: Path) -> None:
        store = open_store(tmp_path, lambda _: SMALL, NOW, Surroundings(disk=UNSYNCED), Intervals(checkpoint=10))
        store.create("a", 0, TOPIC_ID, SMALL, NOW)
        store.step(NOW + 10)
        assert (tmp_path / RECOVERY_POINTS).exists()


class TestConfigs:
    def test_defaults_are_kafkas(self) -> None:
        assert parse_log_config({}) == LogConfig()

    def test_every_config_is_read(self) -> None:
        config = parse_log_config(
            {
                "cleanup.policy": "compact",
                "compression.type": "zstd",
                "compression.zstd.level": "7",
                "segment.bytes": "2000000",
                "message.timestamp.type": "LogAppendTime",
                "retention.ms": "-1",
                "min.cleanable.dirty.ratio": "0.1",
                "retention.bytes": None,
                "no.such.key": "x",
            }
        )
        assert (config.is_compacted, config.is_deleted) == (True, False)
        assert (config.compression, config.compression_level) == (Compression.ZSTD, 7)
        assert (config.segment_bytes, config.is_log_append_time, config.retention_ms) == (2_000_000, True, -1)
        assert (config.min_cleanable_dirty_ratio, config.retention_bytes) == (0.1, -1)

    def test_neither_policy_keeps_everything(self) -> None:
        config = parse_log_config({"cleanup.policy": ""})
        assert (config.is_compacted, config.is_deleted) == (False, False)

    @pytest.mark.parametrize(("name", "expected"), [("uncompressed", Compression.NONE), ("producer", None)])
    def test_two_codecs_are_none(self, name: str, expected: Compression | None) -> None:
        assert parse_log_config({"compression.type": name}).compression is expected

    def test_internal_segment_bytes_may_be_small(self) -> None:
        assert parse_log_config({"internal.segment.bytes": "100"}).segment_bytes == 100

    def test_a_value_that_no_topic_can_have_leaves_the_default(self, caplog: pytest.LogCaptureFixture) -> None:
        assert parse_log_config({"segment.bytes": "5", "flush.ms": "-1"}) == LogConfig()
        assert "flush.ms: Value must be at least 0; its default is in force instead" in caplog.text

    def test_a_brokers_negative_retention_is_no_limit(self) -> None:
        assert parse_log_config({"retention.ms": "-5"}).retention_ms == -1

    def test_a_compacted_topic_rolls_in_time_for_its_largest_lag(self) -> None:
        assert LogConfig(is_compacted=True, max_compaction_lag_ms=5).max_segment_ms == 5
        assert LogConfig(max_compaction_lag_ms=5).max_segment_ms == 604_800_000
