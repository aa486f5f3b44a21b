"""Codecs of record batches, by the number in the batch's attributes (org.apache.kafka.common.record.CompressionType).

Snappy is framed as snappy-java does (raw streams are read too), lz4 as frames of independent blocks, zstd as plain
frames: org.apache.kafka.common.compress. cramjam is loaded with the first batch that needs it.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

from doorkeeper.errors import RecordError
from doorkeeper.wire.compression_bounds import LZ4_MAGIC, ZSTD_MAX_BLOCK_BYTES, lz4_bound, zstd_bound

MEBIBYTES: Final = 1024 * 1024
MAX_DECOMPRESSED_BYTES: Final = 256 * MEBIBYTES
"""A fence against compression bombs: Kafka's own fence is on the compressed side (message.max.bytes, 1 MB)."""
SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
SNAPPY_HEADER: Final = SNAPPY_MAGIC + struct.pack(">ii", 1, 1)
"""snappy-java's magic, version and lowest compatible version."""
SNAPPY_BLOCK_BYTES: Final = 32 * 1024
LZ4_HEADER: Final = LZ4_MAGIC + b"\x60\x40\x82"
"""Version 1, independent blocks of up to 64 KiB, no checksums, and the checksum of these two bytes."""
LZ4_BLOCK_BYTES: Final = 64 * 1024
_LZ4_STORED: Final = 0x80000000
_LZ4_DEFAULT_LEVEL: Final = 9
"""Kafka's default level means its fast compressor, not level 9 of the slow one (Lz4BlockOutputStream)."""
_ZSTD_DEFAULT_LEVEL: Final = 3


class Compression(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class Compressor(Protocol):
    """Compress at a level of the codec's own scale, or at its default."""

    def __call__(self, data: bytes, level: int | None = None) -> bytes: ...


class Codec(NamedTuple):
    """Both directions of one codec; `decompress` takes the most bytes that it may return."""

    compress: Compressor
    decompress: Callable[[bytes, int], bytes]


def _keep(data: bytes, level: int | None = None) -> bytes:
    return bytes(data)


def _compress_gzip(data: bytes, level: int | None = None) -> bytes:
    return gzip.compress(data, compresslevel=6 if level is None or level < 0 else level, mtime=0)


def _decompress_gzip(data: bytes, limit: int) -> bytes:
    """Read every gzip member: Java's GZIPInputStream does, and some producers write more than one."""
    out = bytearray()
    while data:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            out += member.decompress(data, limit - len(out) + 1)
        except zlib.error as error:
            raise RecordError(f"the batch is no gzip stream: {error}") from None
        _require_within(len(out), limit)
        if not member.eof:
            raise RecordError("the batch's gzip stream ends too early")
        data = member.unused_data
    return bytes(out)


def _compress_snappy(data: bytes, level: int | None = None) -> bytes:
    from cramjam import snappy

    out = bytearray(SNAPPY_HEADER)
    for start in range(0, len(data), SNAPPY_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(data[start : start + SNAPPY_BLOCK_BYTES]))
        out += struct.pack(">i", len(block)) + block
    return bytes(out)


def _decompress_snappy(data: bytes, limit: int) -> bytes:
    """Read snappy-java's blocks, one stream after another, or one raw block without a header."""
    if not data.startswith(SNAPPY_MAGIC):
        return _decompress_snappy_block(data, 0, limit)
    out = bytearray()
    position = 0
    while position < len(data):
        if data.startswith(SNAPPY_MAGIC, position):
            position += len(SNAPPY_HEADER)
            if position > len(data):
                raise RecordError("the batch's snappy stream ends too early")
            continue
        try:
            size = struct.unpack_from(">i", data, position)[0]
        except struct.error:
            raise RecordError("the batch's snappy stream ends too early") from None
        position += 4
        if size < 0 or position + size > len(data):
            raise RecordError("the batch's snappy stream ends too early")
        out += _decompress_snappy_block(data[position : position + size], len(out), limit)
        position += size
    return bytes(out)


def _decompress_snappy_block(block: bytes, before: int, limit: int) -> bytes:
    import cramjam

    try:
        _require_within(before + cramjam.snappy.decompress_raw_len(block), limit)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise RecordError(f"the batch is no snappy stream: {error}") from None


def _compress_lz4(data: bytes, level: int | None = None) -> bytes:
    from cramjam import lz4

    options: dict[str, Any] = {"store_size": False}
    if level not in (None, _LZ4_DEFAULT_LEVEL):
        options |= {"mode": "high_compression", "compression": level}
    out = bytearray(LZ4_HEADER)
    for start in range(0, len(data), LZ4_BLOCK_BYTES):
        block = data[start : start + LZ4_BLOCK_BYTES]
        packed = bytes(lz4.compress_block(block, **options))
        stored = len(packed) >= len(block)
        out += struct.pack("<I", len(block) | _LZ4_STORED if stored else len(packed))
        out += block if stored else packed
    return bytes(out + bytes(4))


def _decompress_lz4(data: bytes, limit: int) -> bytes:
    import cramjam

    _require_within(lz4_bound(data) - LZ4_BLOCK_BYTES, limit)
    try:
        out = bytes(cramjam.lz4.decompress(data))
    except cramjam.DecompressionError as error:
        raise RecordError(f"the batch is no lz4 stream: {error}") from None
    _require_within(len(out), limit)
    return out


def _compress_zstd(data: bytes, level: int | None = None) -> bytes:
    from cramjam import zstd

    return bytes(zstd.compress(data, _ZSTD_DEFAULT_LEVEL if level is None else level))


def _decompress_zstd(data: bytes, limit: int) -> bytes:
    import cramjam

    _require_within(zstd_bound(data) - ZSTD_MAX_BLOCK_BYTES, limit)
    try:
        out = bytes(cramjam.zstd.decompress(data))
    except cramjam.DecompressionError as error:
        raise RecordError(f"the batch is no zstd stream: {error}") from None
    _require_within(len(out), limit)
    return out


def _require_within(size: int, limit: int) -> None:
    if size > limit:
        raise RecordError(f"the batch holds more than {limit} bytes when decompressed")


_CODECS: Final[dict[Compression, Codec]] = {
    Compression.NONE: Codec(_keep, lambda data, _limit: data),
    Compression.GZIP: Codec(_compress_gzip, _decompress_gzip),
    Compression.SNAPPY: Codec(_compress_snappy, _decompress_snappy),
    Compression.LZ4: Codec(_compress_lz4, _decompress_lz4),
    Compression.ZSTD: Codec(_compress_zstd, _decompress_zstd),
}


def codec_for(number: int) -> Codec:
    """The codec with this number, or our error if the number is nobody's."""
    try:
        return _CODECS[Compression(number)]
    except ValueError:
        raise RecordError(f"compression type {number} does not exist") from None
