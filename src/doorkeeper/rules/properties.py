"""Java's .properties text, read as java.util.Properties.load reads it.

Kafka loads server.properties from a byte stream (Utils.loadProps), so the bytes are Latin-1 and anything
else must be escaped as \\uXXXX; `decode_properties` does that, `parse_properties` takes text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.javatext import join_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


class PropertiesError(ValueError):
    """Text that java.util.Properties would refuse; the message names the line."""


@dataclass(frozen=True, slots=True)
class Property:
    """One entry, with the number of the line on which it starts (from 1)."""

    key: str
    value: str = field(repr=False)
    line: int


def decode_properties(data: bytes) -> list[Property]:
    """Entries of a file's bytes, in file order, repeated keys included (Java keeps the last)."""
    return parse_properties(data.decode("latin-1"))


def parse_properties(text: str) -> list[Property]:
    """Entries of a text, in order, repeated keys included (Java keeps the last)."""
    return [_read_entry(line, number) for number, line in _logical_lines(text)]


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and blanks, continued ones joined, leading white space removed."""
    parts: list[str] = []
    start = 0
    for number, raw in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = raw.lstrip(_SPACE)
        if not parts:
            if not line or line[0] in "#!":
                continue
            start = number
        parts.append(line[:-1] if _is_continued(line) else line)
        if not _is_continued(line):
            yield start, "".join(parts)
            parts = []
    if parts:
        yield start, "".join(parts)


def _is_continued(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _read_entry(line: str, number: int) -> Property:
    end = _end_of_key(line)
    rest = line[end:].lstrip(_SPACE)
    if rest and rest[0] in "=:":
        rest = rest[1:].lstrip(_SPACE)
    return Property(_unescape(line[:end], number), _unescape(rest, number), number)


def _end_of_key(line: str) -> int:
    index = 0
    while index < len(line):
        if line[index] == "\\":
            index += 2
            continue
        if line[index] in _SPACE or line[index] in "=:":
            return index
        index += 1
    return len(line)


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        index += 1
        if char != "\\" or index == len(text):  # Java drops a backslash that ends the text
            out.append(char if char != "\\" else "")
            continue
        escaped = text[index]
        index += 1
        if escaped == "u":
            out.append(_unicode_escape(text[index : index + 4], number))
            index += 4
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    return join_surrogates("".join(out))  # two escapes may spell one character


def _unicode_escape(digits: str, number: int) -> str:
    if len(digits) != 4 or not _HEX_DIGITS.issuperset(digits):
        raise PropertiesError(f"line {number}: malformed \\uxxxx escape")
    return chr(int(digits, 16))
