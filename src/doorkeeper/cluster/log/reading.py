"""What a log gives to a fetch: a slice of a file to be sent as it is, or offsets found by time.

From LocalLog.read, UnifiedLog.fetchOffsetByTimestamp and FileRecords.searchForTimestamp.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.log.files import OpenFile
from doorkeeper.cluster.log.leader_epochs import UNDEFINED_EPOCH
from doorkeeper.cluster.log.segment import BatchPlace, Segment
from doorkeeper.errors import RecordError
from doorkeeper.wire.records import NO_TIMESTAMP, BatchHeader, read_batch, view_header

LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LATEST_TIERED_TIMESTAMP: Final = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP: Final = -6


class Isolation(IntEnum):
    """The isolation level of Fetch and ListOffsets."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class FileSlice(NamedTuple):
    """Bytes of a file that are ready to be sent; holding the slice keeps the file open."""

    file: OpenFile
    position: int
    length: int

    def read(self) -> bytes:
        """The bytes, where sendfile can't be used."""
        return os.pread(self.file.descriptor, self.length, self.position)


class AbortedRange(NamedTuple):
    """A transaction whose records a read_committed consumer must skip, from its first offset to its marker."""

    producer_id: int
    first_offset: int


class ReadResult(NamedTuple):
    """The answer to one partition of a Fetch."""

    records: FileSlice | None
    """Nothing: no records now. The slice may end inside a batch, as Kafka's do."""
    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    aborted: tuple[AbortedRange, ...] | None
    """Null for read_uncommitted."""


class FoundOffset(NamedTuple):
    """The answer to one partition of a ListOffsets."""

    offset: int
    timestamp: int = NO_TIMESTAMP
    leader_epoch: int = UNDEFINED_EPOCH


NOT_TIERED: Final = FoundOffset(-1, NO_TIMESTAMP, -1)
"""What Kafka says of tiered storage on a topic that has none."""


def find_by_time(segments: Sequence[Segment], timestamp: int, log_start_offset: int) -> FoundOffset | None:
    """The first record at or after the log's start that is at or after a time."""
    for segment in segments:
        if segment.largest_timestamp >= timestamp:
            return _find_in_segment(segment, timestamp, log_start_offset)
    return None


def _find_in_segment(segment: Segment, timestamp: int, log_start_offset: int) -> FoundOffset | None:
    near = max(segment.time_index.lookup(timestamp).offset, log_start_offset)
    for place in segment.places(segment.offset_index.lookup(near).position):
        if place.max_timestamp >= timestamp and place.last_offset >= log_start_offset:
            view, records = _open(segment, place)
            for offset, time in records:
                if time >= timestamp and offset >= log_start_offset:
                    return FoundOffset(offset, time, view.leader_epoch)
    return None


def find_max_timestamp(segments: Sequence[Segment]) -> FoundOffset | None:
    """The first record that has the largest timestamp of all."""
    latest = max(segments, key=lambda segment: segment.largest.timestamp)
    largest = latest.largest
    for place in latest.places(latest.offset_index.lookup(largest.offset).position):
        if place.max_timestamp == largest.timestamp:
            view, records = _open(latest, place)
            found = next((offset for offset, time in records if time == largest.timestamp), None)
            return None if found is None else FoundOffset(found, largest.timestamp, view.leader_epoch)
    return None


def _open(segment: Segment, place: BatchPlace) -> tuple[BatchHeader, list[tuple[int, int]]]:
    """A batch's header, and offset and time of each of its records.

    Records are not opened when they are appended, so a client may have written some that can't be: such a batch
    counts as one record with the time of its header.
    """
    data = segment.read_bytes(place.position, place.size)
    try:
        records = read_batch(data).records
    except RecordError:
        return view_header(data), [(place.base_offset, place.max_timestamp)]
    return view_header(data), [(record.offset, record.timestamp) for record in records]


def read_slice(
    segment: Segment, offset: int, max_bytes: int, end_position: int, *, at_least_one: bool
) -> FileSlice | None:
    """Bytes from the batch that holds an offset on, up to a position; nothing if no batch follows in this segment.

    With `at_least_one`, a first batch larger than `max_bytes` is given whole, so that its reader can go on.
    """
    place = segment.find(offset)
    if place is None or place.position >= end_position:
        return None
    length = min(end_position - place.position, max(max_bytes, place.size) if at_least_one else max_bytes)
    with storage_errors("open", segment.path):
        return FileSlice(segment.file(), place.position, max(0, length))
