"""The metadata log on disk: what is acknowledged is there after any crash, and nothing else is."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cluster.image.samples import LEVEL, SCRAM

from doorkeeper.cluster import segment
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.log_dir import (
    MetaProperties,
)
from doorkeeper.cluster.metadata_log import KEPT_SNAPSHOTS, MAX_BATCH_BYTES, MAX_EPOCH, MetadataLog
from doorkeeper.cluster.snapshot import SnapshotId, list_snapshots, read_snapshot, write_snapshot
from doorkeeper.errors import RecordError, ReplayError, StorageError
from doorkeeper.wire.metadata import types
from doorkeeper.wire.metadata.serde import UnknownRecord, VersionedRecord, write_metadata_record
from doorkeeper.wire.records import Record, iter_batches, read_batch, write_batch

KAFKA_LOG_DIR = Path(__file__).parents[1] / "vectors" / "metadata-log-4.3.1"
NOW = 1_700_000_000_000
IDENTITY = MetaProperties("a-cluster", 1, UUID(int=7))
SEGMENT = "00000000000000000000.log"


def config(number: int) -> VersionedRecord:
    record = types.ConfigRecord(resource_type=2, resource_name="t", name=f"key-{number}", value=str(number))
    return VersionedRecord(record, 0)


def keys(image: MetadataImage) -> set[int]:
    """The numbers of the decisions that an image contains."""
    return {int(value) for value in image.configs.of(2, "t").values()}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "__cluster_metadata-0"


@pytest.fixture
def log(directory: Path) -> Iterator[MetadataLog]:
    log = MetadataLog(directory, 1)
    log.begin_epoch(NOW)
    log.stage([VersionedRecord(LEVEL, 0)], NOW)
    log.commit()
    yield log
    log.close()


def decide(log: MetadataLog, *numbers: int) -> None:
    for number in numbers:
        log.stage([config(number)], NOW)
        log.commit()


def reopen(directory: Path) -> MetadataLog:
    return MetadataLog(directory, 1)


class TestAppending:
    def test_a_decision_is_one_batch_and_there_after_a_restart(self, log: MetadataLog, directory: Path) -> None:
        log.stage([config(1), config(2)], NOW + 5)
        image = log.commit()
        assert keys(image) == {1, 2}
        batches = [batch for _, batch in iter_batches((directory / SEGMENT).read_bytes())]
        assert [batch.header.count for batch in batches] == [1, 1, 2]
        assert batches[-1].header.leader_epoch == 1
        assert [record.timestamp for record in batches[-1].records] == [NOW + 5] * 2
        assert reopen(directory).image == image

    def test_nothing_is_published_before_it_is_flushed(self, log: MetadataLog, directory: Path) -> None:
        size = (directory / SEGMENT).stat().st_size
        staged = log.stage([config(1)], NOW)
        assert keys(staged) == keys(log.staged_image) == {1}
        assert keys(log.image) == set()
        assert (directory / SEGMENT).stat().st_size == size

    def test_many_decisions_cost_one_write_and_one_flush(
        self, log: MetadataLog, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        flushes: list[int] = []
        monkeypatch.setattr(segment, "sync_file", flushes.append)
        for number in range(5):
            assert keys(log.stage([config(number)], NOW)) == set(range(number + 1))
        log.commit()
        assert len(flushes) == 1
        assert keys(reopen(directory).image) == set(range(5))

    def test_the_next_decisions_may_be_staged_while_others_are_flushed(self, log: MetadataLog, directory: Path) -> None:
        log.stage([config(1)], NOW)
        sealed = log.seal()
        assert sealed is not None
        log.stage([config(2)], NOW)
        log.flush(sealed)
        assert keys(log.publish(sealed)) == {1}
        assert keys(log.commit()) == {1, 2}
        assert keys(reopen(directory).image) == {1, 2}

    def test_commit_of_nothing_writes_nothing(self, log: MetadataLog, directory: Path) -> None:
        size = (directory / SEGMENT).stat().st_size
        assert log.commit() is log.image
        assert log.seal() is None
        assert (directory / SEGMENT).stat().st_size == size

    def test_a_record_that_contradicts_the_image_is_refused_alone(self, log: MetadataLog) -> None:
        log.stage([config(1)], NOW)
        with pytest.raises(ReplayError):
            log.stage([config(2), VersionedRecord(types.FenceBrokerRecord(id=9, epoch=9), 0)], NOW)
        with pytest.raises(RecordError):
            log.stage([VersionedRecord(types.NoOpRecord(), 9)], NOW)
        with pytest.raises(RecordError, match="at least one record"):
            log.stage([], NOW)
        log.stage([config(3)], NOW)
        assert keys(log.commit()) == {1, 3}

    def test_a_decision_too_large_for_kafkas_readers_is_refused(self, log: MetadataLog) -> None:
        huge = types.ConfigRecord(resource_type=2, resource_name="t", name="x", value="v" * MAX_BATCH_BYTES)
        with pytest.raises(RecordError, match=f"takes {MAX_BATCH_BYTES}"):
            log.stage([VersionedRecord(huge, 0)], NOW)
        assert log.seal() is None


class TestEpochs:
    def test_every_start_begins_a_new_one(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1)
        log.close()
        again = reopen(directory)
        assert again.epoch == 1
        assert again.begin_epoch(NOW) == 2
        decide(again, 2)
        assert again.image.provenance.epoch == 2
        assert (directory / "leader-epoch-checkpoint").read_text() == "0\n2\n1 0\n2 3\n"
        assert (directory / "quorum-state").read_text() == (
            '{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
            '"currentVoters":[{"voterId":1}],"data_version":0}'
        )
        assert (directory / "partition.metadata").read_text() == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"

    def test_an_epoch_that_was_promised_is_never_used_again(self, log: MetadataLog, directory: Path) -> None:
        (directory / "quorum-state").write_text('{"leaderEpoch": 9}')
        assert reopen(directory).begin_epoch(NOW) == 10

    def test_refuses_a_directory_whose_epoch_is_the_last_there_can_be(self, log: MetadataLog) -> None:
        log.epoch = MAX_EPOCH - 1
        assert log.begin_epoch(NOW) == MAX_EPOCH
        with pytest.raises(StorageError, match="no epoch can follow 2147483647"):
            log.begin_epoch(NOW)

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"leaderEpoch":"x"}', "\ufffd"])
    def test_refuses_a_damaged_quorum_state(self, log: MetadataLog, directory: Path, text: str) -> None:
        (directory / "quorum-state").write_text(text)
        with pytest.raises(StorageError, match="does not say its leaderEpoch"):
            reopen(directory)


class TestTornTail:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(groups=st.lists(st.integers(1, 3), min_size=1, max_size=4), data=st.data())
    def test_any_prefix_of_the_bytes_recovers_to_a_prefix_of_the_decisions(
        self, tmp_path_factory: pytest.TempPathFactory, groups: list[int], data: st.DataObject
    ) -> None:
        directory = tmp_path_factory.mktemp("log")
        log = MetadataLog(directory, 1)
        log.begin_epoch(NOW)
        number = 0
        ends = [(directory / SEGMENT).stat().st_size]
        for group in groups:
            for _ in range(group):
                log.stage([config(number), config(number)], NOW)
                number += 1
            log.commit()
            ends.append((directory / SEGMENT).stat().st_size)
        log.close()
        whole = (directory / SEGMENT).read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        (directory / SEGMENT).write_bytes(whole[:cut])
        again = reopen(directory)
        acknowledged = sum(groups[: sum(end <= cut for end in ends[1:])])
        found = keys(again.image)
        assert found == set(range(len(found)))
        assert len(found) >= acknowledged
        again.begin_epoch(NOW)
        decide(again, 99)
        again.close()
        assert keys(reopen(directory).image) == found | {99}

    def test_says_how_many_bytes_it_cut(
        self, log: MetadataLog, directory: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        decide(log, 1)
        path = directory / SEGMENT
        size = path.stat().st_size
        path.write_bytes(path.read_bytes() + b"\x00" * 17)
        with caplog.at_level(logging.WARNING):
            again = reopen(directory)
        assert "17 bytes after offset 2 are cut off" in caplog.text
        assert path.stat().st_size == size
        assert keys(again.image) == {1}

    @pytest.mark.parametrize("garbage", [b"\x00" * 200, b"\xff" * 200, b"\x02" * 200])
    def test_cuts_off_a_tail_that_is_no_batch(self, log: MetadataLog, directory: Path, garbage: bytes) -> None:
        decide(log, 1)
        path = directory / SEGMENT
        path.write_bytes(path.read_bytes() + garbage)
        assert keys(reopen(directory).image) == {1}

    def test_a_last_batch_with_a_wrong_checksum_is_a_torn_tail(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1, 2)
        path = directory / SEGMENT
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert keys(reopen(directory).image) == {1}

    @pytest.mark.parametrize("field", [3, 10, 20, 70])
    def test_refuses_damage_before_a_whole_batch(self, log: MetadataLog, directory: Path, field: int) -> None:
        """In base offset, length, checksum or content: cutting here would lose acknowledged decisions."""
        decide(log, 1)
        position = (directory / SEGMENT).stat().st_size
        decide(log, 2, 3)
        path = directory / SEGMENT
        data = bytearray(path.read_bytes())
        data[position + field] ^= 1
        path.write_bytes(data)
        with pytest.raises(StorageError, match=f"is damaged at byte {position}"):
            reopen(directory)
        assert path.read_bytes() == data

    def test_refuses_a_gap_between_offsets(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1)
        path = directory / SEGMENT
        beyond = write_batch([Record(write_metadata_record(config(9)))], base_offset=77, leader_epoch=1)
        path.write_bytes(path.read_bytes() + beyond)
        with pytest.raises(StorageError, match="offset 77, where 3 follows"):
            reopen(directory)

    def test_refuses_a_record_that_can_not_be_replayed(self, log: MetadataLog, directory: Path) -> None:
        fence = write_metadata_record(VersionedRecord(types.FenceBrokerRecord(id=9, epoch=9), 0))
        path = directory / SEGMENT
        path.write_bytes(path.read_bytes() + write_batch([Record(fence)], base_offset=2, leader_epoch=1))
        with pytest.raises(StorageError, match="the batch at offset 2: broker 9 is changed, but not registered"):
            reopen(directory)


class TestFullDisk:
    @staticmethod
    def fail_after(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        real = os.write

        def write(descriptor: int, data: memoryview) -> int:
            nonlocal room
            if room <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = real(descriptor, bytes(data[:room]))
            room -= written
            return written

        monkeypatch.setattr(os, "write", write)

    @pytest.mark.parametrize("room", [0, 1, 60, 100])
    def test_refuses_the_write_keeps_the_log_and_goes_on_later(
        self, log: MetadataLog, directory: Path, monkeypatch: pytest.MonkeyPatch, room: int
    ) -> None:
        decide(log, 1)
        before = (directory / SEGMENT).read_bytes()
        with monkeypatch.context() as patch:
            self.fail_after(patch, room)
            log.stage([config(2)], NOW)
            log.stage([config(3)], NOW)
            with pytest.raises(StorageError, match="No space left on device"):
                log.commit()
            assert keys(log.image) == keys(log.staged_image) == {1}
            assert log.read(0) == before
        assert (directory / SEGMENT).read_bytes() == before
        decide(log, 4)
        assert keys(reopen(directory).image) == {1, 4}

    def test_refuses_writes_for_good_when_the_log_can_not_be_cut_back(
        self, log: MetadataLog, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decide(log, 1)

        def broken(*_: int) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        with monkeypatch.context() as patch:
            patch.setattr(os, "ftruncate", broken)
            self.fail_after(patch, 10)
            log.stage([config(2)], NOW)
            with pytest.raises(StorageError):
                log.commit()
        with pytest.raises(StorageError, match="a restart recovers it"):
            log.stage([config(3)], NOW)
        assert keys(log.image) == {1}
        assert read_batch(log.read(2)).header.base_offset == 2
        log.save_snapshot(NOW)
        log.close()
        assert keys(reopen(directory).image) == {1}

    def test_a_failed_flush_takes_its_bytes_back(
        self, log: MetadataLog, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = (directory / SEGMENT).read_bytes()

        def broken(_: int) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        with monkeypatch.context() as patch:
            patch.setattr(segment, "sync_file", broken)
            log.stage([config(2)], NOW)
            with pytest.raises(StorageError, match="Input/output error"):
                log.commit()
        assert (directory / SEGMENT).read_bytes() == before

    def test_a_snapshot_that_does_not_fit_leaves_nothing(
        self, log: MetadataLog, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decide(log, 1)
        with monkeypatch.context() as patch:
            self.fail_after(patch, 30)
            with pytest.raises(StorageError, match="No space left on device"):
                log.save_snapshot(NOW)
        assert list_snapshots(directory) == log.snapshots == []
        assert not list(directory.glob("*.part"))
        decide(log, 2)
        assert keys(reopen(directory).image) == {1, 2}


class TestSnapshots:
    def test_replaces_the_log_before_it(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1, 2)
        first = log.save_snapshot(NOW)
        decide(log, 3)
        second = log.save_snapshot(NOW)
        decide(log, 4)
        assert (first, second) == (SnapshotId(4, 1), SnapshotId(5, 1))
        assert sorted(path.name for path in directory.iterdir()) == [
            "00000000000000000004-0000000001.checkpoint",
            "00000000000000000004.log",
            "00000000000000000005-0000000001.checkpoint",
            "00000000000000000005.log",
            "leader-epoch-checkpoint",
            "partition.metadata",
            "quorum-state",
        ]
        assert log.start_offset == 4
        assert (directory / "leader-epoch-checkpoint").read_text() == "0\n1\n1 4\n"
        again = reopen(directory)
        assert again.image == log.image
        assert keys(again.image) == {1, 2, 3, 4}
        assert again.snapshots == [second, first]
        assert len(again.snapshots) == KEPT_SNAPSHOTS

    def test_without_news_there_is_no_second_one(self, log: MetadataLog) -> None:
        assert log.save_snapshot(NOW) == log.save_snapshot(NOW + 1)
        assert len(log.snapshots) == 1

    def test_may_be_saved_while_decisions_are_written(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1)
        pending = log.begin_snapshot()
        decide(log, 2)
        log.stage([config(3)], NOW)
        sealed = log.seal()
        assert sealed is not None
        log.stage([config(4)], NOW)
        pending.save(NOW)
        assert log.finish_snapshot(pending) == SnapshotId(3, 1)
        log.flush(sealed)
        log.publish(sealed)
        assert keys(log.commit()) == {1, 2, 3, 4}
        assert (directory / "00000000000000000005.log").exists()
        again = reopen(directory)
        assert again.image == log.image
        assert again.snapshots == [pending.id]

    def test_log_goes_on_where_no_new_segment_can_be_made(
        self, log: MetadataLog, directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        decide(log, 1)
        pending = log.begin_snapshot()
        pending.save(NOW)

        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", full)
            log.finish_snapshot(pending)
        assert "the log goes on without it" in caplog.text
        decide(log, 2)
        assert reopen(directory).image == log.image

    def test_log_goes_on_after_a_restart_right_after_one(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1)
        log.save_snapshot(NOW)
        log.close()
        again = reopen(directory)
        assert again.begin_epoch(NOW) == 2
        decide(again, 2)
        assert keys(reopen(directory).image) == {1, 2}

    def test_unfinished_ones_are_removed_at_start(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1)
        part = directory / "00000000000000000003-0000000001.checkpoint.part"
        part.write_bytes(b"half")
        assert keys(reopen(directory).image) == {1}
        assert not part.exists()

    def test_a_damaged_one_is_passed_over_for_the_log(
        self, log: MetadataLog, directory: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        decide(log, 1)
        path = directory / log.save_snapshot(NOW).file_name
        path.write_bytes(path.read_bytes()[:-1])
        assert reopen(directory).image == log.image
        assert "no usable snapshot" in caplog.text

    def test_one_whose_records_contradict_each_other_is_passed_over(
        self, log: MetadataLog, directory: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        snapshot_id = log.save_snapshot(NOW)
        orphan = VersionedRecord(types.BrokerRegistrationChangeRecord(broker_id=9), 1)
        data = write_snapshot([VersionedRecord(LEVEL, 0), orphan], snapshot_id, last_contained_timestamp=NOW, now=NOW)
        (directory / snapshot_id.file_name).write_bytes(data)
        assert MetadataLog(directory, 1).image == log.image
        assert "no usable snapshot: broker 9 is changed, but not registered; it is passed over" in caplog.text

    def test_a_damaged_one_is_passed_over_for_an_older_one(self, log: MetadataLog, directory: Path) -> None:
        for number in range(4):
            decide(log, number)
            newest = log.save_snapshot(NOW)
        (directory / newest.file_name).write_bytes(b"")
        assert reopen(directory).image == log.image

    def test_refuses_when_nothing_covers_for_the_damaged(self, log: MetadataLog, directory: Path) -> None:
        for number in range(4):
            decide(log, number)
            log.save_snapshot(NOW)
        for snapshot_id in log.snapshots:
            (directory / snapshot_id.file_name).write_bytes(b"")
        with pytest.raises(StorageError, match="lacks the records from 0 to 4"):
            reopen(directory)

    def test_refuses_a_log_with_a_segment_missing(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1)
        log.save_snapshot(NOW)
        decide(log, 2)
        log.save_snapshot(NOW)
        (directory / "00000000000000000003.log").rename(directory / "away")
        (directory / "00000000000000000000.log").touch()
        with pytest.raises(StorageError, match="lacks the records from 0 to 3"):
            reopen(directory)

    def test_refuses_a_log_that_ends_before_its_snapshot(self, log: MetadataLog, directory: Path) -> None:
        decide(log, 1)
        log.save_snapshot(NOW)
        (directory / "00000000000000000003.log").unlink()
        (directory / SEGMENT).write_bytes(b"")
        with pytest.raises(StorageError, match="ends at 0, before its snapshot does"):
            reopen(directory)

    def test_splits_into_batches(self) -> None:
        records = [config(number) for number in range(2500)]
        data = write_snapshot(records, SnapshotId(9, 4), last_contained_timestamp=NOW, now=NOW + 1)
        headers = [batch.header for _, batch in iter_batches(data)]
        assert [header.count for header in headers] == [1, 1000, 1000, 500, 1]
        assert [header.base_offset for header in headers] == [0, 1, 1001, 2001, 2501]
        assert {header.leader_epoch for header in headers} == {4}
        snapshot = read_snapshot(data)
        assert (snapshot.records, snapshot.last_contained_timestamp) == (records, NOW)

    def test_splits_at_a_megabyte_too(self) -> None:
        big = types.ConfigRecord(resource_type=2, resource_name="t", name="x", value="v" * 700_000)
        data = write_snapshot([VersionedRecord(big, 0)] * 3, SnapshotId(9, 4), last_contained_timestamp=0, now=NOW)
        assert [batch.header.count for _, batch in iter_batches(data)] == [1, 1, 1, 1, 1]

    @given(st.integers(0, 400))
    def test_no_prefix_of_one_is_taken_for_a_whole(self, cut: int) -> None:
        data = write_snapshot([config(1)], SnapshotId(1, 1), last_contained_timestamp=0, now=NOW)
        with pytest.raises(RecordError):
            read_snapshot(data[: min(cut, len(data) - 1)])

    def test_refuses_batches_after_the_footer(self) -> None:
        data = write_snapshot([config(1)], SnapshotId(1, 1), last_contained_timestamp=0, now=NOW)
        with pytest.raises(RecordError, match="follow the footer"):
            read_snapshot(data + data)


class TestUnknownRecords:
    def test_survive_log_and_snapshot(
        self, log: MetadataLog, directory: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        log.stage([VersionedRecord(UnknownRecord(99, 3, b"later"), 3)], NOW)
        log.commit()
        log.save_snapshot(NOW)
        again = reopen(directory)
        assert [record.message for record in again.image.unknown] == [UnknownRecord(99, 3, b"later")]
        assert "1 records of unknown types" in caplog.text


class TestOpenTransactions:
    def test_are_aborted_by_the_next_leader(self, log: MetadataLog, directory: Path) -> None:
        begin = VersionedRecord(types.BeginTransactionRecord(), 0)
        values = [Record(write_metadata_record(record)) for record in (begin, config(1))]
        path = directory / SEGMENT
        path.write_bytes(path.read_bytes() + write_batch(values, base_offset=2, leader_epoch=1))
        again = reopen(directory)
        assert keys(again.image) == set()
        again.begin_epoch(NOW)
        decide(again, 2)
        assert keys(reopen(directory).image) == {2}


class TestReading:
    def test_gives_whole_batches_from_any_offset(self, log: MetadataLog) -> None:
        for number in range(0, 300, 3):
            log.stage([config(number), config(number + 1), config(number + 2)], NOW)
            log.commit()
        for offset in (0, 1, 2, 3, 4, 150, 301):
            data = log.read(offset, max_bytes=1000)
            headers = [batch.header for _, batch in iter_batches(data)]
            assert headers[0].base_offset <= offset <= headers[0].last_offset
            assert len(data) <= 1000
        assert log.read(log.end_offset) == b""

    def test_gives_one_batch_even_if_it_is_larger_than_asked(self, log: MetadataLog) -> None:
        log.stage([config(number) for number in range(100)], NOW)
        log.commit()
        assert read_batch(log.read(50, max_bytes=1)).header.count == 100

    def test_goes_from_segment_to_segment(self, log: MetadataLog) -> None:
        decide(log, 1)
        log.save_snapshot(NOW)
        decide(log, 2)
        assert read_batch(log.read(2)).header.base_offset == 2
        assert read_batch(log.read(3)).header.base_offset == 3

    def test_below_the_start_is_refused(self, log: MetadataLog) -> None:
        for number in range(3):
            decide(log, number)
            log.save_snapshot(NOW)
        with pytest.raises(StorageError, match="below the log's start, 4"):
            log.read(3)


class TestSecrets:
    def test_stay_out_of_errors(self, log: MetadataLog) -> None:
        with pytest.raises(RecordError) as caught:
            log.stage([VersionedRecord(SCRAM, 1)], NOW)
        assert "hush" not in str(caught.value)


class TestKill:
    PROGRAM = """
import itertools, sys
from pathlib import Path
from doorkeeper.cluster.metadata_log import MetadataLog
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import ConfigRecord

log = MetadataLog(Path(sys.argv[1]), 1)
log.begin_epoch(1)
for number in itertools.count(int(sys.argv[2])):
    for part in range(3):
        record = ConfigRecord(resource_type=2, resource_name="t", name=f"key-{number}-{part}", value=str(number))
        log.stage([VersionedRecord(record, 0)], 1)
    log.commit()
    print(number, flush=True)
"""

    def test_every_acknowledged_decision_is_there_after_kill_9(self, directory: Path) -> None:
        acknowledged = -1
        for round_ in range(3):
            command = [sys.executable, "-c", self.PROGRAM, str(directory), str(acknowledged + 1)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
                assert writer.stdout is not None
                for _ in range(20 + 7 * round_):
                    acknowledged = int(writer.stdout.readline())
                writer.kill()
                for line in writer.stdout:
                    acknowledged = int(line)
            log = reopen(directory)
            assert keys(log.image) >= set(range(acknowledged + 1))
            assert keys(log.image) <= set(range(acknowledged + 2))
            log.close()
