"""The small text files beside and inside partition directories.

From org.apache.kafka.server.common.CheckpointFile (a version, a count, one entry a line), OffsetCheckpointFile,
PartitionMetadataFile and CleanShutdownFileHandler of org.apache.kafka.storage.internals.checkpoint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias
from uuid import UUID

from doorkeeper.cluster.durable import storage_errors, write_all
from doorkeeper.cluster.log.files import Disk
from doorkeeper.errors import StorageError
from doorkeeper.wire.uuids import format_uuid, parse_uuid

TopicPartition: TypeAlias = tuple[str, int]

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
_VERSION: Final = "0"


def save_text(path: Path, text: str, disk: Disk) -> None:
    """Replace a file in one step; its bytes are on the disk before its name is."""
    part = path.with_name(path.name + ".tmp")
    with storage_errors("write", path):
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            write_all(descriptor, text.encode())
            disk.sync(descriptor)
        finally:
            os.close(descriptor)
        part.replace(path)


def save_checkpoint(path: Path, entries: Iterable[str], disk: Disk) -> None:
    lines = list(entries)
    save_text(path, "".join(f"{line}\n" for line in (_VERSION, str(len(lines)), *lines)), disk)


def load_checkpoint(path: Path) -> list[list[str]]:
    """Every entry, split at white space; a file that is missing or empty has none."""
    try:
        with storage_errors("read", path):
            lines = path.read_text(encoding="utf-8").split("\n")
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return []
        raise
    if lines == [""]:
        return []
    if lines[0] != _VERSION:
        raise StorageError(f"{path} has version {lines[0]!r}, where only {_VERSION} is read")
    entries = [line.split() for line in lines[2:] if line]
    if len(lines) < 2 or lines[1] != str(len(entries)):
        raise StorageError(f"{path} does not have as many entries as it says")
    return entries


def save_offsets(path: Path, offsets: Mapping[TopicPartition, int], disk: Disk) -> None:
    """Write one offset for each partition, as OffsetCheckpointFile does."""
    save_checkpoint(path, (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()), disk)


def load_offsets(path: Path) -> dict[TopicPartition, int]:
    entries = load_checkpoint(path)
    try:
        return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}
    except ValueError:
        raise StorageError(f"{path} has a line that is no topic, partition and offset") from None


def save_partition_metadata(directory: Path, topic_id: UUID, disk: Disk) -> None:
    save_text(directory / PARTITION_METADATA, f"version: 0\ntopic_id: {format_uuid(topic_id)}", disk)


def load_partition_metadata(directory: Path) -> UUID | None:
    """The topic id that a partition's directory belongs to, or nothing if it was never written."""
    path = directory / PARTITION_METADATA
    if not path.exists():
        return None
    with storage_errors("read", path):
        lines = path.read_text(encoding="utf-8").split("\n")
    pairs = dict(line.split(": ", 1) for line in lines if ": " in line)
    topic_id = parse_uuid(pairs.get("topic_id", ""))
    if pairs.get("version") != _VERSION or topic_id is None:
        raise StorageError(f"{path} has no topic id of version {_VERSION}")
    return topic_id


def save_clean_shutdown(directory: Path, broker_epoch: int, disk: Disk) -> None:
    """Say that every log was closed: the next start need not recover any."""
    save_text(directory / CLEAN_SHUTDOWN, json.dumps({"version": 0, "brokerEpoch": broker_epoch}), disk)


def take_clean_shutdown(directory: Path) -> int | None:
    """The broker epoch of a clean shutdown (-1 if it can't be read), or nothing; it is forgotten with this call.

    From now on a crash is possible, and then a clean shutdown of long ago must not be believed.
    """
    path = directory / CLEAN_SHUTDOWN
    with storage_errors("remove", path):
        if not path.exists():
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
        path.unlink()
    try:
        epoch = json.loads(text)["brokerEpoch"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return -1
    return epoch if isinstance(epoch, int) else -1
