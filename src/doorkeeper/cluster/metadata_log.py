"""The metadata log of a controller: decisions in, images out, everything on disk before it is said.

The directory is Kafka's `__cluster_metadata-0`: segments of record batches, snapshots, `quorum-state`,
`leader-epoch-checkpoint`, `partition.metadata`. One decision is one batch, so it is there as a whole or not at all.

    stage(records)  ->  seal()  ->  flush(sealed)  ->  publish(sealed)
         ^                              | StorageError
         +-------- rollback() <---------+

`stage` may be called many times before one `seal`: all of it then costs one write and one flush (group commit). Only
`flush` blocks; it touches nothing but the file, so it may run in a thread while the next decisions are staged. So may
`save` of a snapshot. One task owns a log: nothing here is locked.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from doorkeeper.cluster.durable import save_durably, storage_errors
from doorkeeper.cluster.image.loader import ImageLoader
from doorkeeper.cluster.image.metadata import MetadataDelta, MetadataImage, Provenance
from doorkeeper.cluster.segment import Segment, list_segments
from doorkeeper.cluster.snapshot import (
    CHECKPOINT_SUFFIX,
    PART_SUFFIX,
    SnapshotId,
    list_snapshots,
    load_snapshot,
    save_snapshot,
    write_snapshot,
)
from doorkeeper.errors import RecordError, ReplayError, StorageError
from doorkeeper.wire.metadata.control import LeaderChangeMessage, LeaderVoter, write_control_record
from doorkeeper.wire.metadata.serde import VersionedRecord, read_metadata_record, write_metadata_record
from doorkeeper.wire.metadata.types import AbortTransactionRecord
from doorkeeper.wire.records import Batch, Record, write_batch
from doorkeeper.wire.uuids import format_uuid

logger = logging.getLogger(__name__)

QUORUM_STATE: Final = "quorum-state"
LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
METADATA_TOPIC_ID: Final = UUID(int=1)
MEBIBYTES: Final = 1024 * 1024
MAX_EPOCH: Final = 2**31 - 1
MAX_BATCH_BYTES: Final = 8 * MEBIBYTES
"""KafkaRaftClient.MAX_BATCH_SIZE_BYTES: Kafka's readers take no larger batch."""
KEPT_SNAPSHOTS: Final = 2
"""The log is kept from the older one on: followers a little behind need no snapshot, and the newest may be damaged."""
READ_BYTES: Final = 8 * MEBIBYTES


@dataclass(frozen=True, slots=True)
class Sealed:
    """Batches that are to be written in one go, and the image after them."""

    data: bytes
    image: MetadataImage


@dataclass(frozen=True, slots=True)
class PendingSnapshot:
    """An image that is to be saved as a snapshot."""

    directory: Path
    id: SnapshotId
    image: MetadataImage

    def save(self, now: int) -> None:
        """Write the file; touches nothing else, so it may run in a thread."""
        timestamp = self.image.provenance.timestamp
        data = write_snapshot(self.image.to_records(), self.id, last_contained_timestamp=timestamp, now=now)
        save_snapshot(self.directory, self.id, data)


