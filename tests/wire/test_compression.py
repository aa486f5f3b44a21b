"""The five codecs: what Kafka packed is unpacked, and nothing that claims to be small gives too much.

That Kafka unpacks what is packed here is shown by `tests/cluster/log/test_against_kafka.py`: its compacted and
uncompressed topics open batches of every codec.
"""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.errors import RecordError
from doorkeeper.wire.compression import LZ4_HEADER, SNAPPY_HEADER, Compression, codec_for
from doorkeeper.wire.compression_bounds import lz4_bound, zstd_bound
from doorkeeper.wire.records import read_batch

VECTORS = Path(__file__).parents[1] / "vectors" / "log-batches-4.3.1.jsonl.gz"
LIMIT = 1_000_000
CODECS = [codec for codec in Compression if codec is not Compression.NONE]
BLOCKS = [0, 1, 32 * 1024, 32 * 1024 + 1, 64 * 1024, 64 * 1024 + 1, 300_000]
LEVELS = {Compression.GZIP: [1, 9, -1], Compression.LZ4: [1, 9, 17], Compression.ZSTD: [-5, 1, 22]}


def _vectors() -> list[tuple[str, str]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        next(lines)
        return [tuple(json.loads(line)) for line in lines]


def _values(count: int, size: int) -> list[bytes]:
    """The same values that the oracle makes: noise, then a pattern."""
    noise, values = 1, []
    for _ in range(count):
        value = bytearray()
        for at in range(size):
            noise = (noise * 1103515245 + 12345) & 0x7FFFFFFF
            value.append((noise >> 16) & 0xFF if at < size // 8 else at % 7)
        values.append(bytes(value))
    return values


@pytest.mark.parametrize(("command", "answer"), _vectors(), ids=lambda text: text[:24].replace("\t", "-"))
def test_opens_what_kafka_packed(command: str, answer: str) -> None:
    _, codec, count, size = command.split("\t")
    batch = read_batch(bytes.fromhex(answer.split("\t")[1]))
    assert Compression(batch.header.compression).name.lower() == codec
    assert [record.value for record in batch.records] == _values(int(count), int(size))


@pytest.mark.parametrize("codec", list(Compression))
@given(data=st.binary(max_size=5000))
def test_unpacks_what_it_packs(codec: Compression, data: bytes) -> None:
    assert codec_for(codec).decompress(codec_for(codec).compress(data), LIMIT) == data


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("size", BLOCKS)
def test_unpacks_what_it_packs_around_the_sizes_of_blocks(codec: Compression, size: int) -> None:
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    assert codec_for(codec).decompress(codec_for(codec).compress(data), LIMIT) == data


@pytest.mark.parametrize(("codec", "level"), [(codec, level) for codec, levels in LEVELS.items() for level in levels])
def test_every_level_can_be_unpacked(codec: Compression, level: int) -> None:
    data = b"some text, some more text, " * 500
    packed = codec_for(codec).compress(data, level)
    assert codec_for(codec).decompress(packed, LIMIT) == data
    assert len(packed) < len(data)


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.binary(min_size=1, max_size=200))
def test_other_bytes_are_a_record_error_or_some_bytes(codec: Compression, data: bytes) -> None:
    with suppress(RecordError):
        assert len(codec_for(codec).decompress(data, LIMIT)) <= LIMIT


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.data())
def test_a_cut_stream_is_a_record_error(codec: Compression, data: st.DataObject) -> None:
    whole = codec_for(codec).compress(b"0123456789abcdef" * 100)
    cut = data.draw(st.integers(1, len(whole) - 1))
    if codec is Compression.SNAPPY and cut == len(SNAPPY_HEADER):
        return  # a stream without blocks is empty, and lawful
    with pytest.raises(RecordError):
        codec_for(codec).decompress(whole[:cut], LIMIT)


@pytest.mark.parametrize("codec", CODECS)
def test_gives_up_to_the_limit_and_no_more(codec: Compression) -> None:
    packed = codec_for(codec).compress(bytes(1_000_000))
    assert len(codec_for(codec).decompress(packed, 1_000_000)) == 1_000_000
    with pytest.raises(RecordError, match="more than 999999 bytes"):
        codec_for(codec).decompress(packed, 999_999)


def test_reads_raw_snappy_and_streams_in_a_row() -> None:
    framed = codec_for(Compression.SNAPPY).compress(b"abc")
    raw = framed[len(SNAPPY_HEADER) + 4 :]
    assert codec_for(Compression.SNAPPY).decompress(raw, LIMIT) == b"abc"
    assert codec_for(Compression.SNAPPY).decompress(framed + framed, LIMIT) == b"abcabc"


def test_reads_frames_in_a_row() -> None:
    for codec in (Compression.GZIP, Compression.ZSTD):
        packed = codec_for(codec).compress(b"abc")
        assert codec_for(codec).decompress(packed + packed, LIMIT) == b"abcabc"


@given(data=st.binary(max_size=3000))
def test_a_bound_is_never_below_the_size(data: bytes) -> None:
    assert lz4_bound(codec_for(Compression.LZ4).compress(data)) >= len(data)
    assert zstd_bound(codec_for(Compression.ZSTD).compress(data)) >= len(data)


def test_a_bound_reads_every_optional_field() -> None:
    block = b"\x03\x00\x00\x80abc"
    flags = 0x40 | 0x10 | 0x08 | 0x04 | 0x01  # checksums of blocks and content, content size, dictionary
    frame = (
        LZ4_HEADER[:4] + bytes([flags, 0x70]) + bytes(8) + bytes(4) + b"\x00" + block + bytes(4) + bytes(4) + bytes(4)
    )
    assert lz4_bound(frame) == 4 * 1024 * 1024
    skippable = b"\x51\x2a\x4d\x18" + b"\x02\x00\x00\x00" + b"xx"
    repeated = b"\x28\xb5\x2f\xfd" + b"\x00\x58" + ((1000 << 3) | (1 << 1) | 1).to_bytes(3, "little") + b"z"
    assert zstd_bound(skippable + repeated) == 1000


def test_an_unknown_codec_is_a_record_error() -> None:
    with pytest.raises(RecordError, match="compression type 5"):
        codec_for(5)
