"""Which leader epoch began at which offset (`leader-epoch-checkpoint`).

From org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache and LeaderEpochCheckpointFile.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import Final, NamedTuple

from doorkeeper.cluster.log.checkpoints import LEADER_EPOCHS, load_checkpoint, save_checkpoint
from doorkeeper.cluster.log.files import Disk
from doorkeeper.errors import StorageError

UNDEFINED_EPOCH: Final = -1
UNDEFINED_OFFSET: Final = -1


class EpochStart(NamedTuple):
    """An epoch and the first offset written in it."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """The answer of OffsetForLeaderEpoch: the epoch found, and the offset after its last record."""

    epoch: int
    end_offset: int


class LeaderEpochs:
    """Epochs and start offsets, both ascending; every change is saved."""

    def __init__(self, directory: Path, disk: Disk, entries: list[EpochStart]) -> None:
        self._path = directory / LEADER_EPOCHS
        self._disk = disk
        self._entries = entries

    @classmethod
    def load(cls, directory: Path, disk: Disk) -> LeaderEpochs:
        rows = load_checkpoint(directory / LEADER_EPOCHS)
        try:
            entries = sorted(EpochStart(int(epoch), int(start)) for epoch, start in rows)
        except ValueError:
            raise StorageError(f"{directory / LEADER_EPOCHS} has a line that is no epoch and offset") from None
        return cls(directory, disk, entries)

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    @property
    def latest(self) -> int:
        return self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH

    @property
    def earliest(self) -> EpochStart | None:
        return self._entries[0] if self._entries else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """Begin an epoch; entries that contradict it go."""
        if self._entries:
            last = self._entries[-1]
            if epoch == last.epoch and start_offset >= last.start_offset:
                return
        kept = [entry for entry in self._entries if entry.epoch < epoch and entry.start_offset < start_offset]
        self._replace([*kept, EpochStart(epoch, start_offset)])

    def end_of(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Where an epoch ended; with no such epoch, where the nearest one below it did."""
        if epoch == UNDEFINED_EPOCH:
            return EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if epoch == self.latest:
            return EpochEnd(epoch, log_end_offset)
        place = bisect_right(self._entries, epoch, key=lambda entry: entry.epoch)
        if place == len(self._entries):
            return EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        end = self._entries[place].start_offset
        return EpochEnd(self._entries[place - 1].epoch if place else epoch, end)

    def epoch_for(self, offset: int) -> int:
        """The epoch that an offset was written in."""
        place = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        return self._entries[place - 1].epoch if place else UNDEFINED_EPOCH

    def truncate_from_start(self, log_start_offset: int) -> None:
        """Forget epochs that lie wholly before the log's start; the one that holds it begins there now."""
        before = [entry for entry in self._entries if entry.start_offset <= log_start_offset]
        if before and before != [EpochStart(before[-1].epoch, log_start_offset)]:
            self._replace([EpochStart(before[-1].epoch, log_start_offset), *self._entries[len(before) :]])

    def truncate_from_end(self, log_end_offset: int) -> None:
        """Forget epochs that begin where nothing is any more."""
        kept = [entry for entry in self._entries if entry.start_offset < log_end_offset]
        if len(kept) != len(self._entries):
            self._replace(kept)

    def clear(self) -> None:
        if self._entries:
            self._replace([])

    def _replace(self, entries: list[EpochStart]) -> None:
        save_checkpoint(self._path, (f"{epoch} {start}" for epoch, start in entries), self._disk)
        self._entries = entries
