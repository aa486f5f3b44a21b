"""Opening a log: after a clean end as it was, after a crash as far as its bytes are good.

From org.apache.kafka.storage.internals.log.LogLoader, LogSegment.recover and UnifiedLog.rebuildProducerState. After a
crash, segments from the recovery point on are read through: the first batch that is cut off or whose checksum is wrong
ends the log there, and indexes, leader epochs and producers are made anew from what is good.
"""

from __future__ import annotations

import logging
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.log.batch import read_marker, view_checked
from doorkeeper.cluster.log.checkpoints import load_partition_metadata
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.files import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    offset_file,
    parse_offset_file,
    partition_directory,
)
from doorkeeper.cluster.log.leader_epochs import LeaderEpochs
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.producer_snapshot import list_snapshots, load_snapshot, remove_snapshot
from doorkeeper.cluster.log.producer_state import ProducerStates
from doorkeeper.cluster.log.segment import BatchPlace, Segment
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.cluster.log.transactions_index import AbortedTransaction
from doorkeeper.errors import RecordError, StorageError
from doorkeeper.wire.records import BatchHeader, read_batch_header

logger = logging.getLogger(__name__)


class Known(NamedTuple):
    """What the checkpoints of the directory above say of a log."""

    was_clean: bool = False
    recovery_point: int = 0
    log_start_offset: int = 0


def open_log(
    topic: str, partition: int, parent: Path, config: LogConfig, surroundings: Surroundings, known: Known, now: int
) -> PartitionLog:
    """Open, or make, the log of a partition in `parent`. StorageError if its directory can't be read."""
    directory = parent / partition_directory(topic, partition)
    with storage_errors("make", directory):
        directory.mkdir(exist_ok=True)
    return _Opening(topic, partition, directory, config, surroundings, known, now).open()


