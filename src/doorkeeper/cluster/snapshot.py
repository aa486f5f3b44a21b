"""Snapshots of the metadata log: `<offset>-<epoch>.checkpoint` files.

A snapshot is a control batch with SnapshotHeaderRecord, data batches, and a control batch with SnapshotFooterRecord;
offsets inside it count from 0. From org.apache.kafka.snapshot (Snapshots, RecordsSnapshotWriter) of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from doorkeeper.cluster.durable import save_durably, storage_errors
from doorkeeper.errors import RecordError, StorageError
from doorkeeper.wire.metadata.control import (
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    read_control_record,
    write_control_record,
)
from doorkeeper.wire.metadata.schema import Message
from doorkeeper.wire.metadata.serde import VersionedRecord, read_metadata_record, write_metadata_record
from doorkeeper.wire.records import Record, iter_batches, write_batch

CHECKPOINT_SUFFIX: Final = ".checkpoint"
PART_SUFFIX: Final = ".part"
RECORDS_PER_BATCH: Final = 1000
BYTES_PER_BATCH: Final = 1024 * 1024
"""A batch ends at whichever comes first; Kafka's readers take up to 8 MB."""


class SnapshotId(NamedTuple):
    """The first offset that a snapshot does *not* contain, and the epoch of the last one that it does."""

    offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.offset:020d}-{self.epoch:010d}{CHECKPOINT_SUFFIX}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot, read: its records, and the timestamp of the last record of the log that it contains."""

    records: list[VersionedRecord]
    last_contained_timestamp: int


def parse_snapshot_name(name: str) -> SnapshotId | None:
    """The id that a file name says; None for any other file, part files among them."""
    stem = name.removesuffix(CHECKPOINT_SUFFIX)
    offset, dash, epoch = stem.partition("-")
    if stem == name or not dash or (len(offset), len(epoch)) != (20, 10) or not (offset + epoch).isdecimal():
        return None
    return SnapshotId(int(offset), int(epoch))


def list_snapshots(directory: Path) -> list[SnapshotId]:
    """The finished snapshots of a directory, newest first."""
    with storage_errors("list", directory):
        names = [entry.name for entry in directory.iterdir()]
    return sorted((found for name in names if (found := parse_snapshot_name(name))), reverse=True)


def write_snapshot(
    records: Iterable[VersionedRecord], snapshot_id: SnapshotId, *, last_contained_timestamp: int, now: int
) -> bytes:
    """The bytes of a snapshot with these records; `now` stamps its batches."""
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_timestamp)
    out = bytearray(_control_batch(header, 0, snapshot_id.epoch, now))
    offset = 1
    batch: list[Record] = []
    size = 0
    for record in records:
        value = write_metadata_record(record)
        if batch and (len(batch) >= RECORDS_PER_BATCH or size + len(value) > BYTES_PER_BATCH):
            out += write_batch(batch, base_offset=offset, leader_epoch=snapshot_id.epoch)
            offset += len(batch)
            batch, size = [], 0
        batch.append(Record(value, timestamp=now))
        size += len(value)
    if batch:
        out += write_batch(batch, base_offset=offset, leader_epoch=snapshot_id.epoch)
        offset += len(batch)
    out += _control_batch(SnapshotFooterRecord(), offset, snapshot_id.epoch, now)
    return bytes(out)


def _control_batch(message: Message, offset: int, epoch: int, now: int) -> bytes:
    key, value = write_control_record(message)
    return write_batch([Record(value, key, now)], base_offset=offset, leader_epoch=epoch, is_control=True)


def read_snapshot(data: bytes) -> Snapshot:
    """Read a snapshot's bytes; one without its footer is unfinished, and a RecordError."""
    records: list[VersionedRecord] = []
    timestamp: int | None = None
    finished = False
    for _, batch in iter_batches(data):
        if finished:
            raise RecordError("batches follow the footer")
        if not batch.header.is_control:
            records.extend(read_metadata_record(record.value) for record in batch.records)
            continue
        for record in batch.records:
            message, _version = read_control_record(record.key, record.value)
            if isinstance(message, SnapshotHeaderRecord):
                timestamp = message.last_contained_log_timestamp
            finished = finished or isinstance(message, SnapshotFooterRecord)
    if timestamp is None:
        raise RecordError("it does not begin with a snapshot header")
    if not finished:
        raise RecordError("its footer is missing")
    return Snapshot(records, timestamp)


def load_snapshot(path: Path) -> Snapshot:
    with storage_errors("read", path):
        data = path.read_bytes()
    try:
        return read_snapshot(data)
    except RecordError as error:
        raise StorageError(f"{path} is no usable snapshot: {error}") from None


def save_snapshot(directory: Path, snapshot_id: SnapshotId, data: bytes) -> Path:
    """Write a snapshot under a `.part` name, then give it its own: it is there as a whole or not at all."""
    path = directory / snapshot_id.file_name
    save_durably(path, data, part_suffix=PART_SUFFIX)
    return path
