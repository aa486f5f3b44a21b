"""`segments:` log directories copied from brokers.

The internal topics of the coordinators are read for the identifiers in them; of any other topic the records are
counted, and their keys and values are never decoded. A topic's name is its directory's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from doorkeeper.audit.batches import StoredBatch, Trouble, walk_batches
from doorkeeper.audit.files import open_file
from doorkeeper.audit.readers import ByteRange, ReadOptions
from doorkeeper.audit.requests.lines import OUTSIDE
from doorkeeper.audit.schemas import Outcome, SourceKind
from doorkeeper.audit.sightings import Sighting, Tally
from doorkeeper.audit.stored_identifiers import identifiers_of
from doorkeeper.errors import RecordError
from doorkeeper.rules.client_id import is_plain
from doorkeeper.rules.names import CHECKS, DEFAULT_MAX_OFFSET_METADATA
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.coordinator_records import CoordinatorRecord, UnknownCoordinatorRecord
from doorkeeper.wire.records import NO_TIMESTAMP, Record, read_batch
from doorkeeper.wire.registry import Door
from doorkeeper.wire.share_group_records import read_share_state_record
from doorkeeper.wire.streams_group_records import read_group_record
from doorkeeper.wire.transaction_records import read_transaction_record

if TYPE_CHECKING:
    import pyarrow as pa

SEGMENT_SUFFIX: Final = ".log"
METADATA_TOPIC: Final = "__cluster_metadata"
OFFSETS_TOPIC: Final = "__consumer_offsets"
MAX_REMEMBERED: Final = 100_000  # keys of offset commits that were found lawful in one segment
_OFFSET_COMMIT: Final = b"\x00\x01"
MICROSECONDS: Final = 1000  # in a millisecond
_DIRECTORY: Final = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(?P<state>\.[0-9a-f]{32}-(?:delete|future|stray))?")
_COMPANION: Final = re.compile(
    r"\d{20}(?:-\d{10})?\.(?:index|timeindex|txnindex|snapshot|log\.(?:deleted|cleaned|swap)|checkpoint\.(?:part|deleted))"
    r"|[a-z-]+-checkpoint|bootstrap\.checkpoint|partition\.metadata|meta\.properties|quorum-state|\.\w+"
)

_Read = Callable[[bytes, bytes | None], CoordinatorRecord | UnknownCoordinatorRecord]
COORDINATOR_TOPICS: Final[Mapping[str, _Read]] = {
    OFFSETS_TOPIC: read_group_record,
    "__transaction_state": read_transaction_record,
    "__share_group_state": read_share_state_record,
}


class StoredRecord(NamedTuple):
    """What became of one record, and what it names."""

    outcome: Outcome
    reason: str = ""
    sightings: tuple[Sighting, ...] = ()


def is_worth_telling(kind: Kind, value: str) -> bool:
    """Whether the rulebook could have a word on it; most names are lawful and plain, and go no further."""
    if kind is Kind.CLIENT_ID and not is_plain(value):
        return True
    return CHECKS[kind](value) is not None


def read_stored_record(topic: str, key: bytes | None, value: bytes | None) -> StoredRecord:
    """Judge what a record of a coordinator's topic is, from a segment or from a live topic."""
    if key is None:
        return StoredRecord(Outcome.MALFORMED, "record without a key")
    try:
        record = COORDINATOR_TOPICS[topic](key, value)
    except RecordError:
        return StoredRecord(Outcome.MALFORMED, "record that is not what its type says")
    if isinstance(record, UnknownCoordinatorRecord):
        return StoredRecord(Outcome.IGNORED, f"unknown record type {record.record_type}")
    if record.value is None:
        return StoredRecord(Outcome.IGNORED, "tombstone")
    seen = tuple(
        Sighting(one.kind, one.value, one.where, door=Door.BROKER.value, client_id=one.client_id, address=one.address)
        for one in identifiers_of(record)
        if is_worth_telling(one.kind, one.value)
    )
    return StoredRecord(Outcome.JUDGED, sightings=seen)