class _Opening:
    """The steps of opening one log, in their order."""

    def __init__(
        self,
        topic: str,
        partition: int,
        directory: Path,
        config: LogConfig,
        surroundings: Surroundings,
        known: Known,
        now: int,
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._directory = directory
        self._config = config
        self._near = surroundings
        self._known = known
        self._now = now
        self._epochs = LeaderEpochs.load(directory, surroundings.disk)
        self._producers = ProducerStates(partition_directory(topic, partition), surroundings.producers)
        self._segments: list[Segment] = []
        self._snapshots: list[int] = []
        self._producers_end = 0
        """The offset up to which `_producers` knows."""

    def open(self) -> PartitionLog:
        finish_interrupted(self._directory)
        for base in _list_bases(self._directory):
            self._segments.append(self._open_segment(base))
        first_bad = self._first_to_recover()
        self._snapshots = list_snapshots(self._directory)
        if first_bad < len(self._segments):
            self._recover_from(first_bad)
        end = self._end_offset()
        start = max(self._known.log_start_offset, self._segments[0].base_offset)
        self._epochs.truncate_from_end(end)
        self._epochs.truncate_from_start(self._known.log_start_offset)
        if first_bad >= len(self._segments):
            self._load_producers(end)
            self._replay_to(len(self._segments), end)
        self._remove_stray_snapshots()
        log = PartitionLog(
            self._topic,
            self._partition,
            self._directory,
            self._config,
            self._near,
            segments=self._segments,
            producers=self._producers,
            epochs=self._epochs,
            log_start_offset=start,
            log_end_offset=end,
            recovery_point=end if self._known.was_clean else min(max(self._known.recovery_point, start), end),
            snapshots=self._snapshots,
            topic_id=load_partition_metadata(self._directory),
            now=self._now,
        )
        for segment in self._segments:
            segment.release()
        return log

    def _open_segment(self, base: int) -> Segment:
        return Segment(
            self._directory,
            base,
            self._near.files,
            self._near.disk,
            created=self._now,
            jitter=self._near.jitter(self._config),
        )

    def _first_to_recover(self) -> int:
        """The place of the first segment that must be read through: unflushed at a crash, or with a bad index."""
        for place, segment in enumerate(self._segments):
            is_last = place + 1 == len(self._segments)
            end = None if is_last else self._segments[place + 1].base_offset
            if not self._known.was_clean and (end is None or end > self._known.recovery_point):
                return place
            if not _has_sound_indexes(segment):
                logger.warning("%s has no sound indexes: they are made anew", segment.path)
                return place
            segment.release()
        return len(self._segments)

    def _end_offset(self) -> int:
        """The log's end. A log that ends before its start has lost its files: it begins anew at its start."""
        if self._segments:
            end = self._segments[-1].next_offset()
            if end >= self._known.log_start_offset:
                return end
            logger.warning("%s ends before its start %d", self._directory, self._known.log_start_offset)
            self._remove_segments(0)
            self._epochs.clear()
        start = self._known.log_start_offset
        self._segments.append(
            Segment(
                self._directory,
                start,
                self._near.files,
                self._near.disk,
                created=self._now,
                jitter=self._near.jitter(self._config),
                is_new=True,
            )
        )
        return start

    # Producers

    def _load_producers(self, offset: int) -> None:
        """Begin with the newest good snapshot at or before an offset."""
        for snapshot in [each for each in self._snapshots if each > offset]:
            self._drop_snapshot(snapshot)
        while self._snapshots:
            newest = self._snapshots[-1]
            try:
                self._producers.load(load_snapshot(self._directory, newest), self._now)
            except RecordError as error:
                logger.warning("%s: snapshot %d is left out: %s", self._directory, newest, error)
                self._drop_snapshot(newest)
            else:
                self._producers_end = newest
                return
        self._producers_end = max(self._known.log_start_offset, self._segments[0].base_offset)

    def _drop_snapshot(self, offset: int) -> None:
        self._snapshots.remove(offset)
        remove_snapshot(self._directory, offset)

    def _replay_to(self, place: int, end: int) -> None:
        """Take in what is written between the snapshot and a segment, or the log's end."""
        for segment in self._segments[:place]:
            following = segment.next_offset()
            segment.release()
            if following <= self._producers_end:
                continue
            with _mapped(segment) as data:
                for batch in segment.places(segment.offset_index.lookup(self._producers_end).position):
                    if self._producers_end <= batch.base_offset < end:
                        self._replay_flushed(segment, data, batch)
            segment.release()
        self._producers_end = end

    def _replay_flushed(self, segment: Segment, data: memoryview, batch: BatchPlace) -> None:
        try:
            with data[batch.position : batch.position + batch.size] as whole:
                self._replay(whole, None)
        except RecordError as error:
            raise StorageError(f"{segment.path} is damaged at byte {batch.position}: {error}") from None

    def _replay(self, data: memoryview, segment: Segment | None) -> BatchHeader:
        """Take in one batch; a segment that is being recovered gets its aborted transactions written."""
        view = view_checked(data)
        marker = read_marker(data) if view.is_control and view.producer_id >= 0 else None
        completed = self._producers.replay(view, view.base_offset, marker)
        if completed is not None and completed.is_aborted and segment is not None:
            stable = self._producers.last_stable_offset_after(completed)
            segment.transactions.append(
                AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)
            )
        return view

    def _remove_stray_snapshots(self) -> None:
        """Keep the newest snapshot and those where a segment begins: they are where a replay may have to start."""
        bases = {segment.base_offset for segment in self._segments}
        for offset in self._snapshots[:-1]:
            if offset not in bases:
                self._drop_snapshot(offset)

    # Recovery

    def _recover_from(self, place: int) -> None:
        """Read segments through from a place on; what follows the first bad batch goes."""
        self._load_producers(self._segments[place].base_offset)
        self._replay_to(place, self._segments[place].base_offset)
        while place < len(self._segments):
            segment = self._segments[place]
            is_whole = self._recover(segment)
            place += 1
            if not is_whole:
                self._remove_segments(place)
        for snapshot in [each for each in self._snapshots if each > self._producers_end]:
            self._drop_snapshot(snapshot)

    def _recover(self, segment: Segment) -> bool:
        """Rebuild a segment's indexes and cut off a bad end; tells whether all of it was good."""
        segment.forget_indexes()
        written = segment.size
        expected = segment.base_offset
        with _mapped(segment) as data:
            good, expected = self._walk(segment, data, expected)
        self._producers_end = max(self._producers_end, expected)
        if good < written:
            segment.truncate(good)
        segment.seal()
        return good == written

    def _walk(self, segment: Segment, data: memoryview, expected: int) -> tuple[int, int]:
        """Take in batch after batch; returns how many bytes are good, and the offset after them."""
        position = 0
        while position < len(data):
            try:
                header = read_batch_header(data, position)
                if header.base_offset < expected:
                    raise RecordError(f"offset {header.base_offset}, where at least {expected} follows")  # noqa: TRY301
                if not segment.offset_index.can_hold(header.last_offset):
                    raise RecordError(f"offset {header.last_offset} does not fit into this segment")  # noqa: TRY301
                with data[position : position + header.size] as whole:
                    view = self._replay(whole, segment)
            except RecordError as error:
                logger.warning(
                    "%s: %d bytes after offset %d are cut off (%s)",
                    segment.path,
                    len(data) - position,
                    expected - 1,
                    error,
                )
                break
            if view.leader_epoch > self._epochs.latest:
                self._epochs.assign(view.leader_epoch, view.base_offset)
            place = BatchPlace(view.base_offset, view.last_offset, position, view.size, view.max_timestamp)
            segment.note(place, self._config)
            position += view.size
            expected = view.last_offset + 1
        return position, expected

    def _remove_segments(self, first: int) -> None:
        """Remove the segments that follow a bad one: their offsets would leave a gap."""
        for segment in self._segments[first:]:
            logger.warning("%s is removed: what comes before it is lost", segment.path)
            for path in segment.change_suffix(DELETED_SUFFIX):
                with storage_errors("remove", path):
                    path.unlink()
        del self._segments[first:]


