"""A codec for Kafka's versioned messages that are declared once for all their versions.

A message is a frozen dataclass; each field says its Kafka type, the first version that has it, and its tag if it is a
tagged field (KIP-482), in the manner of Kafka's JSON schemas. Reader and writer of a (class, version) pair are compiled
on first use. A structure is flexible (compact lengths, tagged fields) from version 0 on, as every metadata record is,
unless its class names another `flexible_since`: records of the coordinators began in Kafka's older encoding.

Tagged fields that a class does not know are kept in `unknown_tags`, and written back in their place. Why this is not
kio's codec: docs/decisions/0004-metadata-log.md.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, dataclass, field
from struct import Struct as Layout
from struct import error as LayoutError  # noqa: N812
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast
from uuid import UUID

from doorkeeper.errors import RecordError
from doorkeeper.wire.metadata.legacy import Read, Write, legacy_array, legacy_bytes, legacy_string, take
from doorkeeper.wire.varints import read_unsigned_varint, write_unsigned_varint

ZERO_UUID: Final = UUID(int=0)

_NULL_STRUCT: Final = 0
_PRESENT_STRUCT: Final = 1
_NULL_PLAIN_STRUCT: Final = 0xFF
_SIGN: Final = 0x80


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """A structure of fields; `unknown_tags` are (tag, bytes) pairs that its declaration has no name for."""

    flexible_since: ClassVar[int] = 0
    unknown_tags: tuple[tuple[int, bytes], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Struct):
    """A structure that stands alone, with Kafka's number for it and its newest version."""

    api_key: ClassVar[int]
    highest_version: ClassVar[int]


S = TypeVar("S", bound=Struct)


class FieldSpec(NamedTuple):
    """What a field's metadata says."""

    kafka_type: str
    since: int = 0
    nullable: bool = False
    is_array: bool = False
    tag: int | None = None
    struct: type[Struct] | None = None
    until: int | None = None
    """The last version that has the field, where a later one dropped it."""
    ignorable: bool = False
    """Whether a version without the field is written all the same, and the value lost (Kafka's `ignorable`)."""


def kafka_field(default: Any, spec: FieldSpec, *, secret: bool = False) -> Any:
    """A dataclass field with a specification; a secret one is left out of `repr`."""
    return field(default=default, metadata={"spec": spec}, repr=not secret)


def boolean(*, since: int = 0, default: bool = False) -> bool:
    return cast("bool", kafka_field(default, FieldSpec("bool", since)))


def integer(
    kafka_type: str,
    *,
    since: int = 0,
    until: int | None = None,
    default: int = 0,
    tag: int | None = None,
    ignorable: bool = False,
) -> int:
    return cast("int", kafka_field(default, FieldSpec(kafka_type, since, tag=tag, until=until, ignorable=ignorable)))


def float64() -> float:
    return cast("float", kafka_field(0.0, FieldSpec("float64")))


def uuid(*, since: int = 0, tag: int | None = None, ignorable: bool = False) -> UUID:
    return cast("UUID", kafka_field(ZERO_UUID, FieldSpec("uuid", since, tag=tag, ignorable=ignorable)))


def string() -> str:
    return cast("str", kafka_field("", FieldSpec("string")))


def nullable_string(
    *,
    since: int = 0,
    default: str | None = "",
    tag: int | None = None,
    secret: bool = False,
    ignorable: bool = False,
) -> str | None:
    spec = FieldSpec("string", since, nullable=True, tag=tag, ignorable=ignorable)
    return cast("str | None", kafka_field(default, spec, secret=secret))


def opaque_bytes() -> bytes:
    return cast("bytes", kafka_field(b"", FieldSpec("bytes")))


def nullable_bytes() -> bytes | None:
    return cast("bytes | None", kafka_field(None, FieldSpec("bytes", nullable=True)))


def secret_bytes() -> bytes:
    return cast("bytes", kafka_field(b"", FieldSpec("bytes"), secret=True))


def struct_field(struct: type[S]) -> S:
    return cast("S", kafka_field(struct(), FieldSpec("struct", struct=struct)))


