"""A node's log directory, laid out as Kafka's: lock, `meta.properties`, `bootstrap.checkpoint`.

From org.apache.kafka.metadata.properties.MetaProperties (version 1) and org.apache.kafka.metadata.storage.Formatter.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final
from uuid import UUID

from doorkeeper.cluster.durable import save_durably, storage_errors
from doorkeeper.cluster.snapshot import SnapshotId, load_snapshot, write_snapshot
from doorkeeper.errors import DirectoryLockedError, StorageError
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.uuids import format_uuid, parse_uuid

META_PROPERTIES: Final = "meta.properties"
BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
BOOTSTRAP_SNAPSHOT_ID: Final = SnapshotId(0, 0)
LOCK_FILE: Final = ".lock"
METADATA_DIRECTORY: Final = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """Who a directory belongs to. `cluster_id` is any text: operators may choose it."""

    cluster_id: str
    node_id: int
    directory_id: UUID

    def to_text(self) -> str:
        return (
            "#\n"
            f"cluster.id={self.cluster_id}\n"
            f"directory.id={format_uuid(self.directory_id)}\n"
            f"node.id={self.node_id}\n"
            "version=1\n"
        )


def parse_meta_properties(text: str, path: Path) -> MetaProperties:
    """Read `meta.properties`; the path is for the error."""
    pairs = (line.split("=", 1) for line in text.split("\n") if "=" in line and not line.lstrip().startswith("#"))
    values = {key.strip(): value.strip() for key, value in pairs}
    if values.get("version") != "1":
        raise StorageError(f"{path} has version {values.get('version', 'none')}, where only 1 is read")
    directory_id = parse_uuid(values.get("directory.id", ""))
    cluster_id = values.get("cluster.id", "")
    node_id = values.get("node.id", "")
    if directory_id is None or not cluster_id or not node_id.isascii() or not node_id.isdigit():
        raise StorageError(f"{path} lacks a proper cluster.id, node.id or directory.id")
    return MetaProperties(cluster_id, int(node_id), directory_id)


class LogDirectory:
    """A log directory that this process holds until `close`."""

    def __init__(self, path: Path, properties: MetaProperties, lock: int) -> None:
        self.path = path
        self.properties = properties
        self._lock: int | None = lock

    @property
    def metadata_path(self) -> Path:
        return self.path / METADATA_DIRECTORY

    def bootstrap_records(self) -> list[VersionedRecord]:
        """The records that a new cluster begins with, as the format step left them."""
        return load_snapshot(self.path / BOOTSTRAP_CHECKPOINT).records

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> LogDirectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def is_formatted(path: Path) -> bool:
    return (path / META_PROPERTIES).exists()


def format_log_directory(
    path: Path, properties: MetaProperties, bootstrap: Sequence[VersionedRecord], now: int
) -> None:
    """Make a directory ready for its first start, as `kafka-storage format` does; `now` is in milliseconds.

    `meta.properties` comes last: a directory that has it is complete.
    """
    if is_formatted(path):
        raise StorageError(f"{path} is formatted already")
    with storage_errors("make", path):
        path.mkdir(parents=True, exist_ok=True)
    checkpoint = write_snapshot(bootstrap, BOOTSTRAP_SNAPSHOT_ID, last_contained_timestamp=0, now=now)
    save_durably(path / BOOTSTRAP_CHECKPOINT, checkpoint)
    save_durably(path / META_PROPERTIES, properties.to_text().encode())


def open_log_directory(path: Path) -> LogDirectory:
    """Lock a formatted directory and read whose it is."""
    lock = _lock(path)
    try:
        meta = path / META_PROPERTIES
        with storage_errors("read", meta):
            text = meta.read_text(encoding="utf-8", errors="replace")
        return LogDirectory(path, parse_meta_properties(text, meta), lock)
    except BaseException:
        os.close(lock)
        raise


def _lock(path: Path) -> int:
    """Take Kafka's lock file. Java locks with fcntl, so we do too; flock also keeps two nodes of one process apart."""
    with storage_errors("open", path / LOCK_FILE):
        descriptor = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise DirectoryLockedError(f"{path} is in use by another process (its {LOCK_FILE} is held)") from None
    return descriptor
