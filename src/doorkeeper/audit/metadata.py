"""`metadata:` the files of `__cluster_metadata-0`: snapshots and segments, replayed as a broker replays them.

One task reads one directory: the newest whole snapshot, then the log from where the snapshot ends. What a torn or
garbled file lacks is counted with its place, and the rest is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.audit.batches import Trouble, walk_batches
from doorkeeper.audit.config_changes import NOTHING_KNOWN, KnownConfigs
from doorkeeper.audit.files import open_file
from doorkeeper.audit.metadata_state import MetadataState, Place, Replay
from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.schemas import Outcome, SourceKind
from doorkeeper.audit.segments import METADATA_TOPIC, topic_of
from doorkeeper.audit.sightings import Tally
from doorkeeper.audit.stored_configs import controller_of
from doorkeeper.audit.stored_state import sightings_of
from doorkeeper.errors import RecordError
from doorkeeper.wire.metadata.serde import UnknownRecord, read_metadata_record
from doorkeeper.wire.records import Record, read_batch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

DIRECTORY: Final = "__cluster_metadata-0"
MICROSECONDS: Final = 1000  # in a millisecond
_SEGMENT: Final = re.compile(r"(\d{20})\.log")
_SNAPSHOT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
BEFORE_THE_SNAPSHOT: Final = "record that a snapshot stands for"
OLDER_SNAPSHOT: Final = "record of an older snapshot"
NOT_ASKED: Final = "record without an identifier"


class MetadataFile(NamedTuple):
    """A segment or a snapshot."""

    path: str
    offset: int
    """Of its first record, or of the first record after the snapshot."""
    epoch: int
    is_snapshot: bool


def metadata_file(path: str) -> MetadataFile | None:
    """What a file of the directory is, by its name; None for everything else that lies there."""
    name = path.rpartition("/")[2]
    if match := _SNAPSHOT.fullmatch(name):
        return MetadataFile(path, int(match[1]), int(match[2]), is_snapshot=True)
    if match := _SEGMENT.fullmatch(name):
        return MetadataFile(path, int(match[1]), 0, is_snapshot=False)
    return None


def recognise(path: str, head: bytes) -> bool:
    """Whether a file is a part of a metadata log: a snapshot anywhere, a segment in its own directory."""
    found = metadata_file(path)
    return found is not None and (found.is_snapshot or path.rpartition("/")[0].endswith(DIRECTORY))


def files_of(paths: Iterable[str]) -> list[MetadataFile]:
    """Those of the files that belong to a metadata log, in the order of their names; segments of topics do not."""
    found = []
    for path in sorted(paths):
        file, topic = metadata_file(path), topic_of(path)
        if file is not None and (topic is None or topic[0] == METADATA_TOPIC):
            found.append(file)
    return found


def read_range(work: ByteRange, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The sightings and totals of a log; files beside it, such as indexes, give nothing."""
    files = files_of((work.file, *work.beside))
    if files:
        yield from read_files(files, options)


