"""Reading a metadata log from outside, while its owner may be writing: no lock is taken, nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.log_dir import METADATA_DIRECTORY
from doorkeeper.cluster.segment import list_segments, segment_name
from doorkeeper.cluster.snapshot import CHECKPOINT_SUFFIX, list_snapshots
from doorkeeper.errors import InputError, RecordError, TornBatchError
from doorkeeper.wire.records import Batch, read_batch


class FileReader:
    """Batches of one file; can be asked again after the file has grown."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0
        self.torn_bytes = 0
        """Bytes after the last whole batch: a write under way, or one that was interrupted."""

    def poll(self) -> Iterator[Batch]:
        """The batches that have been completed since the last time."""
        with storage_errors("read", self.path), self.path.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        position = 0
        self.torn_bytes = 0
        while position < len(data):
            try:
                batch = read_batch(data, position)
            except TornBatchError:
                self.torn_bytes = len(data) - position
                break
            except RecordError as error:
                where = f"byte {self._position + position}"
                raise InputError(f"{self.path} is no metadata log, or damaged, at {where}: {error}") from None
            position += batch.header.size
            yield batch
        self._position += position


class MetadataFiles:
    """What a path leads to: a `.log` or `.checkpoint` file, a `__cluster_metadata-0` directory, or the one around it.

    Of a directory this is the whole log; where its beginning has been trimmed, the snapshot that stands for it comes
    first.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(f"{path} does not exist")
        if path.is_dir() and (path / METADATA_DIRECTORY).is_dir():
            path = path / METADATA_DIRECTORY
        self._directory = path if path.is_dir() else None
        self._readers = [FileReader(path)] if self._directory is None else self._first_readers(path)
        if not self._readers:
            raise InputError(f"{path} holds no metadata log: neither segments (*.log) nor snapshots (*.checkpoint)")

    @staticmethod
    def _first_readers(directory: Path) -> list[FileReader]:
        segments = list_segments(directory)
        readers = [FileReader(directory / segment_name(base)) for base in segments]
        covering = [found for found in list_snapshots(directory) if not segments or found.offset >= segments[0]]
        if covering and (not segments or segments[0] > 0):
            readers.insert(0, FileReader(directory / covering[-1].file_name))
        return readers

    def poll(self) -> Iterator[tuple[str, Batch]]:
        """(file name, batch) for all that has come since the last time, segments begun since among it."""
        while True:
            for batch in self._readers[0].poll():
                yield self._readers[0].path.name, batch
            if len(self._readers) == 1:
                self._readers += self._new_segments()
            if len(self._readers) == 1:
                return
            self._readers.pop(0)

    def _new_segments(self) -> list[FileReader]:
        current = self._readers[0].path
        if self._directory is None or current.suffix == CHECKPOINT_SUFFIX:
            return []
        later = [segment_name(base) for base in list_segments(self._directory) if segment_name(base) > current.name]
        return [FileReader(self._directory / name) for name in later]

    @property
    def torn_bytes(self) -> int:
        return self._readers[0].torn_bytes
