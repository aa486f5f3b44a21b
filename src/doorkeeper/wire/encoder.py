"""Messages to bytes, by functions generated from the message classes.

The bytes are those of kio's own writer (proven equal for every class), four to eighteen times faster: kio interprets
the schema field by field, here runs of fixed-size fields are packed at once. Two things are stricter or wider than
kio: null is refused where the schema does not allow it, and an error code may be any number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

from doorkeeper.wire.defaults import empty_value
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.schema import FIXED_SIZES, Shape, shape_of, tag_of
from doorkeeper.wire.walking import write_unsigned_varint

Encode: TypeAlias = Callable[[Any, Callable[[Frame], None]], None]
"""(message, append) -> None: appends the message's bytes, piece by piece."""

_ZERO_UUID: Final = bytes(16)
_SMALL_VARINTS: Final = tuple(write_unsigned_varint(value) for value in range(1024))
_PACK_CODES: Final = {
    "int8": "b",
    "uint8": "B",
    "bool": "?",
    "int16": "h",
    "uint16": "H",
    "error_code": "h",
    "int32": "i",
    "uint32": "I",
    "timedelta_i32": "i",
    "int64": "q",
    "uint64": "Q",
    "float64": "d",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "uuid": "16s",
}


def _varint(value: int) -> bytes:
    return _SMALL_VARINTS[value] if value < 1024 else write_unsigned_varint(value)


def _milliseconds(value: timedelta) -> int:
    return round(value.total_seconds() * 1000)


def _timestamp(value: datetime | None) -> int:
    return -1 if value is None else round(value.timestamp() * 1000)


def _uuid_bytes(value: UUID | None) -> bytes:
    return _ZERO_UUID if value is None else value.bytes


_CONVERSIONS: Final = {
    "timedelta_i32": "milliseconds({})",
    "timedelta_i64": "milliseconds({})",
    "datetime_i64": "timestamp({})",
    "uuid": "uuid_bytes({})",
}


class _Code:
    """Lines of the function being generated, the objects it refers to, and fixed-size values not yet packed."""

    def __init__(self) -> None:
        self.lines = ["def encode(e0, w):"]
        self.names: dict[str, Any] = {
            "varint": _varint,
            "milliseconds": _milliseconds,
            "timestamp": _timestamp,
            "uuid_bytes": _uuid_bytes,
        }
        self._format = ""
        self._values: list[str] = []

    def add(self, depth: int, *lines: str) -> None:
        self.flush(depth)
        self.lines.extend("    " * depth + line for line in lines)

    def pack(self, kafka_type: str, value: str) -> None:
        """Leave a fixed-size value to the next flush, together with its neighbours."""
        self._format += _PACK_CODES[kafka_type]
        self._values.append(_CONVERSIONS.get(kafka_type, "{}").format(value))

    def flush(self, depth: int) -> None:
        if self._values:
            packer = self.refer(struct.Struct(">" + self._format).pack)
            self.lines.append("    " * depth + f"w({packer}({', '.join(self._values)}))")
            self._format = ""
            self._values = []

    def refer(self, value: object) -> str:
        name = f"object_{len(self.names)}"
        self.names[name] = value
        return name

    def compile(self) -> Encode:
        self.add(1, "return")
        names = dict(self.names)
        exec("\n".join(self.lines), names)  # noqa: S102 - the text is made of our own schemas, never of input
        encode: Encode = names["encode"]
        return encode


def _add_length(code: _Code, depth: int, value: str, flexible: bool, legacy_type: str) -> None:
    if flexible:
        code.add(depth, f"w(varint(len({value}) + 1))")
    else:
        code.pack(legacy_type, f"len({value})")


def _add_null(code: _Code, depth: int, flexible: bool, legacy_type: str) -> None:
    if flexible:
        code.add(depth, "w(b'\\0')")
    else:
        code.pack(legacy_type, "-1")
        code.flush(depth)


