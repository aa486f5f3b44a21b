"""Appending: offsets in place, one write, and refusals with Kafka's codes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster.log.batches import NOW, batch, patched
from tests.cluster.log.conftest import OpenLog

from doorkeeper.cluster.log.files import Disk
from doorkeeper.cluster.log.partition_log import Appended, PartitionLog
from doorkeeper.cluster.log.producer_state import Origin
from doorkeeper.cluster.log.refusals import LogError, Refusal
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.cluster.log.validation import check_produce_batch
from doorkeeper.wire.compression import Compression
from doorkeeper.wire.records import iter_batches, read_batch


def append(log: PartitionLog, data: bytes | bytearray | memoryview, now: int = NOW) -> Appended | Refusal:
    return log.append(data, leader_epoch=4, now=now)


def appended(log: PartitionLog, data: bytes | bytearray | memoryview, now: int = NOW) -> Appended:
    result = append(log, data, now)
    assert isinstance(result, Appended), result
    return result


def refused(log: PartitionLog, data: bytes | bytearray | memoryview, now: int = NOW) -> Refusal:
    end = log.log_end_offset
    result = append(log, data, now)
    assert isinstance(result, Refusal), result
    assert log.log_end_offset == end
    return result


class TestOffsets:
    def test_numbers_records_from_the_log_end(self, log: PartitionLog) -> None:
        assert appended(log, batch(b"a", b"b")) == Appended(0, 1, -1, 0)
        assert appended(log, batch(b"c")) == Appended(2, 2, -1, 0)
        assert log.log_end_offset == log.high_watermark == log.last_stable_offset == 3

    def test_patches_offset_and_epoch_into_the_buffer_that_was_given(self, log: PartitionLog) -> None:
        appended(log, batch())
        received = bytearray(b"before") + batch(b"x") + b"after"
        appended(log, memoryview(received)[6 : -len(b"after")])
        written = log.segments[0].path.read_bytes()
        assert written.endswith(received[6:-5])
        headers = [found.header for _, found in iter_batches(written)]
        assert [(header.base_offset, header.leader_epoch) for header in headers] == [(0, 4), (1, 4)]

    def test_copies_a_buffer_that_can_not_be_written(self, log: PartitionLog) -> None:
        appended(log, batch())
        data = bytes(batch(b"x"))
        assert appended(log, data).base_offset == 1
        assert data == bytes(batch(b"x"))

    def test_leaves_out_a_tail_too_short_for_a_batch(self, log: PartitionLog) -> None:
        appended(log, batch() + bytes(11))
        assert log.size == len(batch())


class TestWriting:
    def test_writes_a_batch_with_one_call(self, open_partition: OpenLog) -> None:
        sizes: list[int] = []

        def write(descriptor: int, data: bytes | bytearray | memoryview) -> int:
            sizes.append(len(data))
            return os.write(descriptor, data)

        log = open_partition(near=Surroundings(disk=Disk(write=write, sync=lambda _: None)))
        appended(log, batch(bytes(200_000)))
        assert len(sizes) == 1

    def test_goes_on_after_a_short_write(self, open_partition: OpenLog) -> None:
        def write(descriptor: int, data: bytes | bytearray | memoryview) -> int:
            return os.write(descriptor, data[:7])

        log = open_partition(near=Surroundings(disk=Disk(write=write, sync=lambda _: None)))
        appended(log, batch(b"x" * 100))
        assert read_batch(log.segments[0].path.read_bytes()).records[0].value == b"x" * 100

    def test_full_disk_takes_the_log_offline_and_leaves_no_half_batch(self, open_partition: OpenLog) -> None:
        is_full = False

        def write(descriptor: int, data: bytes | bytearray | memoryview) -> int:
            if is_full:
                os.write(descriptor, data[:20])
                raise OSError(28, "No space left on device")
            return os.write(descriptor, data)

        log = open_partition(near=Surroundings(disk=Disk(write=write, sync=lambda _: None)))
        appended(log, batch())
        size = log.segments[0].path.stat().st_size
        told: list[str | None] = []
        log.waiters.add(lambda: told.append(log.offline))
        is_full = True
        refusal = refused(log, batch())
        assert refusal.code is LogError.KAFKA_STORAGE_ERROR
        assert refusal.message == (
            "The log for partition t-0 is offline: The storage of this node fails: No space left on device"
        )
        assert log.segments[0].path.stat().st_size == size
        assert told == [log.offline]
        is_full = False
        assert refused(log, batch()).code is LogError.KAFKA_STORAGE_ERROR
        assert isinstance(log.read(0, 100), Refusal)

    def test_flushes_every_so_many_messages(self, open_partition: OpenLog) -> None:
        syncs: list[int] = []
        near = Surroundings(disk=Disk(sync=syncs.append))
        log = open_partition(near=near, flush_messages=3)
        syncs.clear()  # the leader epoch is saved at the first append
        appended(log, batch(b"a", b"b"))
        before = len(syncs)
        assert log.recovery_point == 0
        appended(log, batch(b"c"))
        assert len(syncs) > before
        assert log.recovery_point == 3

    def test_failing_flush_takes_the_log_offline(self, open_partition: OpenLog) -> None:
        broken = False

        def sync(_: int) -> None:
            if broken:
                raise OSError(5, "Input/output error")

        log = open_partition(near=Surroundings(disk=Disk(sync=sync)), flush_messages=1)
        appended(log, batch())
        broken = True
        result = append(log, batch())
        assert isinstance(result, Refusal)
        assert result.code is LogError.KAFKA_STORAGE_ERROR


class TestRefusals:
    @pytest.mark.parametrize(
        ("spoil", "code"),
        [
            (lambda data: data[:60], LogError.INVALID_RECORD),
            (lambda data: data[:-1], LogError.INVALID_RECORD),
            (lambda data: b"", LogError.INVALID_RECORD),
            (lambda data: data + data, LogError.INVALID_RECORD),
            (lambda data: data[:-1] + b"!", LogError.CORRUPT_MESSAGE),
            (lambda data: data[:16] + b"\x01" + data[17:], LogError.UNSUPPORTED_FOR_MESSAGE_FORMAT),
            (lambda data: data[:16] + b"\x00" + data[17:], LogError.UNSUPPORTED_FOR_MESSAGE_FORMAT),
            (lambda data: data[:16] + b"\x03" + data[17:], LogError.CORRUPT_MESSAGE),
            (lambda data: data[:8] + b"\x00\x00\x00\x0d" + data[12:], LogError.CORRUPT_MESSAGE),
            (lambda data: data[:8] + b"\x00\x00\x00\x0e" + data[12:], LogError.CORRUPT_MESSAGE),
            (lambda data: patched(data, ">q", 0, 5), LogError.INVALID_RECORD),
            (lambda data: patched(data, ">i", 57, 2), LogError.INVALID_RECORD),
            (lambda data: patched(data, ">i", 57, 0), LogError.INVALID_RECORD),
            (lambda data: patched(data, ">i", 23, -1), LogError.INVALID_RECORD),
            (lambda data: patched(data, ">h", 21, 0x20), LogError.INVALID_RECORD),
            (lambda data: patched(data, ">h", 21, 0x05), LogError.UNSUPPORTED_COMPRESSION_TYPE),
            (lambda data: patched(data, ">q", 43, 9), LogError.INVALID_RECORD),
        ],
    )
    def test_refuses_what_is_no_lawful_batch(
        self, log: PartitionLog, spoil: Callable[[bytearray], bytearray], code: LogError
    ) -> None:
        assert refused(log, spoil(batch())).code is code

    def test_takes_a_batch_of_just_max_message_bytes(self, open_partition: OpenLog) -> None:
        log = open_partition(max_message_bytes=len(batch()))
        appended(log, batch())

    def test_refuses_a_batch_one_byte_above_max_message_bytes(self, open_partition: OpenLog) -> None:
        log = open_partition(max_message_bytes=len(batch()) - 1)
        assert refused(log, batch()).code is LogError.MESSAGE_TOO_LARGE

    def test_refuses_a_batch_larger_than_a_segment(self, open_partition: OpenLog) -> None:
        assert refused(open_partition(segment_bytes=50), batch()).code is LogError.RECORD_LIST_TOO_LARGE

    def test_coordinators_may_write_control_batches_without_sequences(self, log: PartitionLog) -> None:
        data = patched(batch(producer_id=7), ">i", 53, -1)
        assert isinstance(log.append(data, leader_epoch=0, now=NOW, origin=Origin.COORDINATOR), Appended)


class TestTimes:
    @pytest.mark.parametrize("late", [0, 3_600_000])
    def test_takes_records_of_up_to_an_hour_ahead(self, log: PartitionLog, late: int) -> None:
        appended(log, batch(timestamp=NOW + late))

    def test_refuses_a_record_more_than_an_hour_ahead_and_names_it(self, log: PartitionLog) -> None:
        refusal = refused(log, batch(b"a", b"b", timestamp=NOW + 3_600_001))
        assert refusal.code is LogError.INVALID_TIMESTAMP
        assert [record.batch_index for record in refusal.records] == [0, 1]

    def test_refuses_an_old_record_only_where_the_topic_says_so(self, open_partition: OpenLog) -> None:
        strict = open_partition(timestamp_before_max_ms=1000)
        appended(strict, batch(timestamp=NOW - 1000))
        assert refused(strict, batch(timestamp=NOW - 1001)).code is LogError.INVALID_TIMESTAMP

    def test_takes_records_without_a_time(self, open_partition: OpenLog) -> None:
        appended(open_partition(timestamp_before_max_ms=1000), batch(timestamp=-1))

    @pytest.mark.parametrize("compression", list(Compression))
    def test_stamps_the_time_of_appending_without_opening_the_batch(
        self, open_partition: OpenLog, compression: Compression
    ) -> None:
        log = open_partition(is_log_append_time=True)
        data = batch(b"a", b"b", timestamp=NOW + 10**9, compression=compression)
        assert appended(log, data, NOW + 5).log_append_time == NOW + 5
        written = read_batch(log.segments[0].path.read_bytes())
        assert written.header.is_log_append_time
        assert [record.timestamp for record in written.records] == [NOW + 5, NOW + 5]


class TestCompactedTopics:
    def test_refuses_a_batch_for_its_keyless_records_and_names_them(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True)
        refusal = refused(log, batch(b"a", b"b"))
        assert refusal.code is LogError.INVALID_RECORD
        assert [record.batch_index for record in refusal.records] == [0, 1]

    @pytest.mark.parametrize("compression", list(Compression))
    def test_takes_records_with_keys(self, open_partition: OpenLog, compression: Compression) -> None:
        appended(open_partition(is_compacted=True), batch(b"a", key=b"k", compression=compression))

    def test_refuses_records_that_can_not_be_opened(self, open_partition: OpenLog) -> None:
        log = open_partition(is_compacted=True)
        assert refused(log, patched(batch(key=b"k"), ">h", 21, Compression.GZIP)).code is LogError.INVALID_RECORD


class TestCompressionType:
    @pytest.mark.parametrize("target", list(Compression))
    @pytest.mark.parametrize("source", list(Compression))
    def test_keeps_batches_in_the_topics_codec(
        self, open_partition: OpenLog, source: Compression, target: Compression
    ) -> None:
        log = open_partition(compression=target)
        appended(log, batch(b"a" * 100, b"b" * 100, key=b"k", compression=source))
        written = read_batch(log.segments[0].path.read_bytes())
        assert written.header.compression == target
        assert [(record.key, record.value) for record in written.records] == [(b"k", b"a" * 100), (b"k", b"b" * 100)]

    def test_leaves_the_producers_codec_alone_by_default(self, log: PartitionLog) -> None:
        data = batch(b"a" * 100, compression=Compression.GZIP)
        body = bytes(data[61:])
        appended(log, data)
        assert log.segments[0].path.read_bytes()[61:] == body

    def test_refuses_a_batch_that_grows_beyond_max_message_bytes(self, open_partition: OpenLog) -> None:
        log = open_partition(compression=Compression.NONE, max_message_bytes=500)
        assert refused(log, batch(bytes(1000), compression=Compression.GZIP)).code is LogError.MESSAGE_TOO_LARGE


class TestProduceRequests:
    @pytest.mark.parametrize("version", [3, 7, 13])
    def test_takes_exactly_one_batch(self, version: int) -> None:
        assert check_produce_batch(batch(), version) is None

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", LogError.INVALID_RECORD),
            (batch()[:-1], LogError.INVALID_RECORD),
            (batch() + batch(), LogError.INVALID_RECORD),
            (batch()[:16] + b"\x01" + batch()[17:], LogError.INVALID_RECORD),
            (batch()[:16] + b"\x04" + batch()[17:], LogError.CORRUPT_MESSAGE),
            (bytes(12), LogError.CORRUPT_MESSAGE),
        ],
    )
    def test_refuses_anything_else(self, data: bytes, code: LogError) -> None:
        refusal = check_produce_batch(data, 9)
        assert refusal is not None
        assert refusal.code is code

    def test_refuses_zstd_before_version_7(self) -> None:
        data = batch(compression=Compression.ZSTD)
        refusal = check_produce_batch(data, 6)
        assert refusal is not None
        assert refusal.code is LogError.UNSUPPORTED_COMPRESSION_TYPE
        assert check_produce_batch(data, 7) is None


class TestWaiters:
    def test_are_told_of_each_append_after_it_can_be_read(self, log: PartitionLog) -> None:
        ends: list[int] = []
        waiter = lambda: ends.append(log.log_end_offset)  # noqa: E731  removed below by its identity
        log.waiters.add(waiter)
        appended(log, batch())
        appended(log, batch(b"a", b"b"))
        log.waiters.remove(waiter)
        appended(log, batch())
        assert ends == [1, 3]

    def test_are_not_told_of_refusals(self, log: PartitionLog) -> None:
        told: list[None] = []
        log.waiters.add(lambda: told.append(None))
        refused(log, b"")
        assert told == []

    def test_one_that_fails_spoils_neither_the_append_nor_the_others(self, log: PartitionLog) -> None:
        told: list[None] = []

        def fail() -> None:
            raise ValueError

        log.waiters.add(fail)
        log.waiters.add(lambda: told.append(None))
        appended(log, batch())
        assert told == [None]


def test_configs_may_change_between_appends(open_partition: OpenLog, tmp_path: Path) -> None:
    log = open_partition()
    appended(log, batch())
    log.config = replace(log.config, max_message_bytes=10)
    assert refused(log, batch()).code is LogError.MESSAGE_TOO_LARGE