def nullable_struct(struct: type[S], *, tag: int) -> S | None:
    """A tagged structure that may be null; left out, it means the empty structure (as Kafka's generator has it)."""
    return cast("S | None", kafka_field(struct(), FieldSpec("struct", nullable=True, tag=tag, struct=struct)))


def array(kafka_type: str, *, since: int = 0, tag: int | None = None) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", kafka_field((), FieldSpec(kafka_type, since, is_array=True, tag=tag)))


def nullable_array(
    kafka_type: str, *, since: int = 0, tag: int | None = None, default: tuple[Any, ...] | None = None
) -> tuple[Any, ...] | None:
    spec = FieldSpec(kafka_type, since, nullable=True, is_array=True, tag=tag)
    return cast("tuple[Any, ...] | None", kafka_field(default, spec))


def struct_array(struct: type[S], *, since: int = 0, tag: int | None = None, ignorable: bool = False) -> tuple[S, ...]:
    spec = FieldSpec("struct", since, is_array=True, tag=tag, struct=struct, ignorable=ignorable)
    return cast("tuple[S, ...]", kafka_field((), spec))


# --- fixed-width types -------------------------------------------------------------------------------------------

_FORMATS: Final = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "int64": ">q",
    "float64": ">d",
}


def _fixed(kafka_type: str) -> tuple[Read, Write]:
    layout = Layout(_FORMATS[kafka_type])
    size = layout.size
    unpack_from = layout.unpack_from
    pack = layout.pack

    def read(buffer: bytes, position: int) -> tuple[Any, int]:
        return unpack_from(buffer, position)[0], position + size

    def write(out: bytearray, value: Any) -> None:
        out += pack(value)

    return read, write


def _read_bool(buffer: bytes, position: int) -> tuple[bool, int]:
    return buffer[position] != 0, position + 1


def _write_bool(out: bytearray, value: bool) -> None:
    out.append(1 if value else 0)


def _read_uuid(buffer: bytes, position: int) -> tuple[UUID, int]:
    return UUID(bytes=take(buffer, position, 16)), position + 16


def _write_uuid(out: bytearray, value: UUID) -> None:
    out += value.bytes


# --- types with a length -----------------------------------------------------------------------------------------


def _write_length(out: bytearray, length: int) -> None:
    """A length, one more than it is: 0 means null."""
    if length < 0x7F:
        out.append(length + 1)
    else:
        write_unsigned_varint(out, length + 1)


def _write_null(out: bytearray, nullable: bool) -> None:
    if not nullable:
        raise ValueError("null where a value is required")
    out.append(0)


def _compact_bytes(nullable: bool) -> tuple[Read, Write]:
    def read(buffer: bytes, position: int) -> tuple[bytes | None, int]:
        length, position = read_unsigned_varint(buffer, position)
        if length == 0:
            if nullable:
                return None, position
            raise ValueError("null where a value is required")
        return take(buffer, position, length - 1), position + length - 1

    def write(out: bytearray, value: bytes | None) -> None:
        if value is None:
            _write_null(out, nullable)
            return
        _write_length(out, len(value))
        out += value

    return read, write


def _compact_string(nullable: bool) -> tuple[Read, Write]:
    read_bytes, _ = _compact_bytes(nullable)

    def read(buffer: bytes, position: int) -> tuple[str | None, int]:
        raw, position = read_bytes(buffer, position)
        return None if raw is None else raw.decode(), position

    def write(out: bytearray, value: str | None) -> None:
        if value is None:
            _write_null(out, nullable)
            return
        raw = value.encode()
        _write_length(out, len(raw))
        out += raw

    return read, write


def _compact_array(item: tuple[Read, Write], nullable: bool) -> tuple[Read, Write]:
    read_item, write_item = item

    def read(buffer: bytes, position: int) -> tuple[tuple[Any, ...] | None, int]:
        length, position = read_unsigned_varint(buffer, position)
        if length == 0:
            if nullable:
                return None, position
            raise ValueError("null where a value is required")
        # Every item takes at least one byte, so an absurd count is found before anything is allocated.
        if length - 1 > len(buffer) - position:
            raise ValueError(f"{length - 1} items are announced, {len(buffer) - position} bytes are left")
        items = []
        for _ in range(length - 1):
            value, position = read_item(buffer, position)
            items.append(value)
        return tuple(items), position

    def write(out: bytearray, value: tuple[Any, ...] | None) -> None:
        if value is None:
            _write_null(out, nullable)
            return
        _write_length(out, len(value))
        for one in value:
            write_item(out, one)

    return read, write


