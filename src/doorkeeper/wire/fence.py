"""The fence before kio's decoder: one pass over a message's bytes that looks at lengths only.

kio 0.6.5 reserves memory for as many elements as a message *claims* to hold, so that five bytes can end the process
(a failed allocation aborts it), and it refuses tagged fields that it does not know, which KIP-482 says to skip. So
every message is first walked by a function that is generated from its schema, as `dataclasses` generates `__init__`:

- a length that is negative, or needs more bytes than are left, is refused (Kafka's
  `ByteBufferAccessor`/generated `read` methods compare with `remaining()` likewise);
- the sum of all elements is bounded;
- unknown tagged fields are cut out, and bytes after the message are refused.

A generated function costs 1-2 us for a small message and about twice kio's own reading for a dense one. So messages
in which no length can be absurd skip it: see `is_harmless`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, Final, TypeAlias

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.schema import FIXED_SIZES, Shape, shape_of, tag_of

MAX_ELEMENTS: Final = 4 * 1024 * 1024
"""Array elements per message, nested ones included: Kafka has no such limit, but Python objects are large."""

Edits: TypeAlias = list[tuple[int, int, bytes]]
"""(start, end, replacement) for the bytes of unknown tagged fields and the counts and sizes around them."""
Walk: TypeAlias = Callable[[Frame, int, Edits], int]
"""(buffer, offset, edits) -> offset after the message."""


_CONTINUES: Final = bytes(byte >> 7 for byte in range(256))
"""Maps each byte to 1 when it continues a varint, else to 0."""


def minimum_size(entity: type[Any]) -> int:
    """The fewest bytes that one value of this type takes."""
    flexible: bool = entity.__flexible__
    total = 1 if flexible else 0
    for field in fields(entity):
        if tag_of(field) is None:
            total += _minimum_field_size(shape_of(field), flexible)
    return total


def _minimum_field_size(shape: Shape, flexible: bool) -> int:
    if shape.array:
        return 1 if flexible else 4
    return _minimum_item_size(shape, flexible)


def _minimum_item_size(shape: Shape, flexible: bool) -> int:
    if shape.entity is not None:
        return 1 if shape.nullable and not shape.array else minimum_size(shape.entity)
    assert shape.kafka_type is not None
    fixed = FIXED_SIZES.get(shape.kafka_type)
    if fixed is not None:
        return fixed
    if flexible:
        return 1
    return 2 if shape.kafka_type == "string" else 4


def _refuse_length(what: str) -> int:
    raise RemoteProtocolError(what)


def read_unsigned_varint(buffer: Frame, offset: int) -> tuple[int, int]:
    """(value, offset after it) of at most five bytes (ByteUtils.readUnsignedVarint).

    :raises RemoteProtocolError: when it is longer than that; IndexError when the bytes end.
    """
    value = shift = 0
    while True:
        byte = buffer[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7
        if shift > 28:
            _refuse_length("a varint of more than five bytes")


def write_unsigned_varint(value: int) -> bytes:
    """The bytes of an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _walk_tags(count: int, buffer: Frame, offset: int, edits: Edits, known: dict[int, Walk], counted_at: int) -> int:
    """Walk a section of tagged fields whose count has been read; note unknown ones for removal."""
    count_end = offset
    unknown = 0
    for _ in range(count):
        start = offset
        tag, size_start = read_unsigned_varint(buffer, start)
        size, offset = read_unsigned_varint(buffer, size_start)
        if size > len(buffer) - offset:
            _refuse_length("a tagged field that is longer than the message")
        walk = known.get(tag)
        if walk is None:
            unknown += 1
            edits.append((start, offset + size, b""))
        else:
            _walk_known_tag(walk, buffer, (size_start, offset, offset + size), edits)
        offset += size
    if unknown:
        edits.append((counted_at, count_end, write_unsigned_varint(count - unknown)))
    return offset


def _walk_known_tag(walk: Walk, buffer: Frame, bounds: tuple[int, int, int], edits: Edits) -> None:
    size_start, start, end = bounds
    inner: Edits = []
    if walk(buffer, start, inner) != end:
        _refuse_length("a tagged field that does not end where it says")
    if inner:
        removed = sum(last - first - len(replacement) for first, last, replacement in inner)
        edits.append((size_start, start, write_unsigned_varint(end - start - removed)))
        edits.extend(inner)


class _Writer:
    """Lines of the function being generated, and the objects it refers to."""

    def __init__(self) -> None:
        self.lines = ["def walk(b, p, edits):", "    elements = 0"]
        self.names: dict[str, Any] = {"refuse": _refuse_length, "varint": read_unsigned_varint, "walk_tags": _walk_tags}
        self.pending = 0
        """Bytes of fixed size not yet stepped over."""

    def add(self, depth: int, *lines: str) -> None:
        self.flush(depth)
        self.lines.extend("    " * depth + line for line in lines)

    def flush(self, depth: int) -> None:
        if self.pending:
            self.lines.append("    " * depth + f"p += {self.pending}")
            self.pending = 0

    def refer(self, value: object) -> str:
        name = f"known_{len(self.names)}"
        self.names[name] = value
        return name


def _add_compact_length(out: _Writer, depth: int) -> None:
    out.add(depth, "n = b[p]", "if n < 128: p += 1", "else: n, p = varint(b, p)")


def _add_blob(out: _Writer, depth: int, kafka_type: str, flexible: bool) -> None:
    """A string, bytes or records."""
    if flexible:
        _add_compact_length(out, depth)
        out.add(depth, "if n: p += n - 1")
    elif kafka_type == "string":
        out.add(depth, "n = b[p] << 8 | b[p + 1]", "p += 2")
        out.add(depth, "if n < 32768: p += n", "elif n != 65535: refuse('a negative string length')")
    else:
        _add_int32(out, depth)
        out.add(depth, "if n < 2147483648: p += n", "elif n != 4294967295: refuse('a negative byte length')")


