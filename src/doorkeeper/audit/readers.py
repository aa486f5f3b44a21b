"""The registry of readers: which kind of source is read by what, and how its files are recognised.

A reader is a function (range, options) -> Arrow batches of SIGHTINGS that runs in Spark's Python workers; it is named
by `module:function`, so that nothing of a reader is imported before its kind of source is met.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa

from doorkeeper.audit.schemas import SourceKind

HEAD_BYTES: Final = 64 * 1024  # of a file that recognition may look at


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of a file that one task reads: the lines that begin in it, or the whole file."""

    file: str
    """Path or URI."""
    start: int
    end: int
    """After the last byte; the file's size where the whole file is read."""
    beside: tuple[str, ...] = ()
    """Further files of the same folder that the task reads together with this one (`Reader.by_folder`)."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What readers are told. Picklable."""

    strict: bool = False
    """Decode every line."""
    since: int | None = None
    """Microseconds since the epoch: what is older is ignored."""
    until: int | None = None
    """Microseconds since the epoch: what is as new or newer is ignored."""
    brokers: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """The static configs of brokers, by id, as `--broker` gives them, without what may be a secret."""


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One record of a live topic."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Microseconds since the epoch."""
    key: bytes | None
    value: bytes | None


ReadRange: TypeAlias = Callable[[ByteRange, ReadOptions], Iterator[pa.RecordBatch]]
Recognise: TypeAlias = Callable[[str, bytes], bool]
"""(path, first bytes, decompressed) -> whether the file is of the kind."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How one kind of source is read."""

    kind: SourceKind
    recognise: str
    """`module:function` of a `Recognise`."""
    read: str
    """`module:function` of a `ReadRange`."""
    splittable: bool = False
    """Whether a range may be a part of an uncompressed file."""
    by_folder: bool = False
    """Whether the files of a folder make sense only together, and are read by one task."""
    known_configs: str | None = None
    """`module:function` (session, ranges, options) -> KnownConfigs, where the source holds configs in force."""


READERS: Final = {
    reader.kind: reader
    for reader in (
        Reader(
            SourceKind.METADATA,
            "doorkeeper.audit.metadata:recognise",
            "doorkeeper.audit.metadata:read_range",
            by_folder=True,
            known_configs="doorkeeper.audit.metadata:known_configs",
        ),
        Reader(SourceKind.SEGMENTS, "doorkeeper.audit.segments:recognise", "doorkeeper.audit.segments:read_range"),
        Reader(
            SourceKind.VERDICTS,
            "doorkeeper.audit.verdict_lines:recognise",
            "doorkeeper.audit.verdict_lines:read_range",
            splittable=True,
        ),
        Reader(
            SourceKind.REQUESTS,
            "doorkeeper.audit.requests.reader:recognise",
            "doorkeeper.audit.requests.reader:read_range",
            splittable=True,
        ),
    )
}
"""In the order in which recognition asks them: the most particular first."""


def load(name: str) -> Any:
    """The function that `module:function` names."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)
