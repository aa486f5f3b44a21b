"""What Spark's tasks run on a request log: a byte range in, Arrow batches of sightings out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

import pyarrow as pa

from doorkeeper.audit.files import Readable, compression_of, open_file, open_text
from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.requests.kernel import Kernel
from doorkeeper.audit.requests.lines import DOCUMENT
from doorkeeper.audit.schemas import SourceKind
from doorkeeper.audit.sightings import Tally

BLOCK_BYTES: Final = 256 * 1024  # fits the processor's cache
LONGEST_LINE: Final = 64 * 1024 * 1024  # bytes; what is longer is no line
TORN_FILE: Final = "the compressed file is torn: what follows is lost"
LINE_TOO_LONG: Final = "line of more than 64 MiB"
_OLD_OR_NEW: Final = re.compile(rb"Completed request:\s*(?:\{|RequestHeader\(|Name:)|^\s*" + re.escape(DOCUMENT), re.M)


def recognise(path: str, head: bytes) -> bool:
    """Whether a file is a request log: some line near its beginning is a completed request."""
    return _OLD_OR_NEW.search(head) is not None


def read_range(work: ByteRange, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Read the lines that begin in a range; a compressed file is one range."""
    tally = Tally(SourceKind.REQUESTS, work.file, work.start)
    kernel = Kernel(tally, options)
    for block in blocks_of(work, kernel):
        kernel.read_block(block)
    kernel.finish()
    yield from tally.batches()


def blocks_of(work: ByteRange, kernel: LineCounter) -> Iterator[bytes]:
    """The lines that begin in a range, in blocks of whole lines, decompressed."""
    stream: Readable
    if work.start == 0 and compression_of(work.file) is not None:
        stream, size = _Salvaged(open_text(work.file), kernel), None
    else:
        start = max(0, work.start - 1)  # its byte tells whether a line begins at the range's own
        stream, size = open_file(work.file, start), work.end - start
    try:
        yield from whole_lines(stream, size, kernel, skip_first=work.start > 0)
    finally:
        stream.close()


class LineCounter(Protocol):
    """Who is told of lines that could not be read to their end."""

    def lose_line(self, reason: str) -> None:
        """Count one."""


def whole_lines(stream: Readable, size: int | None, kernel: LineCounter, *, skip_first: bool) -> Iterator[bytes]:
    """Blocks of whole lines that begin within `size` bytes; the last line may go beyond, and may lack its end.

    `skip_first` drops everything up to the first line feed: it belongs to a line that begins before.
    """
    rest = b""
    left = size
    skipping = skip_first
    while left is None or left > 0:
        data = stream.read(BLOCK_BYTES if left is None else min(BLOCK_BYTES, left))
        if not data:
            break
        left = None if left is None else left - len(data)
        if skipping:
            _, feed, data = data.partition(b"\n")
            if not feed:
                continue
            skipping = False
        end = data.rfind(b"\n") + 1
        if not end:
            rest += data
            if len(rest) > LONGEST_LINE:
                kernel.lose_line(LINE_TOO_LONG)
                rest, skipping = b"", True
            continue
        yield b"".join((rest, memoryview(data)[:end]))
        rest = data[end:]
    if rest:
        yield rest + _rest_of_line(stream)


def _rest_of_line(stream: Readable) -> bytes:
    """Up to the line feed, which is made where the file has none."""
    parts = []
    while data := stream.read(BLOCK_BYTES):
        head, feed, _ = data.partition(b"\n")
        parts.append(head)
        if feed:
            break
    return b"".join(parts) + b"\n"


class _Salvaged:
    """A compressed stream that ends where it tears, and counts what is lost there as one line."""

    def __init__(self, stream: Readable, kernel: LineCounter) -> None:
        self._stream = stream
        self._kernel = kernel
        self._torn = False

    def read(self, size: int = -1, /) -> bytes:
        if self._torn:
            return b""
        try:
            return self._stream.read(size)
        except OSError as error:
            if "compress" not in str(error).lower():
                raise
            self._torn = True
            self._kernel.lose_line(TORN_FILE)
            return b""

    def close(self) -> None:
        self._stream.close()
