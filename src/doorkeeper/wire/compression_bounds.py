"""How many bytes a compressed body can give at most, read from its block headers before anything is decompressed.

The fence against compression bombs for codecs whose decompressor can't be told where to stop. A bound is never below
the true size; for what Kafka's producers write it is at most one block above it.
"""

from __future__ import annotations

import struct
from typing import Final

from doorkeeper.errors import RecordError

LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
ZSTD_MAGIC: Final = 0xFD2FB528
ZSTD_SKIPPABLE_MAGIC: Final = 0x184D2A50
ZSTD_MAX_BLOCK_BYTES: Final = 128 * 1024

_LZ4_VERSION_MASK: Final = 0xC0
_LZ4_VERSION: Final = 0x40
_LZ4_BLOCK_CHECKSUM: Final = 0x10
_LZ4_CONTENT_SIZE: Final = 0x08
_LZ4_CONTENT_CHECKSUM: Final = 0x04
_LZ4_DICTIONARY: Final = 0x01
_LZ4_STORED: Final = 0x80000000

_ZSTD_SINGLE_SEGMENT: Final = 0x20
_ZSTD_CHECKSUM: Final = 0x04
_ZSTD_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_ZSTD_CONTENT_BYTES: Final = (0, 2, 4, 8)
_ZSTD_RLE: Final = 1
_ZSTD_COMPRESSED: Final = 2

_UINT32: Final = struct.Struct("<I")


def lz4_bound(data: bytes) -> int:
    """At most this many bytes are in these lz4 frames (lz4's frame format, 1.6.4)."""
    bound = 0
    position = 0
    try:
        while position < len(data):
            frame, position = _lz4_frame(data, position)
            bound += frame
    except (IndexError, struct.error):
        raise RecordError("the batch's lz4 stream ends too early") from None
    return bound


def _lz4_frame(data: bytes, position: int) -> tuple[int, int]:
    if data[position : position + 4] != LZ4_MAGIC:
        raise RecordError("the batch is no lz4 stream")
    flags, block_code = data[position + 4], data[position + 5] >> 4 & 7
    if flags & _LZ4_VERSION_MASK != _LZ4_VERSION or block_code < 4:
        raise RecordError("the batch is no lz4 stream")
    block_bytes = 1 << (2 * block_code + 8)
    position += 7 + 8 * bool(flags & _LZ4_CONTENT_SIZE) + 4 * bool(flags & _LZ4_DICTIONARY)
    bound = 0
    while size := _UINT32.unpack_from(data, position)[0]:
        size &= ~_LZ4_STORED
        position += 4 + size + 4 * bool(flags & _LZ4_BLOCK_CHECKSUM)
        bound += block_bytes
    return bound, position + 4 + 4 * bool(flags & _LZ4_CONTENT_CHECKSUM)


def zstd_bound(data: bytes) -> int:
    """At most this many bytes are in these zstd frames (RFC 8878), as ZSTD_decompressBound counts them."""
    bound = 0
    position = 0
    try:
        while position < len(data):
            magic = _UINT32.unpack_from(data, position)[0]
            if magic & ~0xF == ZSTD_SKIPPABLE_MAGIC:
                position += 8 + int(_UINT32.unpack_from(data, position + 4)[0])
                continue
            if magic != ZSTD_MAGIC:
                raise RecordError("the batch is no zstd stream")
            frame, position = _zstd_blocks(data, position)
            bound += frame
    except (IndexError, struct.error):
        raise RecordError("the batch's zstd stream ends too early") from None
    return bound


def _zstd_blocks(data: bytes, position: int) -> tuple[int, int]:
    descriptor = data[position + 4]
    single = bool(descriptor & _ZSTD_SINGLE_SEGMENT)
    content_bytes = _ZSTD_CONTENT_BYTES[descriptor >> 6] or int(single)
    position += 5 + (not single) + _ZSTD_DICTIONARY_BYTES[descriptor & 3] + content_bytes
    bound = 0
    is_last = False
    while not is_last:
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        is_last = bool(header & 1)
        kind, size = header >> 1 & 3, header >> 3
        bound += ZSTD_MAX_BLOCK_BYTES if kind == _ZSTD_COMPRESSED else size
        position += 3 + (1 if kind == _ZSTD_RLE else size)
    return bound, position + 4 * bool(descriptor & _ZSTD_CHECKSUM)
