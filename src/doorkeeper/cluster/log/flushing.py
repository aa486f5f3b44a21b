"""Flushing what is complete, so that a crash of the machine costs little and recovery reads little.

Kafka flushes a segment in the background once it is rolled (UnifiedLog.roll), and moves the recovery point behind it.
Flushing may take the disk long, so it is a job of its own: `run` may be called in any thread, for it touches files and
nothing else; `finish` belongs to the thread that the logs belong to.
"""

from __future__ import annotations

import os
from pathlib import Path

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.log.files import SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX, Disk, offset_file
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.errors import StorageError


class FlushJob:
    """Flushes the segments of one log before its active one, as they were when the job was made."""

    def __init__(self, log: PartitionLog, disk: Disk) -> None:
        self._log = log
        self._disk = disk
        self._end = log.active.base_offset
        self._error: StorageError | None = None
        unflushed = [
            segment
            for segment, following in zip(log.segments, log.segments[1:], strict=False)
            if following.base_offset > log.recovery_point
        ]
        names = [offset_file(segment.base_offset, suffix) for segment in unflushed for suffix in SEGMENT_SUFFIXES]
        self._paths = [log.directory / name for name in [*names, offset_file(self._end, SNAPSHOT_SUFFIX)]]

    def run(self) -> None:
        """Flush the files; one that is gone was deleted or replaced meanwhile, and needs it no more."""
        try:
            for path in self._paths:
                self._sync(path)
        except StorageError as error:
            self._error = error

    def _sync(self, path: Path) -> None:
        with storage_errors("flush", path):
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return
            try:
                self._disk.sync(descriptor)
            finally:
                os.close(descriptor)

    def finish(self) -> None:
        """Move the recovery point; or take the log offline, if its disk has failed."""
        if self._error is not None:
            self._log.fail(self._error)
        else:
            self._log.recovery_point = max(self._log.recovery_point, self._end)


def needs_flush(log: PartitionLog) -> bool:
    """Whether a segment was rolled since the last flush."""
    return log.offline is None and log.recovery_point < log.active.base_offset
