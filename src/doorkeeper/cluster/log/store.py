"""All partition logs of one directory: opened at the start, kept while they are needed, closed at the end.

From kafka.log.LogManager. Background work (retention, compaction, removing files, expiring producers, checkpoints) is
done by `step`, in bounded pieces, when its caller has time; between steps the store costs nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    TopicPartition,
    load_offsets,
    save_clean_shutdown,
    save_offsets,
    save_partition_metadata,
    take_clean_shutdown,
)
from doorkeeper.cluster.log.compaction import Compaction, Dirt, measure_dirt, needs_compaction
from doorkeeper.cluster.log.config import MAX_LONG, LogConfig
from doorkeeper.cluster.log.files import (
    DELETED_DIRECTORY_SUFFIX,
    deleted_directory,
    parse_partition_directory,
    partition_directory,
)
from doorkeeper.cluster.log.flushing import FlushJob, needs_flush
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.recovery import Known, open_log
from doorkeeper.cluster.log.retention import apply_retention
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.errors import StorageError

logger = logging.getLogger(__name__)

METADATA_TOPIC: Final = "__cluster_metadata"
DEFAULT_STEP_BYTES: Final = 1024 * 1024
FILES_PER_STEP: Final = 4
"""To remove one may take milliseconds where the file system keeps a journal."""
LOGS_PER_STEP: Final = 64


@dataclass(frozen=True, slots=True)
class Intervals:
    """How often each kind of background work comes round, in milliseconds; Kafka's defaults."""

    retention: int = 300_000
    """log.retention.check.interval.ms"""
    compaction: int = 15_000
    """log.cleaner.backoff.ms"""
    checkpoint: int = 60_000
    """log.flush.offset.checkpoint.interval.ms"""
    producers: int = 600_000
    """producer.id.expiration.check.interval.ms"""
    flush: int = 1_000
    """How often flush.ms is looked at, where a topic has it."""


