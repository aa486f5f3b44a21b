"""Functions that walk over the bytes of a message, generated from its class as `dataclasses` generates `__init__`.

A walk looks at lengths and skips the rest. It is safe on any bytes: a length that is negative or needs more bytes than
are left is refused (Kafka's generated readers compare with `remaining()` likewise), the sum of all array elements is
bounded, and running off the end is an IndexError. On its way it notes two things: tagged fields that the class does
not have (`Edits`), and where the fields lie that its maker asked for (`Span`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, NoReturn, TypeAlias

from doorkeeper.errors import LocalProtocolError, RemoteProtocolError
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.schema import FIXED_SIZES, Shape, shape_of, tag_of

MAX_ELEMENTS: Final = 4 * 1024 * 1024
"""Array elements per message, nested ones included: Kafka has no such limit, but Python objects are large."""

Edits: TypeAlias = list[tuple[int, int, bytes]]
"""(start, end, replacement) for the bytes of unknown tagged fields and the counts and sizes around them."""


Span: TypeAlias = tuple[int, int, int]
"""(index of the path asked for, start, end): the field is `frame[start:end]`, without its length; null has start -1."""
Walk: TypeAlias = Callable[[Frame, int, Edits, list[Span]], int]
"""(buffer, offset, edits, spans) -> offset after the message."""


def refuse(what: str) -> NoReturn:
    """Say what is wrong with the bytes."""
    raise RemoteProtocolError(what)


def read_unsigned_varint(buffer: Frame, offset: int) -> tuple[int, int]:
    """(value, offset after it) of at most five bytes (ByteUtils.readUnsignedVarint).

    :raises RemoteProtocolError: when it is longer than that.
    :raises IndexError: when the bytes end.
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
            refuse("a varint of more than five bytes")


def write_unsigned_varint(value: int) -> bytes:
    """The bytes of an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def minimum_size(entity: type[Any]) -> int:
    """The fewest bytes that one value of this class takes."""
    flexible: bool = entity.__flexible__
    untagged = (shape_of(field) for field in fields(entity) if tag_of(field) is None)
    return flexible + sum((1 if flexible else 4) if shape.array else _item_size(shape, flexible) for shape in untagged)


def _item_size(shape: Shape, flexible: bool) -> int:
    """The fewest bytes of a field that is no array, or of an array's element."""
    if shape.entity is not None:
        return 1 if shape.nullable and not shape.array else minimum_size(shape.entity)
    if shape.kafka_type in FIXED_SIZES:
        return FIXED_SIZES[shape.kafka_type]
    if flexible:
        return 1
    return 2 if shape.kafka_type == "string" else 4


def _walk_tags(count: int, buffer: Frame, offset: int, edits: Edits, known: dict[int, Walk], counted_at: int) -> int:
    """Walk a section of tagged fields whose count has been read; note unknown ones for removal (KIP-482)."""
    count_end = offset
    unknown = 0
    for _ in range(count):
        start = offset
        tag, size_start = read_unsigned_varint(buffer, start)
        size, offset = read_unsigned_varint(buffer, size_start)
        if size > len(buffer) - offset:
            refuse("a tagged field that is longer than the message")
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
    if walk(buffer, start, inner, []) != end:
        refuse("a tagged field that does not end where it says")
    if inner:
        removed = sum(last - first - len(replacement) for first, last, replacement in inner)
        edits.append((size_start, start, write_unsigned_varint(end - start - removed)))
        edits.extend(inner)


