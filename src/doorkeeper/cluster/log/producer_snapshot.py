"""Producer snapshots: `<offset>.snapshot`, the producers of a partition before that offset.

From ProducerStateManager.writeSnapshot and ProducerSnapshot.json (version 1): version int16, CRC-32C uint32 of what
follows, an array of entries. Of a producer's last batches only the very last is kept.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from doorkeeper.cluster.durable import storage_errors, write_all
from doorkeeper.cluster.log.files import SNAPSHOT_SUFFIX, Disk, offset_file, parse_offset_file
from doorkeeper.cluster.log.producer_state import BatchMetadata, ProducerEntry
from doorkeeper.errors import RecordError
from doorkeeper.wire.crc import crc32c

_VERSION: Final = 1
_HEAD: Final = struct.Struct(">hI")
_COUNT: Final = struct.Struct(">i")
_ENTRY: Final = struct.Struct(">qhiqiqiq")


def write_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    rows = [
        _ENTRY.pack(
            entry.producer_id,
            entry.epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.transaction_start,
        )
        for entry in sorted(entries, key=lambda entry: entry.producer_id)
    ]
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def read_snapshot(data: bytes) -> list[ProducerEntry]:
    """:raises RecordError: for bytes that are no snapshot, or a damaged one."""
    if len(data) < _HEAD.size + _COUNT.size:
        raise RecordError("the producer snapshot is cut off")
    version, crc = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if version != _VERSION:
        raise RecordError(f"a producer snapshot of version {version}, where only {_VERSION} is read")
    if crc != crc32c(body):
        raise RecordError("the producer snapshot's checksum is wrong")
    if _COUNT.unpack_from(body)[0] * _ENTRY.size != len(body) - _COUNT.size:
        raise RecordError("the producer snapshot does not have as many entries as it says")
    return [_entry(*row) for row in _ENTRY.iter_unpack(body[_COUNT.size :])]


def _entry(
    producer_id: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    transaction_start: int,
) -> ProducerEntry:
    batches = [BatchMetadata(last_sequence, last_offset, offset_delta, timestamp)] if last_offset >= 0 else []
    return ProducerEntry(producer_id, epoch, coordinator_epoch, timestamp, transaction_start, batches)


def save_snapshot(directory: Path, offset: int, entries: Iterable[ProducerEntry], disk: Disk, *, sync: bool) -> None:
    path = directory / offset_file(offset, SNAPSHOT_SUFFIX)
    with storage_errors("write", path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            write_all(descriptor, write_snapshot(entries))
            if sync:
                disk.sync(descriptor)
        finally:
            os.close(descriptor)


def load_snapshot(directory: Path, offset: int) -> list[ProducerEntry]:
    path = directory / offset_file(offset, SNAPSHOT_SUFFIX)
    with storage_errors("read", path):
        return read_snapshot(path.read_bytes())


def list_snapshots(directory: Path) -> list[int]:
    """The offsets of the snapshots in a directory, lowest first."""
    with storage_errors("list", directory):
        names = [parse_offset_file(name) for name in os.listdir(directory)]
    return sorted(name[0] for name in names if name is not None and name[1] == SNAPSHOT_SUFFIX)


def remove_snapshot(directory: Path, offset: int) -> None:
    path = directory / offset_file(offset, SNAPSHOT_SUFFIX)
    with storage_errors("remove", path):
        path.unlink(missing_ok=True)