def read_files(files: Sequence[MetadataFile], options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The sightings and totals of one log.

    A sighting is the directory's and not a file's: segments and snapshots come and go, and the next audit of the
    directory replaces what this one says of it.
    """
    reading = Reading(files)
    reading.read()
    told = Tally(SourceKind.METADATA, files[0].path.rpartition("/")[0])
    told.add_total(Outcome.READ, "", 0, 0)  # so that the directory counts as read where there is nothing to tell
    for sighting, place in sightings_of(reading.state, options.brokers):
        told.add(sighting, place.position, time=place.time)
    for tally in (told, *reading.tallies):
        yield from tally.batches()


def load_state(files: Sequence[MetadataFile]) -> MetadataState:
    """What the log says today, and nothing of how it was read."""
    reading = Reading(files)
    reading.read()
    return reading.state


def known_configs(_: SparkSession | None, ranges: Sequence[ByteRange], options: ReadOptions) -> KnownConfigs:
    """What the first log of these ranges tells of configs in force, for the judge of changes in a request log."""
    logs = [files for one in ranges if (files := files_of((one.file, *one.beside)))]
    if not logs:
        return NOTHING_KNOWN
    state = load_state(logs[0])
    static = {number: broker.static for number, broker in state.brokers.items() if broker.static is not None}
    return KnownConfigs(
        brokers=static | {int(number): given for number, given in options.brokers.items()},
        controller=controller_of(options.brokers),
        dynamic={
            resource: {key: value for key, (value, _) in stored.items()} for resource, stored in state.configs.items()
        },
        features=state.features,
    )


class Reading:
    """Reads the files of one log in the order in which they count."""

    def __init__(self, files: Sequence[MetadataFile]) -> None:
        self._files = files
        self.tallies = [Tally(SourceKind.METADATA, one.path) for one in files]
        self._replay = Replay()

    @property
    def state(self) -> MetadataState:
        return self._replay.state

    def read(self) -> None:
        """The newest snapshot that is whole, then the log after it; what they stand for is counted as such."""
        start = self._read_newest_snapshot()
        for number, file in enumerate(self._files):
            if not file.is_snapshot:
                self._read_file(number, start)

    def _read_newest_snapshot(self) -> int:
        snapshots = [number for number, file in enumerate(self._files) if file.is_snapshot]
        newest_first = sorted(
            snapshots, key=lambda one: (self._files[one].offset, self._files[one].epoch), reverse=True
        )
        start = 0
        for number in newest_first:
            if start:
                self._count_older(number)
                continue
            self._replay = Replay()
            if self._read_file(number, 0):
                start = self._files[number].offset
            else:
                self._replay = Replay()
        return start

    def _count_older(self, number: int) -> None:
        stream = open_file(self._files[number].path)
        try:
            for found in walk_batches(stream):
                if not isinstance(found, Trouble):
                    self._count(number, Outcome.IGNORED, OLDER_SNAPSHOT, found.position, found.header.count)
        finally:
            stream.close()

    def _read_file(self, number: int, start: int) -> bool:
        """Replay one file from the offset on; False if some of it could not be read."""
        whole = True
        stream = open_file(self._files[number].path)
        try:
            for found in walk_batches(stream):
                if isinstance(found, Trouble):
                    self._count(number, Outcome.MALFORMED, found.reason, found.position)
                    whole = False
                elif found.header.is_control:
                    self._count(number, Outcome.IGNORED, "control record", found.position, found.header.count)
                else:
                    whole = self._read_batch(number, found.data, found.position, start) and whole
        finally:
            stream.close()
        return whole

    def _count(self, number: int, outcome: Outcome, reason: str, position: int, count: int = 1) -> None:
        self.tallies[number].add_total(Outcome.READ, "", position, count)
        self.tallies[number].add_total(outcome, reason, position, count)

    def _read_batch(self, number: int, data: bytes, position: int, start: int) -> bool:
        try:
            records = read_batch(data).records
        except RecordError:
            self._count(number, Outcome.MALFORMED, "batch whose records can't be read", position)
            return False
        results = [self._read_record(number, record, position, start) for record in records]
        for outcome, reason in results:
            self._count(number, outcome, reason, position)
        return all(outcome is not Outcome.MALFORMED for outcome, _ in results)

    def _read_record(self, number: int, record: Record, position: int, start: int) -> tuple[Outcome, str]:
        file = self._files[number]
        if not file.is_snapshot and record.offset < start:
            return Outcome.IGNORED, BEFORE_THE_SNAPSHOT
        try:
            read = read_metadata_record(record.value)
        except RecordError:
            return Outcome.MALFORMED, "record that is not what its type says"
        if isinstance(read.message, UnknownRecord):
            return Outcome.IGNORED, f"unknown record type {read.message.api_key} version {read.version}"
        time = record.timestamp * MICROSECONDS if record.timestamp >= 0 else None
        place = Place(number, position, time)
        if self._replay.take(read.message, read.version, place, is_history=not file.is_snapshot):
            return Outcome.JUDGED, ""
        return Outcome.IGNORED, NOT_ASKED