# --- structures --------------------------------------------------------------------------------------------------


def _nullable_struct(codec: tuple[Read, Write]) -> tuple[Read, Write]:
    read_present, write_present = codec

    def read(buffer: bytes, position: int) -> tuple[Any, int]:
        mark, position = read_unsigned_varint(buffer, position)
        return (None, position) if mark == _NULL_STRUCT else read_present(buffer, position)

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(_NULL_STRUCT)
            return
        out.append(_PRESENT_STRUCT)
        write_present(out, value)

    return read, write


def _nullable_plain_struct(codec: tuple[Read, Write]) -> tuple[Read, Write]:
    """One that is no tagged field: an int8 stands before it, negative for null (Kafka's generator has both forms)."""
    read_present, write_present = codec

    def read(buffer: bytes, position: int) -> tuple[Any, int]:
        mark = buffer[position]
        return (None, position + 1) if mark & _SIGN else read_present(buffer, position + 1)

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(_NULL_PLAIN_STRUCT)
            return
        out.append(_PRESENT_STRUCT)
        write_present(out, value)

    return read, write


def _primitive(spec: FieldSpec, version: int, flexible: bool) -> tuple[Read, Write]:
    nullable = spec.nullable and not spec.is_array
    match spec.kafka_type:
        case "bool":
            return _read_bool, _write_bool
        case "uuid":
            return _read_uuid, _write_uuid
        case "string":
            return _compact_string(nullable) if flexible else legacy_string(nullable)
        case "bytes":
            return _compact_bytes(nullable) if flexible else legacy_bytes("int32", nullable)
        case "struct":
            assert spec.struct is not None
            codec = _struct(spec.struct, version, flexible)
            if not nullable:
                return codec
            return _nullable_plain_struct(codec) if spec.tag is None else _nullable_struct(codec)
        case _:
            return _fixed(spec.kafka_type)


def _codec(spec: FieldSpec, version: int, flexible: bool) -> tuple[Read, Write]:
    codec = _primitive(spec, version, flexible)
    if not spec.is_array:
        return codec
    return _compact_array(codec, spec.nullable) if flexible else legacy_array(codec, spec.nullable)


class _Slot(NamedTuple):
    """One field of one version, ready to use."""

    name: str
    default: Any
    read: Read
    write: Write


def specs_of(struct: type[Struct]) -> dict[str, FieldSpec]:
    """The declared fields of a structure, in the order of the wire."""
    return {f.name: f.metadata["spec"] for f in dataclasses.fields(struct) if "spec" in f.metadata}


def _plan(struct: type[Struct], version: int, flexible: bool) -> tuple[list[_Slot], dict[int, _Slot], list[_Slot]]:
    """Plain slots, tagged slots by tag, and slots of fields that this version can't carry."""
    plain: list[_Slot] = []
    tagged: dict[int, _Slot] = {}
    absent: list[_Slot] = []
    for f in dataclasses.fields(struct):
        spec: FieldSpec | None = f.metadata.get("spec")
        if spec is None:
            continue
        assert f.default is not MISSING
        slot = _Slot(f.name, f.default, *_codec(spec, version, flexible))
        if not spec.since <= version <= (version if spec.until is None else spec.until):
            if not spec.ignorable:
                absent.append(slot)
        elif spec.tag is None:
            plain.append(slot)
        else:
            tagged[spec.tag] = slot
    return plain, dict(sorted(tagged.items())), absent


_COMPILED: Final[dict[tuple[type[Struct], int, bool], tuple[Read, Write]]] = {}


