"""A file of lines that is put aside by size and by time: gzipped, and only so many old ones kept.

Old files are named after the moment they were put aside (`verdicts.jsonl.20261116T031807Z-000.gz`), so that their names
sort by age. A file put aside but not yet gzipped when the process ended is gzipped by the next one.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from doorkeeper.net.limits import MINUTES
from doorkeeper.wire.framing import MEBIBYTES

DAY_SECONDS: Final = 24 * 60 * MINUTES
COMPRESS_LEVEL: Final = 6
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_MODE: Final = 0o640
_PART: Final = ".part"


@dataclass(frozen=True, slots=True)
class Rotation:
    """When a file is put aside, and how many old ones stay."""

    max_bytes: int = 64 * MEBIBYTES
    """Of a file before it is gzipped; one write may exceed it."""
    period_seconds: float = DAY_SECONDS
    """A new file begins with each period of the clock: with the default, at midnight UTC."""
    kept: int = 10
    """Old files; the oldest is removed when there is one more."""


class RotatedFile:
    """Whole lines at the end of a file. Not for several threads; every method may raise OSError."""

    def __init__(self, path: Path, rotation: Rotation) -> None:
        """Open or make the file."""
        self.path = path
        self._rotation = rotation
        self._aside = re.compile(re.escape(path.name) + r"\.\d{8}T\d{6}Z-\d{3}(\.gz)?")
        self._descriptor = -1
        self._size = 0
        self._open()

    def append(self, lines: bytes, now: float) -> bool:
        """Write whole lines, all of them or none; True when a file was put aside for it, so that there is to `tidy`.

        :param now: seconds since the epoch.
        :raises OSError: when they can't be written; the file ends where it did.
        """
        self._reopen_if_moved()
        due = self._is_due(len(lines), now)
        if due:
            self._put_aside(now)
        size = self._size
        try:
            _write_all(self._descriptor, lines)
        except OSError:
            # A torn line would spoil the next one too.
            os.ftruncate(self._descriptor, size)
            raise
        self._size = size + len(lines)
        self._period = self._period_of(now)
        return due

    def tidy(self) -> None:
        """Remove old files beyond the number kept, and gzip those put aside, by an earlier process too."""
        for one in self.old_files()[: -self._rotation.kept or None]:
            one.unlink(missing_ok=True)
        for one in self.old_files():
            if one.suffix != ".gz":
                _compress(one)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def old_files(self) -> list[Path]:
        """What was put aside, oldest first."""
        return sorted(one for one in self.path.parent.iterdir() if self._aside.fullmatch(one.name))

    def _open(self) -> None:
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _MODE)
        facts = os.fstat(self._descriptor)
        self._size = facts.st_size
        self._identity = (facts.st_dev, facts.st_ino)
        self._period = self._period_of(facts.st_mtime)
        if self._size and os.pread(self._descriptor, 1, self._size - 1) != b"\n":
            _write_all(self._descriptor, b"\n")  # the process before us died in the middle of a line
            self._size += 1

    def _reopen_if_moved(self) -> None:
        """Somebody else (logrotate, an administrator) may have put the file aside, or a failed write closed it."""
        try:
            facts = os.stat(self.path)
            moved = (facts.st_dev, facts.st_ino) != self._identity
        except FileNotFoundError:
            moved = True
        if moved or self._descriptor < 0:
            self.close()
            self._open()

    def _is_due(self, coming: int, now: float) -> bool:
        if self._size == 0:
            return False
        return self._size + coming > self._rotation.max_bytes or self._period_of(now) != self._period

    def _period_of(self, now: float) -> int:
        return int(now // self._rotation.period_seconds)

    def _put_aside(self, now: float) -> None:
        self.close()
        os.replace(self.path, self._free_name(now))
        self._open()

    def _free_name(self, now: float) -> Path:
        stamp = datetime.fromtimestamp(now, UTC).strftime(_STAMP)
        lead = f"{self.path.name}.{stamp}-"
        taken = [int(one.name.removeprefix(lead)[:3]) for one in self.old_files() if one.name.startswith(lead)]
        # The last number is used again and again: a thousand files in a second are more than anybody keeps.
        return self.path.with_name(f"{lead}{min(max(taken, default=-1) + 1, 999):03d}")


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _compress(path: Path) -> None:
    """Replace a file by its gzipped form, for the same readers; they never see half of it."""
    import gzip  # not needed before the first file is full

    part = path.with_name(path.name + _PART)
    try:
        with path.open("rb") as plain, part.open("wb") as bare:
            os.fchmod(bare.fileno(), stat.S_IMODE(os.fstat(plain.fileno()).st_mode))
            with gzip.open(bare, "wb", compresslevel=COMPRESS_LEVEL) as packed:
                shutil.copyfileobj(plain, packed)
        part.replace(path.with_name(path.name + ".gz"))
    except OSError:
        part.unlink(missing_ok=True)
        raise
    path.unlink()