class LogStore:
    """Made by `open_store`."""

    def __init__(self, path: Path, surroundings: Surroundings, intervals: Intervals, now: int) -> None:
        self.path = path
        self.broken: dict[TopicPartition, str] = {}
        """Partitions whose directory could not be opened, and why."""
        self._near = surroundings
        self._intervals = intervals
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._condemned: list[Path] = []
        """Directories of deleted partitions, to be emptied."""
        self._compaction: Compaction | None = None
        self._queue: list[PartitionLog] = []
        """Logs that this round of retention has not looked at yet."""
        self._due = {
            "retention": now + intervals.retention,
            "compaction": now + intervals.compaction,
            "checkpoint": now + intervals.checkpoint,
            "producers": now + intervals.producers,
            "flush": MAX_LONG,
        }

    def __len__(self) -> int:
        return len(self._logs)

    def __iter__(self) -> Iterator[PartitionLog]:
        return iter(self._logs.values())

    def get(self, topic: str, partition: int) -> PartitionLog | None:
        return self._logs.get((topic, partition))

    # Partitions come and go

    def create(self, topic: str, partition: int, topic_id: UUID, config: LogConfig, now: int) -> PartitionLog:
        """Make the log of a new partition, or return the one that is there. StorageError if the disk refuses."""
        known = self._logs.get((topic, partition))
        if known is not None:
            return known
        directory = self.path / partition_directory(topic, partition)
        is_new = not directory.exists()
        try:
            log = self._open(topic, partition, topic_id, config, now)
        except StorageError:
            if is_new:  # a half of a log must not be found beside the whole one that another directory may get
                _remove(directory)
            raise
        self.broken.pop((topic, partition), None)
        self._add(log)
        return log

    def _open(self, topic: str, partition: int, topic_id: UUID, config: LogConfig, now: int) -> PartitionLog:
        log = open_log(topic, partition, self.path, config, self._near, Known(was_clean=True), now)
        if log.topic_id is None:
            save_partition_metadata(log.directory, topic_id, self._near.disk)
            log.topic_id = topic_id
        return log

    def _add(self, log: PartitionLog) -> None:
        self._logs[log.topic, log.partition] = log
        self._note_flush(log.config)

    def _note_flush(self, config: LogConfig) -> None:
        """Begin to look at flush.ms with the first topic that has it: idle partitions cost nothing."""
        if config.flush_ms < MAX_LONG:
            self._due["flush"] = 0

    def set_config(self, topic: str, config: LogConfig) -> None:
        """A topic's configs have changed."""
        for log in self._logs.values():
            if log.topic == topic:
                log.config = config
        self._note_flush(config)

    def delete(self, topic: str, partition: int) -> None:
        """Give a partition up: its directory is renamed at once, its files go with the next steps.

        :raises StorageError: when it can't be renamed; then the log is as it was.
        """
        log = self._logs.get((topic, partition))
        if log is None:
            return
        renamed = log.directory.with_name(deleted_directory(topic, partition, uuid4()))
        with storage_errors("rename", log.directory):
            log.directory.replace(renamed)
        del self._logs[topic, partition]
        if self._compaction is not None and self._compaction.log is log:
            self._compaction.abandon()
            self._compaction = None
        if log in self._queue:
            self._queue.remove(log)
        for segment in log.segments:
            segment.release()
        log.offline = f"The log for partition {log.name} was deleted"
        self._condemned.append(renamed)
        log.waiters.notify()

    # Background work

    def next_due(self) -> int:
        """When `step` has something to do next; 0 for at once. It may be called earlier, to no effect."""
        if self._compaction is not None or self._queue or self._condemned or any(log.doomed for log in self):
            return 0
        return min(self._due.values())

    def step(self, now: int, budget: int = DEFAULT_STEP_BYTES) -> bool:
        """Do a bounded piece of work; tells whether more is waiting."""
        self._remove_files()
        self._start_due_work(now)
        for _ in range(min(LOGS_PER_STEP, len(self._queue))):
            log = self._queue.pop()
            if log.offline is None:
                log.attempt(lambda log=log: apply_retention(log, now))  # type: ignore[misc]
        if self._compaction is not None:
            self._compact(self._compaction, budget, now)
        return self.next_due() <= now

    def _start_due_work(self, now: int) -> None:
        for kind, start in (
            ("retention", self._start_retention),
            ("compaction", self._start_compaction),
            ("checkpoint", self._save_checkpoints),
            ("producers", self._expire_producers),
            ("flush", self._flush_due),
        ):
            if now >= self._due[kind]:
                self._due[kind] = now + getattr(self._intervals, kind)
                start(now)

    def _start_retention(self, now: int) -> None:
        self._queue = list(self._logs.values())

    def _start_compaction(self, now: int) -> None:
        """Begin with the log of which most is dirty (LogCleanerManager.grabFilthiestCompactedLog)."""
        if self._compaction is not None:
            return
        dirtiest: tuple[PartitionLog, Dirt] | None = None
        for log in self._logs.values():
            if not log.config.is_compacted or log.offline is not None or len(log.segments) == 1:
                continue
            dirt = log.attempt(lambda log=log: measure_dirt(log, now))  # type: ignore[misc]
            if dirt is None or not needs_compaction(log, dirt):
                continue
            if dirtiest is None or dirt.ratio > dirtiest[1].ratio:
                dirtiest = (log, dirt)
        if dirtiest is not None:
            self._compaction = Compaction(*dirtiest, now)

    def _compact(self, compaction: Compaction, budget: int, now: int) -> None:
        if compaction.log.attempt(lambda: compaction.step(budget)) is not False:
            self._compaction = None
            self._due["compaction"] = now  # another log may be as dirty
            if compaction.log.offline is not None:
                compaction.abandon()

    def _expire_producers(self, now: int) -> None:
        for log in self._logs.values():
            if log.producers.entries:
                log.producers.expire(now)

    def _flush_due(self, now: int) -> None:
        if all(log.config.flush_ms == MAX_LONG for log in self._logs.values()):
            self._due["flush"] = MAX_LONG
        for log in self._logs.values():
            is_dirty = log.offline is None and log.recovery_point < log.log_end_offset
            if is_dirty and now - log.last_flushed >= log.config.flush_ms:
                log.attempt(lambda log=log: log.flush(now))  # type: ignore[misc]

    def _remove_files(self) -> None:
        left = FILES_PER_STEP
        for log in self._logs.values():
            if log.doomed and left > 0:
                before = len(log.doomed)
                log.attempt(lambda log=log, left=left: log.reap(left))  # type: ignore[misc]
                left -= before - len(log.doomed)
        while self._condemned and left > 0:
            left = self._empty(self._condemned[-1], left)

    def _empty(self, directory: Path, left: int) -> int:
        """Remove up to so many files of a deleted partition, and the directory after the last."""
        try:
            for name in os.listdir(directory)[:left]:
                (directory / name).unlink()
                left -= 1
            if left > 0:
                directory.rmdir()
                self._condemned.pop()
        except OSError as error:
            logger.warning("%s can't be removed now: %s", directory, error)
            self._condemned.pop()
        return left

    def flush_jobs(self) -> list[FlushJob]:
        """Rolled segments that wait to be flushed: run each job, in another thread if need be, then finish it."""
        return [FlushJob(log, self._near.disk) for log in self._logs.values() if needs_flush(log)]

    # Checkpoints and the end

    def _save_checkpoints(self, now: int) -> None:
        try:
            self.checkpoint()
        except StorageError as error:
            logger.warning("checkpoints are not saved: %s", error)

    def checkpoint(self) -> None:
        """Save what the next start wants to know of every log."""
        disk = self._near.disk
        logs = self._logs
        save_offsets(self.path / RECOVERY_POINTS, {key: log.recovery_point for key, log in logs.items()}, disk)
        starts = {
            key: log.log_start_offset for key, log in logs.items() if log.log_start_offset > log.segments[0].base_offset
        }
        save_offsets(self.path / LOG_START_OFFSETS, starts, disk)
        save_offsets(self.path / HIGH_WATERMARKS, {key: log.high_watermark for key, log in logs.items()}, disk)
        cleaned = {key: log.cleaned_to for key, log in logs.items() if log.cleaned_to > 0}
        save_offsets(self.path / CLEANER_OFFSETS, cleaned, disk)

    def close(self, now: int, broker_epoch: int = -1) -> None:
        """End cleanly: everything is on the disk, and the next start need not recover."""
        if self._compaction is not None:
            self._compaction.abandon()
            self._compaction = None
        is_clean = True
        for log in self._logs.values():
            is_clean &= _close(log, now)
        self.checkpoint()
        if is_clean:
            save_clean_shutdown(self.path, broker_epoch, self._near.disk)
        self._near.files.close()