def _struct(struct: type[Struct], version: int, flexible: bool) -> tuple[Read, Write]:
    codec = _COMPILED.get((struct, version, flexible))
    if codec is None:
        codec = _COMPILED[struct, version, flexible] = _compile(struct, version, flexible)
    return codec


def _compile(struct: type[Struct], version: int, flexible: bool) -> tuple[Read, Write]:
    plain, tagged, absent = _plan(struct, version, flexible)

    def read(buffer: bytes, position: int) -> tuple[Struct, int]:
        values: dict[str, Any] = {}
        for name, _, read_field, _ in plain:
            values[name], position = read_field(buffer, position)
        if flexible:
            position = _read_tags(buffer, position, tagged, values)
        return struct(**values), position

    def write(out: bytearray, value: Struct) -> None:
        for name, default, _, _ in absent:
            if getattr(value, name) != default:
                raise ValueError(f"version {version} of {struct.__name__} can't carry {name}")
        for name, _, _, write_field in plain:
            write_field(out, getattr(value, name))
        if tagged or value.unknown_tags:
            _write_tags(out, value, tagged)
        elif flexible:
            out.append(0)

    return read, write


def _read_tags(buffer: bytes, position: int, tagged: dict[int, _Slot], values: dict[str, Any]) -> int:
    count, position = read_unsigned_varint(buffer, position)
    if not count:
        return position
    unknown: list[tuple[int, bytes]] = []
    last = -1
    for _ in range(count):
        tag, position = read_unsigned_varint(buffer, position)
        if tag <= last:
            raise ValueError(f"tag {tag} follows tag {last}")
        last = tag
        size, position = read_unsigned_varint(buffer, position)
        data = take(buffer, position, size)
        position += size
        slot = tagged.get(tag)
        if slot is None:
            unknown.append((tag, data))
            continue
        values[slot.name], end = slot.read(data, 0)
        if end != size:
            raise ValueError(f"{size - end} bytes are left over in tagged field {slot.name}")
    values["unknown_tags"] = tuple(unknown)
    return position


def _write_tags(out: bytearray, value: Struct, tagged: dict[int, _Slot]) -> None:
    present: dict[int, bytes] = dict(value.unknown_tags)
    for tag, slot in tagged.items():
        content = getattr(value, slot.name)
        if content == slot.default:
            continue
        if tag in present:
            raise ValueError(f"tag {tag} is both {slot.name} and an unknown field")
        body = bytearray()
        slot.write(body, content)
        present[tag] = bytes(body)
    write_unsigned_varint(out, len(present))
    for tag, data in sorted(present.items()):
        write_unsigned_varint(out, tag)
        write_unsigned_varint(out, len(data))
        out += data


def read_struct_prefix(struct: type[S], version: int, buffer: bytes, position: int = 0) -> tuple[S, int]:
    """Read a structure, and say where it ends; other bytes may follow."""
    try:
        value, end = _struct(struct, version, version >= struct.flexible_since)[0](buffer, position)
    except (IndexError, ValueError, LayoutError) as error:
        raise RecordError(f"{struct.__name__} version {version} is malformed: {error}") from None
    return cast("S", value), end


def read_struct(struct: type[S], version: int, buffer: bytes, position: int = 0) -> S:
    """Read a structure that fills the rest of the buffer."""
    value, end = read_struct_prefix(struct, version, buffer, position)
    if end != len(buffer):
        raise RecordError(f"{len(buffer) - end} bytes follow {struct.__name__} version {version}")
    return value


def write_struct(out: bytearray, version: int, value: Struct) -> None:
    """Append a structure; a field that this version does not have must hold its default."""
    try:
        _struct(type(value), version, version >= value.flexible_since)[1](out, value)
    except (ValueError, LayoutError, AttributeError, TypeError) as error:
        raise RecordError(f"{type(value).__name__} version {version} can't be written: {error}") from None


def lowest_version(value: Struct) -> int:
    """The first version that can carry what this structure holds; Kafka writes many records at just that version."""
    specs = specs_of(type(value))
    defaults = {f.name: f.default for f in dataclasses.fields(value)}
    return max((spec.since for name, spec in specs.items() if getattr(value, name) != defaults[name]), default=0)