class WalkGenerator:
    """Lines of the function being generated: `b` is the buffer, `p` the position, `n` a length.

    Subclasses say with `mark` what is done at the paths asked for.
    """

    def __init__(self, paths: Mapping[str, int]) -> None:
        self._lines = ["def walk(b, p, edits, spans):", "    elements = 0"]
        self._names: dict[str, Any] = {
            "refuse": refuse,
            "varint": read_unsigned_varint,
            "walk_tags": _walk_tags,
        }
        self._pending = 0
        """Bytes of fixed size not yet stepped over."""
        self._unmet = dict(paths)
        self._paths = paths

    def compile(self) -> Walk:
        if self._unmet:
            raise LocalProtocolError(f"no such fields to find in place: {', '.join(self._unmet)}")
        self._add(1, "return p")
        names = dict(self._names)
        exec("\n".join(self._lines), names)  # noqa: S102 - the text is made of our own schemas, never of input
        walk: Walk = names["walk"]
        return walk

    def _add(self, depth: int, *lines: str) -> None:
        self._flush(depth)
        self._lines.extend("    " * depth + line for line in lines)

    def _flush(self, depth: int) -> None:
        if self._pending:
            self._lines.append("    " * depth + f"p += {self._pending}")
            self._pending = 0

    def _refer(self, value: object) -> str:
        name = f"known_{len(self._names)}"
        self._names[name] = value
        return name

    def mark(self, depth: int, path: str, start: str, end: str) -> None:
        """Note where the field lies, if it was asked for."""
        if path in self._paths:
            self._unmet.pop(path, None)
            self._add(depth, f"spans.append(({self._paths[path]}, {start}, {end}))")

    def add_entity(self, depth: int, entity: type[Any], path: str) -> None:
        flexible: bool = entity.__flexible__
        known: dict[int, Walk] = {}
        for field in fields(entity):
            tag = tag_of(field)
            if tag is None:
                self.add_field(depth, shape_of(field), flexible, path + field.name)
            else:
                inner = type(self)({})
                inner.add_field(1, shape_of(field)._replace(nullable=False), True, "")
                known[tag] = inner.compile()
        if flexible:
            self._add(depth, "n = b[p]", "if n == 0: p += 1", "else:")
            walk_tags = f"p = walk_tags(n, b, p, edits, {self._refer(known)}, c)"
            self._add(depth + 1, "c = p", "n, p = varint(b, p)", walk_tags)

    def add_field(self, depth: int, shape: Shape, flexible: bool, path: str) -> None:
        if shape.array:
            self._add_array(depth, shape, flexible, path)
        elif shape.entity is not None and shape.nullable:
            # A nullable struct is led by one byte, -1 for null (KIP-893); kio takes all other numbers for a struct.
            self._add(depth, "n = b[p]", "p += 1")
            self._add(depth, "if 127 < n != 255: refuse('a struct that is neither null nor there')", "if n < 128:")
            self._add_item(depth + 1, shape, flexible, path)
            self._flush(depth + 1)
        else:
            self._add_item(depth, shape, flexible, path)

    def _add_item(self, depth: int, shape: Shape, flexible: bool, path: str) -> None:
        if shape.entity is not None:
            self.add_entity(depth, shape.entity, path + ".")
        elif shape.kafka_type in FIXED_SIZES:
            size = FIXED_SIZES[shape.kafka_type]
            self.mark(depth, path, "p", f"p + {size}")
            self._pending += size
        else:
            self._add_blob(depth, shape, flexible, path)

    def _add_array(self, depth: int, shape: Shape, flexible: bool, path: str) -> None:
        if flexible:
            self._add_compact_length(depth)
            self._add(depth, "n = n - 1 if n else 0")
        else:
            self._add_int32(depth)
            self._add(depth, "if n > 2147483647:")
            self._add(depth + 1, "if n != 4294967295: refuse('a negative array length')", "n = 0")
        smallest = _item_size(shape, flexible)
        assert smallest > 0
        self._add(depth, "elements += n")
        self._add(depth, f"if n * {smallest} > len(b) - p: refuse('an array that is longer than the message')")
        self._add(depth, f"if elements > {MAX_ELEMENTS}: refuse('more than {MAX_ELEMENTS} array elements')")
        if shape.entity is None and shape.kafka_type in FIXED_SIZES and path not in self._paths:
            self._add(depth, f"p += n * {FIXED_SIZES[shape.kafka_type]}")
            return
        if shape.entity is not None and self._is_fixed(shape.entity, path + "."):
            depth = self._add_stride(depth, smallest, flexible)
        self._add(depth, "for _ in range(n):")
        self._add_item(depth + 1, shape, flexible, path)
        self._flush(depth + 1)

    def _is_fixed(self, entity: type[Any], prefix: str) -> bool:
        """Whether the class takes as many bytes each time, tagged fields apart, and nothing in it was asked for."""
        shapes = [shape_of(field) for field in fields(entity) if tag_of(field) is None]
        fixed = all(not shape.array and shape.kafka_type in FIXED_SIZES for shape in shapes)
        return fixed and not any(path.startswith(prefix) for path in self._paths)

    def _add_stride(self, depth: int, size: int, flexible: bool) -> int:
        """Step over all elements at once if none has tagged fields (partitions in a Fetch); return the loop's depth."""
        untagged = f"bytes(b[p + {size - 1}:p + n * {size}:{size}]).count(0) == n" if flexible else "True"
        self._add(depth, f"if n > 1 and {untagged}:", f"    p += n * {size}", "else:")
        return depth + 1

    def _add_blob(self, depth: int, shape: Shape, flexible: bool, path: str) -> None:
        """A string, bytes or records."""
        if flexible:
            self._add_compact_length(depth)
            null, size = "n == 0", "n - 1"
        elif shape.kafka_type == "string":
            self._add(depth, "n = b[p] << 8 | b[p + 1]", "p += 2")
            self._add(depth, "if 32767 < n != 65535: refuse('a negative string length')")
            null, size = "n == 65535", "n"
        else:
            self._add_int32(depth)
            self._add(depth, "if 2147483647 < n != 4294967295: refuse('a negative byte length')")
            null, size = "n == 4294967295", "n"
        self._add(depth, f"if {null}:", "    pass")
        self.mark(depth + 1, path, "-1", "-1")
        self._add(depth, "else:")
        self.mark(depth + 1, path, "p", f"p + {size}")
        self._add(depth + 1, f"p += {size}")

    def _add_compact_length(self, depth: int) -> None:
        self._add(depth, "n = b[p]", "if n < 128: p += 1", "else: n, p = varint(b, p)")

    def _add_int32(self, depth: int) -> None:
        self._add(depth, "n = b[p] << 24 | b[p + 1] << 16 | b[p + 2] << 8 | b[p + 3]", "p += 4")


def generate_walk(entity: type[Any], paths: tuple[str, ...] = ()) -> Walk:
    """The walk for one message class, which notes the spans of the fields at the given paths (`topics.name`).

    Paths lead through structs and arrays, not through tagged fields. For an array of plain values the path is the
    array's, and each element gets a span.

    :raises LocalProtocolError: when the class has no such field.
    """
    generator = WalkGenerator({path: index for index, path in enumerate(paths)})
    generator.add_entity(1, entity, "")
    return generator.compile()