def topic_of(path: str) -> tuple[str, bool] | None:
    """The topic of a segment's directory, and whether the name is whole: that of a deleted one may be cut short."""
    parts = path.rsplit("/", 2)
    match = _DIRECTORY.fullmatch(unquote(parts[-2]) if "://" in path else parts[-2]) if len(parts) > 1 else None
    return None if match is None else (match["topic"], not (match["state"] or "").endswith("-delete"))


def is_companion(path: str) -> bool:
    """Whether a file is one that Kafka keeps beside segments, and that holds nothing to audit."""
    return _COMPANION.fullmatch(path.rpartition("/")[2]) is not None


def recognise(path: str, head: bytes) -> bool:
    """Whether a file is a segment of a partition other than the metadata log's."""
    topic = topic_of(path)
    return path.endswith(SEGMENT_SUFFIX) and topic is not None and topic[0] != METADATA_TOPIC


def read_range(work: ByteRange, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The sightings and totals of one segment; files beside segments, such as indexes, give nothing."""
    if not work.file.endswith(SEGMENT_SUFFIX):
        return
    topic, whole = topic_of(work.file) or ("", False)
    tally = Tally(SourceKind.SEGMENTS, work.file)
    if whole and is_worth_telling(Kind.TOPIC_NAME, topic):
        tally.add(Sighting(Kind.TOPIC_NAME, topic, "directory"), 0)
    reading = _Reading(topic, options, tally)
    stream = open_file(work.file)
    try:
        for found in walk_batches(stream):
            if isinstance(found, Trouble):
                tally.add_total(Outcome.READ, "", found.position)
                tally.add_total(Outcome.MALFORMED, found.reason, found.position)
            else:
                tally.add_total(Outcome.READ, "", found.position, reading.read_batch(found))
    finally:
        stream.close()
    yield from tally.batches()


class _Reading:
    """Counts and judges the records of one segment."""

    def __init__(self, topic: str, options: ReadOptions, tally: Tally) -> None:
        self._topic = topic
        self._options = options
        self._tally = tally
        self._lawful_keys: set[bytes] = set()

    def read_batch(self, found: StoredBatch) -> int:
        """Count and judge the records of a batch, and return how many; one that can't be opened counts as one."""
        header = found.header
        if header.is_control:
            self._tally.add_total(Outcome.IGNORED, "control record", found.position, header.count)
            return header.count
        if self._topic not in COORDINATOR_TOPICS:
            self._tally.add_total(Outcome.IGNORED, "record of a topic, not decoded", found.position, header.count)
            return header.count
        try:
            records = read_batch(found.data).records
        except RecordError:
            self._tally.add_total(Outcome.MALFORMED, "batch whose records can't be read", found.position)
            return 1
        for record in records:
            self._read_record(record, found.position)
        return len(records)

    def _read_record(self, record: Record, position: int) -> None:
        time = None if record.timestamp == NO_TIMESTAMP else record.timestamp * MICROSECONDS
        if not is_within(time, self._options):
            self._tally.add_total(Outcome.IGNORED, OUTSIDE, position)
            return
        if self._is_known_commit(record):
            self._tally.add_total(Outcome.JUDGED, "", position)
            return
        stored = read_stored_record(self._topic, record.key, record.value)
        self._tally.add_total(stored.outcome, stored.reason, position)
        for sighting in stored.sightings:
            self._tally.add(sighting, position, time=time)
        if stored.outcome is Outcome.JUDGED and not stored.sightings:
            self._remember(record.key)

    def _is_known_commit(self, record: Record) -> bool:
        """Whether this is one more commit under a key that was found lawful, with too few bytes for long metadata.

        Most records are: a group commits the same partitions all day.
        """
        if self._options.strict or record.value is None or record.key not in self._lawful_keys:
            return False
        return len(record.value) <= DEFAULT_MAX_OFFSET_METADATA

    def _remember(self, key: bytes | None) -> None:
        if key is None or self._topic != OFFSETS_TOPIC or not key.startswith(_OFFSET_COMMIT):
            return
        if len(self._lawful_keys) < MAX_REMEMBERED:
            self._lawful_keys.add(key)


def is_within(time: int | None, options: ReadOptions) -> bool:
    """Whether a moment, in microseconds, is one that was asked for; what has none is always in."""
    if time is None:
        return True
    return (options.since is None or time >= options.since) and (options.until is None or time < options.until)
