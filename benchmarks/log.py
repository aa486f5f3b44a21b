"""Appending to and reading from a partition log, against writing the same bytes to a file and nothing else.

One batch an append, checked, numbered in place and written, as a broker does it for a Produce request. The peer is
`os.write` of the same bytes: what no log can go below. The ratios depend on how much of the time the kernel takes.
"""

from __future__ import annotations

import itertools
import os
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from crc32c import crc32c

from benchmarks.measure import Row, compare
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.files import Disk
from doorkeeper.cluster.log.partition_log import Appended, PartitionLog
from doorkeeper.cluster.log.reading import ReadResult
from doorkeeper.cluster.log.store import open_store
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.wire.records import Record, write_batch

NOW = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=64 * 1024 * 1024, retention_bytes=128 * 1024 * 1024)
SIZES = {"200 bytes": (200, 5000, 15.0), "16 KB": (16 * 1024, 1000, 4.0), "256 KB": (256 * 1024, 100, 2.0)}
"""Bytes of a batch, batches a round, and the ratio to stay below."""
HEADER_AND_RECORD_BYTES = 75
IDLE_PARTITIONS = 1000


def rows() -> list[Row]:
    found = []
    with tempfile.TemporaryDirectory() as directory:
        near = Surroundings(disk=Disk(sync=lambda _: None))
        store = open_store(Path(directory), lambda _: CONFIG, NOW, near)
        log = store.create("bench", 0, UUID(int=1), CONFIG, NOW)
        raw = os.open(Path(directory) / "raw", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        for name, (size, loops, at_most) in SIZES.items():
            data = write_batch([Record(os.urandom(size - HEADER_AND_RECORD_BYTES), timestamp=NOW)], base_offset=0)
            found.append(_append_row(name, log, raw, data, loops, at_most))
        found.append(_idempotent_row(log, raw))
        found += _read_rows(log, raw)
        os.close(raw)
    found.append(_idle_row())
    return found


def _append_row(name: str, log: PartitionLog, raw: int, data: bytes, loops: int, at_most: float) -> Row:
    def ours() -> None:
        result = log.append(bytearray(data), leader_epoch=1, now=NOW)
        assert isinstance(result, Appended)

    row = compare(f"append {name}", ours, _writer(raw, data), at_most=at_most, loops=loops)
    _trim(log, raw)
    return row


def _writer(raw: int, data: bytes) -> Callable[[], None]:
    """Write a fresh copy: the log's buffer is a fresh one too."""

    def peer() -> None:
        os.write(raw, bytearray(data))

    return peer


def _idempotent_row(log: PartitionLog, raw: int) -> Row:
    record = Record(os.urandom(125), timestamp=NOW)
    data = write_batch([record], base_offset=0, producer_id=7, producer_epoch=0, base_sequence=0)
    sequences = itertools.count()

    def ours() -> None:
        batch = bytearray(data)
        struct.pack_into(">i", batch, 53, next(sequences))
        struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
        assert isinstance(log.append(batch, leader_epoch=1, now=NOW), Appended)

    row = compare("append 200 bytes, idempotent", ours, _writer(raw, data), at_most=20.0, loops=5000)
    _trim(log, raw)
    return row


def _trim(log: PartitionLog, raw: int) -> None:
    """Keep the benchmark's files small."""
    os.ftruncate(raw, 0)
    log.delete_records(-1)
    log.delete_segments(len(log.segments), NOW)
    log.reap(1_000_000)


def _read_rows(log: PartitionLog, raw: int) -> list[Row]:
    for _ in range(20_000):
        log.append(bytearray(write_batch([Record(bytes(125), timestamp=NOW)], base_offset=0)), leader_epoch=1, now=NOW)
    start = log.log_start_offset
    places = itertools.cycle(range(start, log.log_end_offset, 777))

    def find() -> None:
        assert isinstance(log.read(next(places), 1 << 20), ReadResult)

    def tail() -> None:
        assert isinstance(log.read(log.log_end_offset - 1, 1 << 20), ReadResult)

    os.write(raw, bytes(8192))

    def peer() -> None:
        os.pread(raw, 8192, 0)

    return [
        compare("find any offset among small batches", find, peer, at_most=40.0, loops=2000),
        compare("find the last offset", tail, peer, at_most=10.0, loops=2000),
    ]


def _idle_row() -> Row:
    """CPU of a step over many idle partitions, with nothing due, against one call of the clock."""
    with tempfile.TemporaryDirectory() as directory:
        store = open_store(Path(directory), lambda _: CONFIG, NOW, Surroundings(disk=Disk(sync=lambda _: None)))
        for partition in range(IDLE_PARTITIONS):
            store.create("idle", partition, UUID(int=1), CONFIG, NOW)
        return compare(
            f"a step over {IDLE_PARTITIONS} idle partitions",
            lambda: store.step(NOW),
            time.time,
            at_most=20_000.0,
            loops=20,
            peer_loops=10_000,
        )
