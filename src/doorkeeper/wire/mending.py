"""Strings that are no UTF-8, mended before kio's decoder: Kafka reads every string of a message as Java does.

`Readable.readString` is `new String(bytes, UTF_8)`, which puts U+FFFD where the bytes spell nothing; kio refuses them.
So when kio has refused a message it is walked once more, and each such string is replaced by the bytes of what Java
would have read. Whoever comes after, the door above all, sees and measures that text, as Kafka would.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from doorkeeper.rules.javatext import decode_utf8
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.schema import Shape
from doorkeeper.wire.walking import (
    Edits,
    Walk,
    WalkGenerator,
    read_unsigned_varint,
    refuse,
    write_unsigned_varint,
)

MAX_OLD_STRING: Final = 2**15 - 1
"""Bytes of a string whose length is an int16."""
_write_int16 = struct.Struct(">h").pack


@remembered
def mending_walk(entity: type[Any]) -> Walk:
    """The walk over a message that notes, besides unknown tagged fields, what is to be put for broken strings."""
    generator = _MendingGenerator({})
    generator.add_entity(1, entity, "")
    return generator.compile()


class _MendingGenerator(WalkGenerator):
    """Lines of a walk that looks at every string."""

    def _add_blob(self, depth: int, shape: Shape, flexible: bool, path: str) -> None:
        if shape.kafka_type != "string":
            super()._add_blob(depth, shape, flexible, path)
            return
        self._add(depth, "s = p")
        super()._add_blob(depth, shape, flexible, path)
        self._add(depth, f"{self._refer(_mend_compact if flexible else _mend_old)}(b, s, p, edits)")


def _mend_compact(buffer: Frame, start: int, end: int, edits: Edits) -> None:
    _, text_start = read_unsigned_varint(buffer, start)
    text = _text_if_broken(buffer[text_start:end])
    if text is not None:
        edits.append((start, end, write_unsigned_varint(len(text) + 1) + text))


def _mend_old(buffer: Frame, start: int, end: int, edits: Edits) -> None:
    text = _text_if_broken(buffer[start + 2 : end])
    if text is None:
        return
    if len(text) > MAX_OLD_STRING:
        refuse("a string of broken UTF-8 that is too long when mended")
    edits.append((start, end, _write_int16(len(text)) + text))


def _text_if_broken(data: Frame) -> bytes | None:
    """The bytes of what Java reads, where that is another text."""
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        return decode_utf8(data).encode()
    return None
