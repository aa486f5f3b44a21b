"""One fuzz target per file that a node reads when it starts: damage is repaired, or refused in a sentence.

A target of a directory gets one byte that chooses the file, and what that file then holds.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID

from fuzz.record_targets import lawful_metadata_record

from doorkeeper.cluster.log import checkpoints
from doorkeeper.cluster.log.batch import Marker, MarkerType
from doorkeeper.cluster.log.config import LogConfig
from doorkeeper.cluster.log.files import Disk
from doorkeeper.cluster.log.producer_snapshot import read_snapshot as read_producer_snapshot
from doorkeeper.cluster.log.reading import Isolation
from doorkeeper.cluster.log.recovery import Known, open_log
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.cluster.log.surroundings import Surroundings
from doorkeeper.cluster.log_dir import MetaProperties, parse_meta_properties
from doorkeeper.cluster.metadata_log import MetadataLog
from doorkeeper.cluster.snapshot import SnapshotId, read_snapshot, write_snapshot
from doorkeeper.errors import RecordError, StorageError
from doorkeeper.wire.crc import crc32c
from doorkeeper.wire.metadata.serde import VersionedRecord, read_metadata_record, write_metadata_record
from doorkeeper.wire.metadata.types import ConfigRecord, FeatureLevelRecord
from doorkeeper.wire.records import Record, write_batch

MEMORY: Final = Path("/dev/shm")  # where there is one: what is fuzzed is the reading, not the disk
NOW: Final = 1_700_000_000_000
UNSYNCED: Final = Surroundings(disk=Disk(sync=lambda _: None))
SMALL: Final = LogConfig(segment_bytes=400, index_interval_bytes=1)
CRC_END: Final = 6  # of a producer snapshot: version int16, CRC-32C uint32
IDENTITY: Final = MetaProperties("a-cluster", 1, UUID(int=7))
LEVEL: Final = VersionedRecord(FeatureLevelRecord(name="metadata.version", feature_level=30), 0)
FIRST_SEGMENT: Final = "00000000000000000000.log"


def _files(directory: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}


def _restore(directory: Path, files: Mapping[str, bytes], data: bytes) -> None:
    """Lay the files out, the chosen one with other bytes."""
    directory.mkdir()
    chosen = sorted(files)[(data[0] if data else 0) % len(files)]
    for name, content in files.items():
        (directory / name).write_bytes(data[1:] if name == chosen else content)


def _one_of(files: Mapping[str, bytes], chooser: random.Random) -> bytes:
    place = chooser.randrange(len(files))
    return bytes((place,)) + files[sorted(files)[place]]


def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY if MEMORY.is_dir() else None)


@cache
def _partition_files() -> Mapping[str, bytes]:
    """A partition with several segments, an aborted transaction and a producer."""
    with _scratch() as folder:
        log = open_log("t", 0, Path(folder), SMALL, UNSYNCED, Known(was_clean=True), NOW)
        for sequence in range(4):
            records = [Record(b"value" * 9, b"key", NOW + sequence)]
            producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence, "is_transactional": True}
            data = write_batch(records, base_offset=0, **producer)  # type: ignore[arg-type]
            assert not isinstance(log.append(bytearray(data), leader_epoch=sequence // 2, now=NOW), Refusal)
        log.append_marker(7, 0, Marker(MarkerType.ABORT, 0, NOW), leader_epoch=1, now=NOW)
        log.close()
        checkpoints.save_partition_metadata(log.directory, UUID(int=7), UNSYNCED.disk)
        return _files(log.directory)


def lawful_partition_directory(chooser: random.Random) -> bytes:
    return _one_of(_partition_files(), chooser)


def target_partition_directory(data: bytes) -> None:
    """A partition opens and can be read and written, or says why not: after a clean end and after a crash."""
    for known in (Known(was_clean=True), Known()):
        with _scratch() as folder:
            _restore(Path(folder) / "t-0", _partition_files(), data)
            with suppress(StorageError):
                log = open_log("t", 0, Path(folder), SMALL, UNSYNCED, known, NOW)
                for isolation in Isolation:
                    log.read(log.log_start_offset, 1000, isolation)
                log.append(bytearray(write_batch([Record(b"v")], base_offset=0)), leader_epoch=9, now=NOW)
                log.close()


def lawful_producer_snapshot(chooser: random.Random) -> bytes:
    name = next(name for name in _partition_files() if name.endswith(".snapshot"))
    return _partition_files()[name]


def target_producer_snapshot(data: bytes) -> None:
    """As it came, and with the checksum that goes with the damage."""
    for case in (data, data[:2] + crc32c(data[CRC_END:]).to_bytes(4, "big") + data[CRC_END:]):
        with suppress(RecordError):
            read_producer_snapshot(case)


@cache
def _metadata_files() -> Mapping[str, bytes]:
    with _scratch() as folder:
        directory = Path(folder) / "__cluster_metadata-0"
        log = MetadataLog(directory, 1)
        log.begin_epoch(NOW)
        log.stage([LEVEL], NOW)
        log.commit()
        log.save_snapshot(NOW)
        for number in range(3):
            log.stage(
                [VersionedRecord(ConfigRecord(resource_type=2, resource_name="t", name=f"key-{number}", value="1"), 0)],
                NOW,
            )
        log.commit()
        log.close()
        return _files(directory)


def lawful_metadata_directory(chooser: random.Random) -> bytes:
    return _one_of(_metadata_files(), chooser)


def target_metadata_directory(data: bytes) -> None:
    """A metadata log opens and takes a change, or says why not."""
    with _scratch() as folder:
        directory = Path(folder) / "__cluster_metadata-0"
        _restore(directory, _metadata_files(), data)
        _open_metadata_log(directory)


def target_metadata_replay(data: bytes) -> None:
    """A record in a sound batch, and in a sound snapshot, is replayed or refused, whatever it says."""
    with _scratch() as folder:
        directory = Path(folder) / "__cluster_metadata-0"
        directory.mkdir()
        records = [Record(write_metadata_record(LEVEL)), Record(data)]
        (directory / FIRST_SEGMENT).write_bytes(write_batch(records, base_offset=0))
        _open_metadata_log(directory)
    try:
        record = read_metadata_record(data)
    except RecordError:
        return
    with _scratch() as folder:
        directory = Path(folder) / "__cluster_metadata-0"
        directory.mkdir()
        name = SnapshotId(5, 1)
        snapshot = write_snapshot([LEVEL, record], name, last_contained_timestamp=NOW, now=NOW)
        (directory / name.file_name).write_bytes(snapshot)
        _open_metadata_log(directory)


def _open_metadata_log(directory: Path) -> None:
    with suppress(StorageError):
        log = MetadataLog(directory, 1)
        log.begin_epoch(NOW)
        log.save_snapshot(NOW)
        log.close()


def lawful_snapshot(chooser: random.Random) -> bytes:
    records = [read_metadata_record(lawful_metadata_record(chooser)) for _ in range(chooser.randrange(4))]
    return write_snapshot(records, SnapshotId(5, 1), last_contained_timestamp=NOW, now=NOW)


def target_snapshot(data: bytes) -> None:
    with suppress(RecordError):
        read_snapshot(data)


CHECKPOINTS: Final = (
    b"0\n2\nt 0 5\nother 11 9\n",
    b"0\n1\n3 50\n",
    b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw",
    b'{"version":0,"brokerEpoch":9}',
    IDENTITY.to_text().encode(),
)


def lawful_checkpoint(chooser: random.Random) -> bytes:
    return chooser.choice(CHECKPOINTS)


def target_checkpoints(data: bytes) -> None:
    """Every small text file of a log directory, whichever the bytes were meant for."""
    with _scratch() as folder:
        directory = Path(folder)
        for name in (checkpoints.RECOVERY_POINTS, checkpoints.PARTITION_METADATA, checkpoints.CLEAN_SHUTDOWN):
            (directory / name).write_bytes(data)
        with suppress(StorageError):
            checkpoints.load_offsets(directory / checkpoints.RECOVERY_POINTS)
        with suppress(StorageError):
            checkpoints.load_partition_metadata(directory)
        checkpoints.take_clean_shutdown(directory)
    with suppress(StorageError):
        parse_meta_properties(data.decode("utf-8", "replace"), Path("meta.properties"))
