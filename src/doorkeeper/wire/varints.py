"""Variable-length integers as Kafka writes them (org.apache.kafka.common.utils.ByteUtils).

Readers take a buffer and a position and return the value and the position after it. They raise IndexError at the end
of the buffer and ValueError on a number too long for its type; their callers name the thing that was being read.
"""

from __future__ import annotations

VARINT_BITS = 32
VARLONG_BITS = 64


def read_unsigned_varint(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    """An unsigned number of up to 32 bits, seven to a byte, lowest first."""
    byte = buffer[position]
    if byte < 0x80:
        return byte, position + 1
    return _read_varint(buffer, position, VARINT_BITS)


def read_varint(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    """A signed 32-bit number in zig-zag form."""
    raw, position = _read_varint(buffer, position, VARINT_BITS)
    return (raw >> 1) ^ -(raw & 1), position


def read_varlong(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    """A signed 64-bit number in zig-zag form."""
    raw, position = _read_varint(buffer, position, VARLONG_BITS)
    return (raw >> 1) ^ -(raw & 1), position


def _read_varint(buffer: bytes | memoryview, position: int, bits: int) -> tuple[int, int]:
    value = 0
    shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise ValueError(f"a number longer than {bits} bits")
    if value >> bits:
        raise ValueError(f"a number longer than {bits} bits")
    return value, position


def write_unsigned_varint(out: bytearray, value: int) -> None:
    """Append an unsigned number; the caller has checked its range."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_varint(out: bytearray, value: int) -> None:
    """Append a signed number (32 or 64 bits) in zig-zag form."""
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    if raw < 0x80:
        out.append(raw)
    else:
        write_unsigned_varint(out, raw)