def _add_blob(code: _Code, depth: int, shape: Shape, value: str, flexible: bool) -> None:
    """A string, bytes or records that is not null."""
    legacy_type = "int16" if shape.kafka_type == "string" else "int32"
    code.add(depth, f"s = {value}.encode()" if shape.kafka_type == "string" else f"s = {value}")
    _add_length(code, depth, "s", flexible, legacy_type)
    code.add(depth, "w(s)")


def _add_item(code: _Code, depth: int, shape: Shape, value: str, flexible: bool) -> None:
    if shape.entity is not None:
        _add_entity(code, depth, shape.entity, value)
    elif shape.kafka_type in FIXED_SIZES:
        code.pack(shape.kafka_type, value)
    else:
        _add_blob(code, depth, shape, value, flexible)


def _add_array(code: _Code, depth: int, shape: Shape, value: str, flexible: bool) -> None:
    item = f"e{depth}"
    _add_length(code, depth, value, flexible, "int32")
    code.add(depth, f"for {item} in {value}:")
    _add_item(code, depth + 1, shape, item, flexible)
    code.flush(depth + 1)


def _add_value(code: _Code, depth: int, shape: Shape, value: str, flexible: bool) -> None:
    if shape.array:
        _add_array(code, depth, shape, value, flexible)
    else:
        _add_item(code, depth, shape, value, flexible)


def _add_field(code: _Code, depth: int, shape: Shape, value: str, flexible: bool) -> None:
    """A field that is not tagged. Fixed-size values have their own null, if any."""
    is_fixed = not shape.array and shape.entity is None and shape.kafka_type in FIXED_SIZES
    if is_fixed or not shape.nullable:
        _add_value(code, depth, shape, value, flexible)
        return
    code.add(depth, f"if {value} is None:")
    if shape.entity is not None and not shape.array:
        # A nullable struct is led by one byte (KIP-893).
        code.add(depth + 1, "w(b'\\xff')")
        code.add(depth, "else:", "    w(b'\\1')")
    else:
        legacy_type = "int16" if shape.kafka_type == "string" and not shape.array else "int32"
        _add_null(code, depth + 1, flexible, legacy_type)
        code.add(depth, "else:")
    _add_value(code, depth + 1, shape, value, flexible)
    code.flush(depth + 1)


def _add_entity(code: _Code, depth: int, entity: type[Any], value: str) -> None:
    flexible: bool = entity.__flexible__
    tagged: dict[int, Field[Any]] = {}
    for field in fields(entity):
        tag = tag_of(field)
        if tag is None:
            _add_field(code, depth, shape_of(field), f"{value}.{field.name}", flexible)
        else:
            tagged[tag] = field
    if tagged:
        _add_tags(code, depth, tagged, value)
    elif flexible:
        code.add(depth, "w(b'\\0')")


def _add_tags(code: _Code, depth: int, tagged: dict[int, Field[Any]], value: str) -> None:
    """The fields that differ from their default, in the order of tags (KIP-482)."""
    code.add(depth, "tags = []")
    for tag, field in sorted(tagged.items()):
        default = code.refer(empty_value(field) if field.default is MISSING else field.default)
        inner = _Code()
        _add_value(inner, 1, shape_of(field), "e0", True)
        encode = code.refer(inner.compile())
        code.add(depth, f"if {value}.{field.name} != {default}:", "    pieces = []")
        code.add(depth + 1, f"{encode}({value}.{field.name}, pieces.append)", "piece = b''.join(pieces)")
        code.add(depth + 1, f"tags += ({write_unsigned_varint(tag)!r}, varint(len(piece)), piece)")
    code.add(depth, "w(varint(len(tags) // 3))", "w(b''.join(tags))")


@remembered
def encoder(entity: type[Any]) -> Encode:
    """The function that writes messages of one class, generated at first use."""
    code = _Code()
    _add_entity(code, 1, entity, "e0")
    return code.compile()