def _remove(directory: Path) -> None:
    """What can be removed of a log's directory, which has files only; `shutil` would take longer to import."""
    with suppress(OSError):
        for path in list(directory.iterdir()):
            path.unlink()
        directory.rmdir()


def _close(log: PartitionLog, now: int) -> bool:
    try:
        log.close()
        if log.offline is None and log.recovery_point < log.log_end_offset:
            log.flush(now)
    except StorageError as error:
        log.fail(error)
    return log.offline is None


def open_store(
    path: Path,
    config_of: Callable[[str], LogConfig],
    now: int,
    surroundings: Surroundings | None = None,
    intervals: Intervals | None = None,
) -> LogStore:
    """Open every partition log in a directory; one that can't be read is in `broken`, the others live."""
    near = surroundings or Surroundings()
    store = LogStore(path, near, intervals or Intervals(), now)
    was_clean = take_clean_shutdown(path) is not None
    recovery_points = _load(path / RECOVERY_POINTS)
    starts = _load(path / LOG_START_OFFSETS)
    cleaned = _load(path / CLEANER_OFFSETS)
    with storage_errors("list", path):
        names = sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    for name in names:
        if name.endswith(DELETED_DIRECTORY_SUFFIX):
            store._condemned.append(path / name)
            continue
        key = parse_partition_directory(name)
        if key is None or key[0] == METADATA_TOPIC:
            continue
        known = Known(was_clean, recovery_points.get(key, 0), starts.get(key, 0))
        try:
            log = open_log(*key, path, config_of(key[0]), near, known, now)
        except StorageError as error:
            logger.error("the log of %s stays closed: %s", name, error)  # noqa: TRY400  the sentence says it all
            store.broken[key] = str(error)
            continue
        log.cleaned_to = cleaned.get(key, 0)
        store._add(log)
    return store


def _load(path: Path) -> dict[TopicPartition, int]:
    """A checkpoint; a damaged one is as good as none, and costs a longer recovery."""
    try:
        return load_offsets(path)
    except StorageError as error:
        logger.warning("%s is not used: %s", path.name, error)
        return {}
