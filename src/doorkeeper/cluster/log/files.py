"""Names of a log's files, and their descriptors: opened when needed, bounded in number, closed when nobody reads.

Names are those of org.apache.kafka.storage.internals.log.LogFileUtils and LocalLog.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from doorkeeper.cluster.durable import sync_file

LOG_SUFFIX: Final = ".log"
OFFSET_INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TRANSACTION_INDEX_SUFFIX: Final = ".txnindex"
SNAPSHOT_SUFFIX: Final = ".snapshot"
SEGMENT_SUFFIXES: Final = (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
DELETED_SUFFIX: Final = ".deleted"
CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
DELETED_DIRECTORY_SUFFIX: Final = "-delete"
MAX_NAME_LENGTH: Final = 255
"""Bytes, on the file systems that Kafka runs on."""
DEFAULT_OPEN_FILES: Final = 512
"""Half of the usual limit of 1,024 descriptors; the rest is for connections."""

_OFFSET_FILE: Final = re.compile(r"([0-9]{20})(\.[a-z]+)(\.[a-z]+)?", re.ASCII)
_PARTITION_DIRECTORY: Final = re.compile(r"(.+)-([0-9]{1,10})", re.ASCII | re.DOTALL)


def offset_file(offset: int, suffix: str) -> str:
    """The name of a file that belongs to an offset."""
    return f"{offset:020d}{suffix}"


def parse_offset_file(name: str) -> tuple[int, str] | None:
    """The offset and the suffixes in a file's name, or nothing for another kind of file."""
    found = _OFFSET_FILE.fullmatch(name)
    return None if found is None else (int(found[1]), found[2] + (found[3] or ""))


def partition_directory(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """The topic and partition in a directory's name, or nothing for one that is no partition's."""
    found = _PARTITION_DIRECTORY.fullmatch(name)
    return None if found is None else (found[1], int(found[2]))


def deleted_directory(topic: str, partition: int, unique: UUID) -> str:
    """What a partition's directory is called between its deletion and the end of its files."""
    suffix = f"-{partition}.{unique.hex}{DELETED_DIRECTORY_SUFFIX}"
    return topic[: MAX_NAME_LENGTH - len(suffix)] + suffix


@dataclass(frozen=True, slots=True)
class Disk:
    """The calls that can fail for want of space or a broken device; tests pass their own."""

    write: Callable[[int, bytes | bytearray | memoryview], int] = os.write
    sync: Callable[[int], None] = sync_file


class OpenFile:
    """A descriptor that lives as long as somebody holds this object.

    A fetch may still be sending from a file that was evicted, or deleted, in the meantime.
    """

    __slots__ = ("descriptor",)

    def __init__(self, path: Path) -> None:
        self.descriptor = -1
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def fileno(self) -> int:
        return self.descriptor

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


class OpenFiles:
    """The open segment files of many logs; beyond the limit, those unused for longest are let go."""

    def __init__(self, limit: int = DEFAULT_OPEN_FILES) -> None:
        self._limit = max(1, limit)
        self._files: OrderedDict[Path, OpenFile] = OrderedDict()

    def __len__(self) -> int:
        return len(self._files)

    def open(self, path: Path) -> OpenFile:
        """The file, made if it is not there; OSErrors are the caller's to name."""
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = OpenFile(path)
            if len(self._files) > self._limit:
                self._files.popitem(last=False)
        else:
            self._files.move_to_end(path)
        return file

    def forget(self, path: Path) -> None:
        """Let a file go that is renamed or deleted; who reads from it may end in peace."""
        self._files.pop(path, None)

    def close(self) -> None:
        self._files.clear()
