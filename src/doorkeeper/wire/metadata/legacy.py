"""Kafka's encoding of lengths before KIP-482: fixed-width, -1 for null (Kafka's protocol.types.Type)."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct as Layout
from typing import Any, Final

Read = Callable[[bytes, int], tuple[Any, int]]
Write = Callable[[bytearray, Any], None]

_LENGTHS: Final = {"int16": Layout(">h"), "int32": Layout(">i")}
_NULL_LENGTH: Final = -1


def take(buffer: bytes, position: int, length: int) -> bytes:
    """So many bytes from a position on; ValueError if the buffer ends before."""
    end = position + length
    if end > len(buffer):
        raise ValueError(f"{length} bytes are announced, {len(buffer) - position} are left")
    return buffer[position:end]


def legacy_bytes(length_type: str, nullable: bool) -> tuple[Read, Write]:
    """Bytes after an int16 (strings) or int32 (bytes) length."""
    layout = _LENGTHS[length_type]

    def read(buffer: bytes, position: int) -> tuple[bytes | None, int]:
        length = layout.unpack_from(buffer, position)[0]
        position += layout.size
        if length < 0:
            if nullable:
                return None, position
            raise ValueError("null where a value is required")
        return take(buffer, position, length), position + length

    def write(out: bytearray, value: bytes | None) -> None:
        if value is None:
            if not nullable:
                raise ValueError("null where a value is required")
            out += layout.pack(_NULL_LENGTH)
            return
        out += layout.pack(len(value))
        out += value

    return read, write


def legacy_string(nullable: bool) -> tuple[Read, Write]:
    """A string after an int16 length."""
    read_bytes, write_bytes = legacy_bytes("int16", nullable)

    def read(buffer: bytes, position: int) -> tuple[str | None, int]:
        raw, position = read_bytes(buffer, position)
        return None if raw is None else raw.decode(), position

    def write(out: bytearray, value: str | None) -> None:
        write_bytes(out, None if value is None else value.encode())

    return read, write


def legacy_array(item: tuple[Read, Write], nullable: bool) -> tuple[Read, Write]:
    """Items after an int32 count."""
    layout = _LENGTHS["int32"]
    read_item, write_item = item

    def read(buffer: bytes, position: int) -> tuple[tuple[Any, ...] | None, int]:
        count = layout.unpack_from(buffer, position)[0]
        position += layout.size
        if count < 0:
            if nullable:
                return None, position
            raise ValueError("null where an array is required")
        # Every item takes at least one byte, so an absurd count is found before anything is allocated.
        if count > len(buffer) - position:
            raise ValueError(f"{count} items are announced, {len(buffer) - position} bytes are left")
        items = []
        for _ in range(count):
            value, position = read_item(buffer, position)
            items.append(value)
        return tuple(items), position

    def write(out: bytearray, value: tuple[Any, ...] | None) -> None:
        if value is None:
            if not nullable:
                raise ValueError("null where an array is required")
            out += layout.pack(_NULL_LENGTH)
            return
        out += layout.pack(len(value))
        for one in value:
            write_item(out, one)

    return read, write
