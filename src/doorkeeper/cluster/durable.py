"""Writing so that it is on the disk when the call returns. Every OSError leaves here as a StorageError."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from doorkeeper.errors import StorageError


@contextmanager
def storage_errors(action: str, path: Path) -> Iterator[None]:
    """Turn an OSError, or text that is none, into one sentence that says what could not be done, and to what."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise StorageError(f"can't {action} {path}: it is not UTF-8") from error
    except OSError as error:
        raise StorageError(f"can't {action} {path}: {error.strerror or error}", error.strerror) from error


def sync_file(descriptor: int) -> None:
    """Flush a file's bytes and its length."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:  # macOS has no fdatasync
        os.fsync(descriptor)


def sync_directory(path: Path) -> None:
    """Flush a directory, so that a file made, renamed or removed in it stays so."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte at the descriptor's position; a short write is continued."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def save_durably(path: Path, data: bytes, *, part_suffix: str = ".tmp") -> None:
    """Replace a file in one step: a reader, or a crash, sees the old bytes or the new ones."""
    part = path.with_name(path.name + part_suffix)
    with storage_errors("write", path):
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            try:
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)