def _add_int32(out: _Writer, depth: int) -> None:
    out.add(depth, "n = b[p] << 24 | b[p + 1] << 16 | b[p + 2] << 8 | b[p + 3]", "p += 4")


def _add_array(out: _Writer, depth: int, shape: Shape, flexible: bool) -> None:
    if flexible:
        _add_compact_length(out, depth)
        out.add(depth, "n = n - 1 if n else 0")
    else:
        _add_int32(out, depth)
        out.add(depth, "if n > 2147483647:")
        out.add(depth + 1, "if n != 4294967295: refuse('a negative array length')", "n = 0")
    smallest = _minimum_item_size(shape, flexible)
    assert smallest > 0
    out.add(depth, "elements += n")
    out.add(depth, f"if n * {smallest} > len(b) - p: refuse('an array that is longer than the message')")
    out.add(depth, f"if elements > {MAX_ELEMENTS}: refuse('more than {MAX_ELEMENTS} array elements')")
    fixed = FIXED_SIZES.get(shape.kafka_type or "") if shape.entity is None else None
    if fixed is not None:
        out.add(depth, f"p += n * {fixed}")
        return
    out.add(depth, "for _ in range(n):")
    _add_item(out, depth + 1, shape, flexible)
    out.flush(depth + 1)


def _add_item(out: _Writer, depth: int, shape: Shape, flexible: bool) -> None:
    if shape.entity is not None:
        _add_entity(out, depth, shape.entity)
        return
    assert shape.kafka_type is not None
    fixed = FIXED_SIZES.get(shape.kafka_type)
    if fixed is not None:
        out.pending += fixed
    else:
        _add_blob(out, depth, shape.kafka_type, flexible)


def _add_field(out: _Writer, depth: int, shape: Shape, flexible: bool) -> None:
    if shape.array:
        _add_array(out, depth, shape, flexible)
    elif shape.entity is not None and shape.nullable:
        # A nullable struct is led by one byte, negative for null (KIP-893).
        out.add(depth, "n = b[p]", "p += 1", "if n < 128:")
        _add_item(out, depth + 1, shape, flexible)
        out.flush(depth + 1)
    else:
        _add_item(out, depth, shape, flexible)


def _add_tagged(out: _Writer, shape: Shape) -> None:
    _add_field(out, 1, shape, True)


def _add_entity(out: _Writer, depth: int, entity: type[Any]) -> None:
    flexible: bool = entity.__flexible__
    known: dict[int, Walk] = {}
    for field in fields(entity):
        tag = tag_of(field)
        if tag is None:
            _add_field(out, depth, shape_of(field), flexible)
        else:
            known[tag] = _compile(partial(_add_tagged, shape=shape_of(field)))
    if flexible:
        out.add(depth, "n = b[p]")
        out.add(depth, "if n == 0: p += 1", "else:")
        out.add(depth + 1, "c = p", "n, p = varint(b, p)", f"p = walk_tags(n, b, p, edits, {out.refer(known)}, c)")


def _compile(add: Callable[[_Writer], None]) -> Walk:
    out = _Writer()
    add(out)
    out.add(1, "return p")
    names = dict(out.names)
    exec("\n".join(out.lines), names)  # noqa: S102 - the text is made of our own schemas, never of input
    walk: Walk = names["walk"]
    return walk


@remembered
def walker(entity: type[Any]) -> Walk:
    """The walk for one message class, generated at first use."""
    return _compile(lambda out: _add_entity(out, 1, entity))


@remembered
def has_payload(entity: type[Any]) -> bool:
    """Whether the message carries bytes that are not ours to read (records, assignments, tokens)."""
    shapes = [shape_of(field) for field in fields(entity)]
    return any(
        has_payload(shape.entity) if shape.entity is not None else shape.kafka_type in {"bytes", "records"}
        for shape in shapes
    )


@remembered
def is_screened(entity: type[Any]) -> bool:
    """Whether `is_harmless` can speak for messages of this class: compact lengths, and no payload to search through."""
    return bool(entity.__flexible__) and not has_payload(entity)


def is_harmless(frame: bytes, offset: int) -> bool:
    """Whether no compact length in these bytes can be 2**21 or more: that takes three bytes with their high bit set.

    A search at the speed of memory. What is short and plain passes, and kio can read it unfenced; it refuses unknown
    tagged fields with a KeyError, and does not mind bytes left over.
    """
    return len(frame) <= MAX_ELEMENTS and frame.translate(_CONTINUES).find(b"\1\1\1", offset) < 0


def fenced(entity: type[Any], buffer: Frame, offset: int) -> tuple[Frame, int]:
    """Bytes and offset that kio may read as `entity`: those given, or a copy without unknown tagged fields.

    :raises RemoteProtocolError: when lengths don't add up or bytes are left over.
    """
    edits: Edits = []
    try:
        end = walker(entity)(buffer, offset, edits)
    except IndexError:
        raise RemoteProtocolError("it ends before its last field does") from None
    if end != len(buffer):
        what = "it ends before its last field does" if end > len(buffer) else f"{len(buffer) - end} bytes are left over"
        raise RemoteProtocolError(what)
    if not edits:
        return buffer, offset
    return _apply(edits, buffer, offset), 0


def _apply(edits: Edits, buffer: Frame, offset: int) -> bytes:
    parts: list[Frame] = []
    for start, end, replacement in sorted(edits):
        parts += (buffer[offset:start], replacement)
        offset = end
    parts.append(buffer[offset:])
    return b"".join(parts)
