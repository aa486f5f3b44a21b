"""Which segments are too old or too many (UnifiedLog.deleteOldSegments)."""

from __future__ import annotations

from doorkeeper.cluster.log.partition_log import PartitionLog

MAX_SEGMENTS_PER_STEP = 64
"""Renames in one step: some milliseconds."""


def deletable_segments(log: PartitionLog, now: int) -> int:
    """How many of the oldest segments may go: before the log's start, beyond its size, or past their time."""
    count = _before_start(log)
    if log.config.is_deleted:
        count = max(count, _beyond_size(log))
        count = max(count, _past_time(log, now))
    return min(count, MAX_SEGMENTS_PER_STEP)


def apply_retention(log: PartitionLog, now: int) -> int:
    """Remove what may go; returns how many segments went."""
    count = deletable_segments(log, now)
    log.delete_segments(count, now)
    return count


def _before_start(log: PartitionLog) -> int:
    following = (segment.base_offset for segment in log.segments[1:])
    return sum(1 for base in following if base <= log.log_start_offset)


def _beyond_size(log: PartitionLog) -> int:
    limit = log.config.retention_bytes
    excess = log.size - limit
    if limit < 0 or excess < 0:
        return 0
    count = 0
    for segment in log.segments:
        excess -= segment.size
        if excess < 0 or _is_empty_active(log, count):
            break
        count += 1
    return count


def _past_time(log: PartitionLog, now: int) -> int:
    limit = log.config.retention_ms
    if limit < 0:
        return 0
    count = 0
    for segment in log.segments:
        if _is_empty_active(log, count) or now - segment.largest_timestamp <= limit:
            break
        count += 1
    return count


def _is_empty_active(log: PartitionLog, place: int) -> bool:
    return place + 1 == len(log.segments) and log.active.size == 0
