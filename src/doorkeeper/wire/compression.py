"""Codecs of record batches, by the number in the batch's attributes (org.apache.kafka.common.record.CompressionType).

None and gzip need the standard library only. Snappy, lz4 and zstd are numbers with a name and no codec: an entry in
`_CODECS` is all that one of them takes.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import Final, NamedTuple

from doorkeeper.errors import RecordError, UnsupportedCompressionError

MEBIBYTES: Final = 1024 * 1024
MAX_DECOMPRESSED_BYTES: Final = 256 * MEBIBYTES
"""A fence against compression bombs: Kafka's own fence is on the compressed side (message.max.bytes, 1 MB)."""


class Compression(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class Codec(NamedTuple):
    """Both directions of one codec; `decompress` takes the most bytes that it may return."""

    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes, int], bytes]


def _compress_gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _decompress_gzip(data: bytes, limit: int) -> bytes:
    """Read every gzip member: Java's GZIPInputStream does, and some producers write more than one."""
    out = bytearray()
    while data:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            out += member.decompress(data, limit - len(out) + 1)
        except zlib.error as error:
            raise RecordError(f"the batch is no gzip stream: {error}") from None
        if len(out) > limit:
            raise RecordError(f"the batch holds more than {limit} bytes when decompressed")
        if not member.eof:
            raise RecordError("the batch's gzip stream ends too early")
        data = member.unused_data
    return bytes(out)


_CODECS: Final[dict[Compression, Codec]] = {
    Compression.NONE: Codec(bytes, lambda data, _limit: data),
    Compression.GZIP: Codec(_compress_gzip, _decompress_gzip),
}


def codec_for(number: int) -> Codec:
    """The codec with this number, or our error if the number or its codec is unknown here."""
    try:
        compression = Compression(number)
    except ValueError:
        raise RecordError(f"compression type {number} does not exist") from None
    codec = _CODECS.get(compression)
    if codec is None:
        raise UnsupportedCompressionError(f"{compression.name.lower()} compression is not supported")
    return codec