class MetadataLog:
    """An open log. `image` is what is on disk, `staged_image` what will be once all that is staged is written."""

    def __init__(self, directory: Path, node_id: int) -> None:
        """Load a directory, which may be new; the caller holds its lock."""
        self._directory = directory
        self._node_id = node_id
        with storage_errors("make", directory):
            directory.mkdir(exist_ok=True)
        self._remove_part_files()
        self._segments: list[Segment] = []
        self._epoch_starts: list[tuple[int, int]] = []
        self._pending = bytearray()
        self._broken = False
        self._is_writing = False
        self._roll_due = False
        self.snapshots: list[SnapshotId] = list_snapshots(directory)
        """Newest first."""
        self.image = self._load_snapshot()
        self._load_segments()
        self._staged_offset = self.end_offset
        self.staged_image = self.image
        self.epoch = max(self._quorum_epoch(), self._last_epoch)
        """The leader epoch that batches are written at; `begin_epoch` starts a new one."""

    # --- loading -------------------------------------------------------------------------------------------------

    def _remove_part_files(self) -> None:
        with storage_errors("clean", self._directory):
            for path in self._directory.glob(f"*{CHECKPOINT_SUFFIX}{PART_SUFFIX}"):
                path.unlink()

    def _load_snapshot(self) -> MetadataImage:
        """The image of the newest snapshot. A damaged one is passed over if an older one, or the log, covers for it."""
        for snapshot_id in list(self.snapshots):
            try:
                return self._image_of(snapshot_id)
            except StorageError as error:
                self.snapshots.remove(snapshot_id)
                logger.warning("%s; it is passed over", error)
        return MetadataImage.EMPTY

    def _image_of(self, snapshot_id: SnapshotId) -> MetadataImage:
        path = self._directory / snapshot_id.file_name
        snapshot = load_snapshot(path)
        provenance = Provenance(snapshot_id.offset - 1, snapshot_id.epoch, snapshot.last_contained_timestamp)
        try:
            return ImageLoader().replay_batch(snapshot.records, provenance)
        except ReplayError as error:
            raise StorageError(f"{path} is no usable snapshot: {error}") from None

    def _load_segments(self) -> None:
        next_offset = self.image.provenance.offset + 1
        bases = list_segments(self._directory) or [next_offset]
        if bases[0] > next_offset:
            raise StorageError(f"{self._directory} lacks the records from {next_offset} to {bases[0] - 1}")
        loader = ImageLoader(self.image)
        self._last_epoch = max(self.image.provenance.epoch, 0)
        for base in bases:
            if self._segments and self.end_offset != base:
                raise StorageError(f"{self._directory} lacks the records from {self.end_offset} to {base - 1}")
            self._segments.append(Segment(self._directory, base))
            for batch in self._segments[-1].recover(is_last=base == bases[-1]):
                self._load_batch(loader, batch)
        if self.end_offset < next_offset:
            raise StorageError(f"{self._directory} ends at {self.end_offset}, before its snapshot does ({next_offset})")
        self.image = loader.image
        self._in_transaction = loader.in_transaction
        if self.image.unknown:
            logger.warning("%s holds %d records of unknown types", self._directory, len(self.image.unknown))

    def _load_batch(self, loader: ImageLoader, batch: Batch) -> None:
        header = batch.header
        self._note_epoch(header.leader_epoch, header.base_offset)
        if header.last_offset <= loader.image.provenance.offset:
            return
        try:
            records = [] if header.is_control else [read_metadata_record(record.value) for record in batch.records]
            loader.replay_batch(records, Provenance(header.last_offset, header.leader_epoch, header.max_timestamp))
        except (RecordError, ReplayError) as error:
            raise StorageError(f"{self._directory}: the batch at offset {header.base_offset}: {error}") from None

    def _note_epoch(self, epoch: int, offset: int) -> None:
        self._last_epoch = max(self._last_epoch, epoch)
        if not self._epoch_starts or epoch > self._epoch_starts[-1][0]:
            self._epoch_starts.append((epoch, offset))

    def _quorum_epoch(self) -> int:
        path = self._directory / QUORUM_STATE
        if not path.exists():
            return 0
        with storage_errors("read", path):
            text = path.read_text(encoding="utf-8", errors="replace")
        try:
            epoch = json.loads(text)["leaderEpoch"]
        except (ValueError, KeyError, TypeError, RecursionError):
            epoch = None
        if not isinstance(epoch, int):
            raise StorageError(f"{path} does not say its leaderEpoch")
        return epoch

    # --- what is there -------------------------------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        """The first offset that can be read."""
        return self._segments[0].base_offset

    @property
    def end_offset(self) -> int:
        """The offset after the last one on disk; with one voter, the high watermark."""
        return self._segments[-1].next_offset

    @property
    def size(self) -> int:
        """Bytes of log after the newest snapshot, or thereabouts: the measure for when to make the next."""
        return self._segments[-1].size

    def read(self, offset: int, max_bytes: int = READ_BYTES) -> bytes:
        """Whole batches from the one that holds `offset` on; empty at the end; StorageError below the start."""
        if offset >= self.end_offset:
            return b""
        for segment in reversed(self._segments):
            if segment.base_offset <= offset:
                return segment.read(offset, max_bytes)
        raise StorageError(f"offset {offset} is below the log's start, {self.start_offset}")

    def snapshot_path(self, snapshot_id: SnapshotId) -> Path:
        return self._directory / snapshot_id.file_name

    # --- writing -------------------------------------------------------------------------------------------------

    def begin_epoch(self, now: int) -> int:
        """Become leader: a new epoch, said in `quorum-state` and by a LeaderChangeMessage; both are on disk after."""
        epoch = self.epoch + 1
        if epoch > MAX_EPOCH:
            raise StorageError(f"{self._directory} is damaged: no epoch can follow {self.epoch}")
        self._save_quorum_state(epoch)
        self.epoch = epoch
        voter = (LeaderVoter(voter_id=self._node_id),)
        message = LeaderChangeMessage(leader_id=self._node_id, voters=voter, granting_voters=voter)
        key, value = write_control_record(message)
        self._stage([Record(value, key, now)], (), is_control=True)
        start = self._staged_offset - 1
        if self._in_transaction:
            # Whoever led before left a transaction open: what we write now must not become part of it.
            abort = VersionedRecord(AbortTransactionRecord(reason="the leader changed"), 0)
            self._stage([Record(write_metadata_record(abort), timestamp=now)], ())
        self.commit()
        self._in_transaction = False
        self._note_epoch(epoch, start)
        self._save_epoch_starts()
        return epoch

    def stage(self, records: Sequence[VersionedRecord], now: int) -> MetadataImage:
        """Add one decision to what `seal` takes next; the image after it. A record that can't be is refused here."""
        return self._stage([Record(write_metadata_record(record), timestamp=now) for record in records], records)

    def _stage(
        self, encoded: list[Record], records: Iterable[VersionedRecord], *, is_control: bool = False
    ) -> MetadataImage:
        if self._broken:
            raise StorageError(f"{self._directory} takes no writes since one failed; a restart recovers it")
        batch = write_batch(encoded, base_offset=self._staged_offset, leader_epoch=self.epoch, is_control=is_control)
        if len(batch) > MAX_BATCH_BYTES:
            raise RecordError(f"a decision of {len(batch)} bytes, where the metadata log takes {MAX_BATCH_BYTES}")
        delta = MetadataDelta(self.staged_image)
        for record in records:
            delta.replay(record.message)
        offset = self._staged_offset + len(encoded)
        self.staged_image = delta.apply(Provenance(offset - 1, self.epoch, encoded[-1].timestamp))
        self._staged_offset = offset
        self._pending += batch
        return self.staged_image

    def seal(self) -> Sealed | None:
        """Take all that is staged, to be written next; None if nothing is. One sealed write is under way at a time."""
        if not self._pending:
            return None
        sealed = Sealed(bytes(self._pending), self.staged_image)
        self._pending.clear()
        self._is_writing = True
        return sealed

    def flush(self, sealed: Sealed) -> None:
        """Write and flush. After a StorageError, `rollback`: the log on disk is as it was before."""
        self._segments[-1].append(sealed.data)

    def publish(self, sealed: Sealed) -> MetadataImage:
        """Make a flushed write the state of the log."""
        self._segments[-1].advance(sealed.data)
        self.image = sealed.image
        self._is_writing = False
        self._roll()
        return self.image

    def rollback(self) -> None:
        """Forget all that is staged or sealed; if the disk can't be brought back to that, refuse writes from now on."""
        self._pending.clear()
        self._is_writing = False
        self.staged_image = self.image
        self._staged_offset = self.end_offset
        try:
            self._segments[-1].truncate()
        except StorageError:
            self._broken = True
            raise

    def commit(self) -> MetadataImage:
        """Write all that is staged, now, and return the image on disk."""
        sealed = self.seal()
        if sealed is None:
            return self.image
        try:
            self.flush(sealed)
        except StorageError:
            self.rollback()
            raise
        return self.publish(sealed)

    # --- snapshots -----------------------------------------------------------------------------------------------

    def begin_snapshot(self) -> PendingSnapshot:
        """Take the image on disk for a snapshot. Its `save` may run in a thread; `finish_snapshot` comes after."""
        provenance = self.image.provenance
        return PendingSnapshot(self._directory, SnapshotId(provenance.offset + 1, provenance.epoch), self.image)

    def finish_snapshot(self, pending: PendingSnapshot) -> SnapshotId:
        """Count a saved snapshot in: begin a new segment, and drop what older snapshots have made needless."""
        if pending.id not in self.snapshots:
            self.snapshots.insert(0, pending.id)
            self._roll_due = True
            self._roll()
        return pending.id

    def save_snapshot(self, now: int) -> SnapshotId:
        """Write the image on disk as a snapshot, now."""
        pending = self.begin_snapshot()
        if pending.id not in self.snapshots:
            pending.save(now)
        return self.finish_snapshot(pending)

    def _roll(self) -> None:
        """Begin a new segment, unless a write is under way: then `publish` does. A failure here loses nothing."""
        if not self._roll_due or self._is_writing or self._broken:
            return
        self._roll_due = False
        try:
            if self._segments[-1].size:
                self._segments.append(Segment(self._directory, self.end_offset))
            self._trim()
        except StorageError as error:
            logger.warning("%s; the log goes on without it", error)

    def _trim(self) -> None:
        """Delete snapshots beyond the kept ones, and segments that lie below the oldest kept."""
        for snapshot_id in self.snapshots[KEPT_SNAPSHOTS:]:
            self._unlink(self.snapshot_path(snapshot_id))
        del self.snapshots[KEPT_SNAPSHOTS:]
        if len(self.snapshots) < KEPT_SNAPSHOTS:
            return
        while len(self._segments) > 1 and self._segments[1].base_offset <= self.snapshots[-1].offset:
            segment = self._segments.pop(0)
            segment.close()
            self._unlink(segment.path)
        self._epoch_starts = list(_epochs_from(self._epoch_starts, self.start_offset))
        self._save_epoch_starts()

    def _unlink(self, path: Path) -> None:
        with storage_errors("remove", path):
            path.unlink(missing_ok=True)

    # --- Kafka's small files -------------------------------------------------------------------------------------

    def _save_quorum_state(self, epoch: int) -> None:
        """FileQuorumStateStore, data version 0: the one for a fixed set of voters."""
        state = {
            "clusterId": "",
            "leaderId": self._node_id,
            "leaderEpoch": epoch,
            "votedId": -1,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": self._node_id}],
            "data_version": 0,
        }
        save_durably(self._directory / QUORUM_STATE, json.dumps(state, separators=(",", ":")).encode())
        partition = f"version: 0\ntopic_id: {format_uuid(METADATA_TOPIC_ID)}"
        save_durably(self._directory / PARTITION_METADATA, partition.encode())

    def _save_epoch_starts(self) -> None:
        lines = ["0", str(len(self._epoch_starts)), *(f"{epoch} {start}" for epoch, start in self._epoch_starts)]
        save_durably(self._directory / LEADER_EPOCH_CHECKPOINT, ("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        for segment in self._segments:
            segment.close()


def _epochs_from(starts: list[tuple[int, int]], offset: int) -> Iterator[tuple[int, int]]:
    """The epochs of a log that begins at `offset`, the one that it begins within among them."""
    for index, (epoch, start) in enumerate(starts):
        is_over = index + 1 < len(starts) and starts[index + 1][1] <= offset
        if not is_over:
            yield epoch, max(start, offset)
