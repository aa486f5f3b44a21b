"""Record batches: what we write we read, what Kafka wrote we read, and nothing else gets through."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.errors import RecordError, TornBatchError
from doorkeeper.wire.compression import Compression
from doorkeeper.wire.records import (
    HEADER_BYTES,
    Record,
    iter_batches,
    read_batch,
    read_batch_header,
    write_batch,
)

KAFKA_LOG = Path(__file__).parents[1] / "vectors" / "metadata-log-4.3.1" / "__cluster_metadata-0"
KAFKA_SEGMENT = KAFKA_LOG / "00000000000000000000.log"

INT64 = st.integers(-(2**62), 2**62)
OPTIONAL_BYTES = st.none() | st.binary(max_size=300)
RECORDS = st.lists(
    st.builds(
        Record,
        value=OPTIONAL_BYTES,
        key=OPTIONAL_BYTES,
        timestamp=INT64,
        headers=st.lists(st.tuples(st.binary(max_size=20), OPTIONAL_BYTES), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=5,
)
ONE = [Record(b"value", b"key", 1_700_000_000_123, headers=((b"h", None),))]


def one_batch(**arguments: int) -> bytes:
    return write_batch(ONE, base_offset=5, **arguments)  # type: ignore[arg-type]


class TestRoundTrip:
    @given(RECORDS, st.integers(0, 2**40), st.sampled_from([Compression.NONE, Compression.GZIP]))
    def test_reads_what_it_wrote(self, records: list[Record], base_offset: int, compression: Compression) -> None:
        batch = read_batch(write_batch(records, base_offset=base_offset, compression=compression))
        expected = tuple(replace(record, offset=base_offset + at) for at, record in enumerate(records))
        assert batch.records == expected
        assert batch.header.last_offset == base_offset + len(records) - 1
        assert batch.header.max_timestamp == max(record.timestamp for record in records)

    def test_keeps_milliseconds_epoch_and_producer(self) -> None:
        data = write_batch(
            ONE,
            base_offset=9,
            leader_epoch=3,
            is_control=True,
            is_transactional=True,
            producer_id=77,
            producer_epoch=2,
            base_sequence=40,
        )
        header = read_batch(data).header
        assert header.base_timestamp == 1_700_000_000_123
        assert (header.leader_epoch, header.producer_id, header.producer_epoch, header.base_sequence) == (3, 77, 2, 40)
        assert (header.is_control, header.is_transactional, header.is_log_append_time) == (True, True, False)
        assert (header.size, header.next_offset, header.delete_horizon) == (len(data), 10, None)

    def test_plain_batch_has_none_of_the_flags(self) -> None:
        header = read_batch(one_batch()).header
        assert header.attributes == 0
        assert (header.leader_epoch, header.producer_id) == (-1, -1)

    def test_log_append_time_stamps_every_record(self) -> None:
        data = bytearray(write_batch([Record(b"a", timestamp=5), Record(b"b", timestamp=9)], base_offset=0))
        data[22] |= 0x08
        assert [record.timestamp for record in read_batch(with_right_checksum(data)).records] == [9, 9]

    def test_walks_from_batch_to_batch(self) -> None:
        data = write_batch(ONE, base_offset=0) + write_batch(ONE * 2, base_offset=1)
        first = len(write_batch(ONE, base_offset=0))
        assert [(at, batch.header.count) for at, batch in iter_batches(data)] == [(0, 1), (first, 2)]

    def test_refuses_to_write_an_empty_batch(self) -> None:
        with pytest.raises(RecordError, match="at least one record"):
            write_batch([], base_offset=0)


class TestKafkaWroteIt:
    def test_every_batch_of_a_kafka_log_is_written_back_byte_for_byte(self) -> None:
        data = KAFKA_SEGMENT.read_bytes()
        batches = list(iter_batches(data))
        assert len(batches) > 20
        for position, batch in batches:
            header = batch.header
            again = write_batch(
                batch.records,
                base_offset=header.base_offset,
                leader_epoch=header.leader_epoch,
                is_control=header.is_control,
            )
            assert again == data[position : position + header.size]


class TestTornTail:
    @pytest.mark.parametrize("length", [0, 1, HEADER_BYTES - 1])
    def test_too_short_for_a_header(self, length: int) -> None:
        with pytest.raises(TornBatchError, match=f"{length} bytes are left"):
            read_batch(one_batch()[:length])

    @pytest.mark.parametrize("missing", [1, 5])
    def test_too_short_for_its_records(self, missing: int) -> None:
        data = one_batch()
        with pytest.raises(TornBatchError, match=f"{len(data) - missing} bytes are left, the batch has {len(data)}"):
            read_batch(data[:-missing])

    def test_header_can_be_read_alone(self) -> None:
        assert read_batch_header(one_batch()[:HEADER_BYTES]).base_offset == 5


class TestDamage:
    def test_every_flipped_bit_after_the_checksum_is_found(self) -> None:
        data = one_batch()
        for position in range(17, len(data)):
            with pytest.raises(RecordError):
                read_batch(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])

    @pytest.mark.parametrize("magic", [0, 1, 3])
    def test_other_magic(self, magic: int) -> None:
        data = bytearray(one_batch())
        data[16] = magic
        with pytest.raises(RecordError, match=f"magic byte {magic}"):
            read_batch(bytes(data))

    @pytest.mark.parametrize("length", [-1, 0, 48])
    def test_length_below_that_of_a_header(self, length: int) -> None:
        data = bytearray(one_batch())
        data[8:12] = length.to_bytes(4, "big", signed=True)
        with pytest.raises(RecordError, match="shorter than its header"):
            read_batch(bytes(data))

    @pytest.mark.parametrize(("position", "size"), [(0, 8), (23, 4), (57, 4)])
    def test_negative_offset_or_count(self, position: int, size: int) -> None:
        data = bytearray(one_batch())
        data[position : position + size] = (-1).to_bytes(size, "big", signed=True)
        with pytest.raises(RecordError, match="negative"):
            read_batch(bytes(data))

    def test_more_records_than_bytes(self) -> None:
        data = bytearray(one_batch())
        data[57:61] = (2**31 - 1).to_bytes(4, "big")
        with pytest.raises(RecordError, match="2147483647 records don't fit"):
            read_batch(with_right_checksum(data))

    def test_fewer_records_than_bytes(self) -> None:
        data = bytearray(write_batch(ONE * 2, base_offset=0))
        data[57:61] = (1).to_bytes(4, "big")
        with pytest.raises(RecordError, match="bytes follow the batch's last record"):
            read_batch(with_right_checksum(data))

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"\x01" + bytes(6), "a length of -1 bytes"),
            (b"\x0e" + bytes(6), "a length of 7 bytes"),
            (b"\x0c\x00\x00\x00\x03\x01\x00", "a length of -2 bytes"),
            (b"\x0c\x00\x00\x00\x0a\x00\x00", "a length of 5 bytes"),
            (b"\x0c\x00\x00\x00\x01\x01\x01", "a count of -1 headers"),
            (b"\x0c\x00\x00\x00\x01\x01\x02", "a count of 1 headers"),
            (b"\x0e\x00\x00\x00\x01\x01\x02\x01", "a header without a key"),
            (b"\x0e\x00\x00\x00\x01\x01\x00\x00", "1 bytes are left over"),
            (b"\x80\x80\x80\x80\x80\x00\x00", "longer than 32 bits"),
            (b"\xff\xff\xff\xff\x7f\x00\x00", "longer than 32 bits"),
        ],
    )
    def test_malformed_record(self, body: bytes, message: str) -> None:
        with pytest.raises(RecordError, match=f"record 0 of the batch is malformed: .*{message}"):
            read_batch(with_body(one_batch(), body, Compression.NONE))

    @given(st.data())
    def test_damaged_records_under_a_right_checksum_give_records_or_our_error(self, data: st.DataObject) -> None:
        batch = bytearray(write_batch(ONE * 2, base_offset=0, compression=data.draw(st.sampled_from([0, 1]))))
        for _ in range(data.draw(st.integers(1, 3))):
            batch[data.draw(st.integers(21, len(batch) - 1))] = data.draw(st.integers(0, 255))
        try:
            read_batch(with_right_checksum(batch))
        except RecordError:
            return

    @given(st.binary(max_size=200))
    def test_any_bytes_give_records_or_our_error(self, data: bytes) -> None:
        try:
            list(iter_batches(data))
        except RecordError:
            return


class TestCompression:
    @pytest.mark.parametrize("compression", list(Compression))
    def test_reads_back_every_codec(self, compression: Compression) -> None:
        data = write_batch(ONE, base_offset=0, compression=compression)
        assert read_batch(data).header.compression == compression
        assert [record.value for record in read_batch(data).records] == [record.value for record in ONE]

    def test_refuses_a_codec_that_does_not_exist(self) -> None:
        data = bytearray(one_batch())
        data[22] = 5
        with pytest.raises(RecordError, match="compression type 5 does not exist"):
            read_batch(with_right_checksum(data))

    def test_takes_up_to_the_limit_and_no_more(self) -> None:
        data = write_batch([Record(b"x" * 1000)], base_offset=0, compression=Compression.GZIP)
        body = len(gzip.decompress(data[HEADER_BYTES:]))
        assert read_batch(data, limit=body).records[0].value == b"x" * 1000
        with pytest.raises(RecordError, match=f"more than {body - 1} bytes"):
            read_batch(data, limit=body - 1)

    def test_reads_a_stream_of_several_gzip_members(self) -> None:
        data = write_batch([Record(b"x" * 1000)], base_offset=0)
        body = data[HEADER_BYTES:]
        members = gzip.compress(body[:500]) + gzip.compress(body[500:])
        assert read_batch(with_body(data, members, Compression.GZIP)).records[0].value == b"x" * 1000

    @pytest.mark.parametrize("body", [b"no gzip at all", gzip.compress(b"x" * 99)[:-9]])
    def test_refuses_a_broken_gzip_stream(self, body: bytes) -> None:
        with pytest.raises(RecordError, match="gzip"):
            read_batch(with_body(one_batch(), body, Compression.GZIP))


def with_body(data: bytes, body: bytes, compression: Compression) -> bytes:
    """The batch with another body."""
    changed = bytearray(data[:HEADER_BYTES] + body)
    changed[8:12] = (len(changed) - 12).to_bytes(4, "big")
    changed[22] = compression
    return with_right_checksum(changed)


def with_right_checksum(data: bytearray) -> bytes:
    """The batch with its checksum made right again."""
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)