@contextmanager
def _mapped(segment: Segment) -> Iterator[memoryview]:
    """A segment's bytes, without reading them all into memory."""
    if segment.size == 0:
        yield memoryview(b"")
        return
    with storage_errors("read", segment.path):
        mapped = mmap.mmap(segment.file().descriptor, segment.size, access=mmap.ACCESS_READ)
    yield memoryview(mapped)
    with suppress(BufferError):  # an error's traceback may still hold a view: then the map goes with it
        mapped.close()


def _has_sound_indexes(segment: Segment) -> bool:
    """Whether both index files are there and whole, and point into the segment."""
    try:
        offsets = segment.offset_index
        if not offsets.path.exists() or not segment.time_index.path.exists():
            return False
        is_sound = len(segment.time_index) == 0 or segment.time_index.last().offset >= segment.base_offset
        if len(offsets):
            relative, position = offsets[len(offsets) - 1]
            is_sound = is_sound and relative > 0 and 0 < position < segment.size
    except StorageError:
        return False
    return is_sound


def _list_bases(directory: Path) -> list[int]:
    """Base offsets of the segments in a directory, lowest first; index files without a segment are removed."""
    with storage_errors("list", directory):
        parsed = [found for name in os.listdir(directory) if (found := parse_offset_file(name)) is not None]
        bases = {offset for offset, suffix in parsed if suffix == LOG_SUFFIX}
        for offset, suffix in parsed:
            if suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX) and offset not in bases:
                (directory / offset_file(offset, suffix)).unlink()
    return sorted(bases)


def finish_interrupted(directory: Path) -> None:
    """Complete or undo what a crash interrupted: deletions, and the swapping in of a cleaned segment."""
    with storage_errors("tidy", directory):
        parsed = [found for name in os.listdir(directory) if (found := parse_offset_file(name)) is not None]
        for offset, suffix in parsed:
            if suffix.endswith((DELETED_SUFFIX, CLEANED_SUFFIX)):
                (directory / offset_file(offset, suffix)).unlink()
        cleaned = [offset for offset, suffix in parsed if suffix.endswith(CLEANED_SUFFIX)]
        swapped = sorted({offset for offset, suffix in parsed if suffix.endswith(SWAP_SUFFIX)})
        for base in swapped:
            if cleaned and base >= min(cleaned):
                _remove_segment_files(directory, base, SWAP_SUFFIX)
            else:
                _complete_swap(directory, base)


def _complete_swap(directory: Path, base: int) -> None:
    """Remove the segments that a cleaned one replaces, and give it its name.

    If its data file has its name already, the old segments are gone, and only indexes are left to rename.
    """
    swap = directory / offset_file(base, LOG_SUFFIX + SWAP_SUFFIX)
    if swap.exists():
        end = _end_of_file(swap, base)
        with storage_errors("list", directory):
            names = os.listdir(directory)
        for name in names:
            parsed = parse_offset_file(name)
            if parsed is not None and parsed[1] in SEGMENT_SUFFIXES and base <= parsed[0] < max(end, base + 1):
                (directory / name).unlink()
    for kind in SEGMENT_SUFFIXES:
        path = directory / offset_file(base, kind + SWAP_SUFFIX)
        if path.exists():
            path.replace(directory / offset_file(base, kind))


def _end_of_file(path: Path, base: int) -> int:
    """The offset after the last batch in a file."""
    data = path.read_bytes()
    end, position = base, 0
    try:
        while position < len(data):
            header = read_batch_header(data, position)
            end, position = header.next_offset, position + header.size
    except RecordError as error:
        raise StorageError(f"{path} is damaged: {error}") from None
    return end


def _remove_segment_files(directory: Path, base: int, suffix: str) -> None:
    for kind in SEGMENT_SUFFIXES:
        (directory / offset_file(base, kind + suffix)).unlink(missing_ok=True)
