"""A SOURCE of the command line: its prefix says what it holds, or its files do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from doorkeeper.audit.files import InputFile, compression_of, cut, list_files, read_head
from doorkeeper.audit.readers import READERS, ByteRange, load
from doorkeeper.audit.schemas import SourceKind
from doorkeeper.audit.segments import is_companion
from doorkeeper.errors import InputError
from doorkeeper.rules.javatext import escape_for_display

_PREFIXES: Final = tuple(f"{kind.value}:" for kind in SourceKind)


@dataclass(slots=True)
class Inputs:
    """What the sources of a run come to."""

    files: dict[SourceKind, list[InputFile]] = field(default_factory=dict)
    locations: dict[SourceKind, list[str]] = field(default_factory=dict)
    topics: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Files in folders that no reader recognises: they are named, and not read."""

    @property
    def total_bytes(self) -> int:
        """What there is to read."""
        return sum(file.size for files in self.files.values() for file in files)

    def ranges(self, kind: SourceKind, slots: int) -> list[ByteRange]:
        """The tasks for one kind."""
        reader = READERS[kind]
        if reader.by_folder:
            return _folders(self.files[kind])
        made: list[ByteRange] = []
        for file in self.files[kind]:
            splittable = reader.splittable and compression_of(file.path) is None
            made.extend(cut(file, splittable=splittable, slots=slots, total_bytes=self.total_bytes))
        return made


def _folders(files: Sequence[InputFile]) -> list[ByteRange]:
    """One task for each folder."""
    folders: dict[str, list[InputFile]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    return [
        ByteRange(first.path, 0, first.size, tuple(file.path for file in others)) for first, *others in folders.values()
    ]


def find_inputs(sources: Sequence[str]) -> Inputs:
    """Look at every source.

    :raises InputError: for a source without files, or without any that can be read.
    """
    inputs = Inputs()
    for source in sources:
        prefix = next((one for one in _PREFIXES if source.startswith(one)), "")
        rest = source.removeprefix(prefix)
        if prefix == "topic:":
            inputs.topics.append(rest)
        elif prefix:
            _add(inputs, SourceKind(prefix[:-1]), rest, list_files(rest))
        else:
            _recognise(inputs, source)
    return inputs


def _add(inputs: Inputs, kind: SourceKind, location: str, files: Sequence[InputFile]) -> None:
    if kind not in READERS:
        raise InputError(f"{kind.value}: sources of this kind can't be read")
    known = inputs.files.setdefault(kind, [])
    paths = {file.path for file in known}
    known.extend(file for file in files if file.path not in paths)
    inputs.locations.setdefault(kind, []).append(location)


def _recognise(inputs: Inputs, source: str) -> None:
    files = list_files(source)
    by_kind: dict[SourceKind, list[InputFile]] = {}
    for file in files:
        kind = kind_of(file.path)
        if kind is None:
            if not is_companion(file.path):
                inputs.unknown.append(file.path)
        else:
            by_kind.setdefault(kind, []).append(file)
    if not by_kind:
        kinds = ", ".join(f"{kind.value}:" for kind in READERS)
        shown = escape_for_display(source, 200)
        raise InputError(f"{shown}: holds nothing that the audit knows; name it by a prefix if it does ({kinds})")
    for kind, found in by_kind.items():
        _add(inputs, kind, source, found)


def kind_of(path: str) -> SourceKind | None:
    """What a file holds, by its name and its first bytes."""
    head = read_head(path)
    return next((kind for kind, reader in READERS.items() if load(reader.recognise)(path, head)), None)
