"""A server.properties file on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.errors import InputError
from doorkeeper.rules.properties import PropertiesError, Property, decode_properties

if TYPE_CHECKING:
    from pathlib import Path


def read_properties(path: Path) -> list[Property]:
    """Every entry of the file, in order. Raises InputError naming the file and the line."""
    try:
        return decode_properties(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except PropertiesError as error:
        raise InputError(f"{path}: {error}") from error


def load_properties(path: Path) -> dict[str, str]:
    """What Java would make of the file: the last of a repeated key counts."""
    return {entry.key: entry.value for entry in read_properties(path)}
