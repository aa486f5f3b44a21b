"""Files of a SOURCE: listed, recognised by their first bytes, cut into ranges, opened; local paths and URIs alike.

URIs are read by Arrow's file systems. `s3a` and `s3n`, as Hadoop calls S3, are Arrow's `s3`; the rest (`hdfs`, `abfss`,
`gs`, `file`) have the same names there.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pyarrow import ArrowInvalid
from pyarrow import fs as arrow_fs

from doorkeeper.audit.readers import HEAD_BYTES, ByteRange
from doorkeeper.errors import InputError
from doorkeeper.rules.javatext import escape_for_display

MEBIBYTE: Final = 1024 * 1024
LARGEST_RANGE: Final = 1024 * MEBIBYTE  # each range tells all its callers anew
SMALLEST_RANGE: Final = 8 * MEBIBYTE  # below this a task costs more than it reads
RANGES_PER_TASK_SLOT: Final = 2  # so that no slot waits long for the last range

_URI: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_GLOB: Final = re.compile(r"[*?\[]")
_S3: Final = re.compile(r"s3[an]://", re.IGNORECASE)
_HIDDEN: Final = (".", "_SUCCESS", "_committed", "_started", "_delta_log")
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


class Readable(Protocol):
    """What a file is read through."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to so many bytes; none at the end."""

    def close(self) -> None:
        """Let go of it."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file as it was listed."""

    path: str
    """As readers open it: a path, or a URI."""
    size: int


def list_files(source: str) -> list[InputFile]:
    """The files of a path, folder, glob or URI, sorted; hidden ones and those without bytes are left out.

    :raises InputError: when there is none, or the store can't be asked.
    """
    shown = escape_for_display(source, 200)
    try:
        files = sorted(_listed(source), key=lambda file: file.path)
    except (OSError, ArrowInvalid, NotImplementedError) as error:
        raise InputError(f"{shown}: {_one_line(error)}") from error
    if not files:
        raise InputError(f"{shown}: there is no such file")
    return files


def _listed(source: str) -> Iterator[InputFile]:
    system, path, prefix = resolve(source)
    if not _GLOB.search(path) or system.get_file_info(path).type is not arrow_fs.FileType.NotFound:
        infos = _under(system, path)
    else:
        folder = path[: _GLOB.search(path).start()].rpartition("/")[0]  # type: ignore[union-attr]
        infos = [one for one in _under(system, folder or "/") if fnmatch.fnmatchcase(one.path, path)]
        infos = infos or [
            inner
            for one in system.get_file_info(arrow_fs.FileSelector(folder or "/", recursive=True))
            if one.type is arrow_fs.FileType.Directory and fnmatch.fnmatchcase(one.path, path)
            for inner in _under(system, one.path)
        ]
    for info in infos:
        if not info.base_name.startswith(_HIDDEN):
            yield InputFile(prefix + info.path, info.size)


def _under(system: Any, path: str) -> list[Any]:
    info = system.get_file_info(path)
    if info.type is arrow_fs.FileType.Directory:
        inside = system.get_file_info(arrow_fs.FileSelector(path, recursive=True))
        return [one for one in inside if one.type is arrow_fs.FileType.File]
    return [info] if info.type is arrow_fs.FileType.File else []


def resolve(source: str) -> tuple[Any, str, str]:
    """(file system, path in it, what to put before its paths to get back to what readers open)."""
    if not _URI.match(source):
        from pathlib import Path

        return arrow_fs.LocalFileSystem(), str(Path(source).absolute()), ""
    uri = _S3.sub("s3://", source)
    glob = _GLOB.search(uri)
    if glob is None:
        system, path = arrow_fs.FileSystem.from_uri(uri)
        return system, path, uri.removesuffix(path)
    fixed = uri[: glob.start()].rpartition("/")[0]
    system, path = arrow_fs.FileSystem.from_uri(fixed)
    return system, path + uri[len(fixed) :], fixed.removesuffix(path)


def _one_line(error: Exception) -> str:
    return escape_for_display(" ".join(str(error).split()), 300)


def open_file(path: str, start: int = 0) -> Readable:
    """The file's bytes from there on, as they are stored."""
    system, name, _ = resolve(path)
    if start:
        stream = system.open_input_file(name)
        stream.seek(start)
    else:
        stream = system.open_input_stream(name, compression=None)
    opened: Readable = stream
    return opened


def compression_of(path: str) -> str | None:
    """`gzip`, `zstd` or None, by the first bytes, whatever the file's name is."""
    stream = open_file(path)
    try:
        head = stream.read(len(_ZSTD))
    finally:
        stream.close()
    if head.startswith(_GZIP):
        return "gzip"
    return "zstd" if head == _ZSTD else None


def open_text(path: str) -> Readable:
    """The file's bytes from the beginning, decompressed; members and frames may follow one another.

    Reading a torn one raises OSError where it tears.
    """
    system, name, _ = resolve(path)
    opened: Readable = system.open_input_stream(name, compression=compression_of(path))
    return opened


def read_head(path: str) -> bytes:
    """The first bytes, decompressed; what is torn ends where it tears."""
    stream = open_text(path)
    head = b""
    with suppress(OSError):
        while len(head) < HEAD_BYTES and (more := stream.read(HEAD_BYTES - len(head))):
            head += more
    stream.close()
    return head


def cut(file: InputFile, *, splittable: bool, slots: int, total_bytes: int) -> Sequence[ByteRange]:
    """The ranges of a file: one where it can't be split, else of even size, so that all slots have work.

    The cuts depend on the machine, the rows that come of them do not: a line belongs to the range that it begins in.
    """
    if not splittable or file.size <= SMALLEST_RANGE:
        return [ByteRange(file.path, 0, file.size)]
    wanted = total_bytes // max(1, slots * RANGES_PER_TASK_SLOT)
    size = min(LARGEST_RANGE, max(SMALLEST_RANGE, wanted))
    return [ByteRange(file.path, start, min(start + size, file.size)) for start in range(0, file.size, size)]
