"""Java's text functions, exact: Kafka judges with them, so we do.

Python's own differ in ways that change verdicts: `len` counts code points, `strip` takes every kind of white space,
`int` takes `1_000` and `float` takes neither `1.5d` nor `0x1p-1`. The vectors in `tests/vectors/javatext-*` come from
Java itself.

A Python text may hold a surrogate pair as two characters, which no Java text can tell from the one character they
spell; these functions see it as Java does.
"""

from __future__ import annotations

import codecs
import math
import re
from typing import Final

INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1
SHORT_MIN: Final = -(2**15)
SHORT_MAX: Final = 2**15 - 1

_DIGITS_OF_A_LONG: Final = 19

# The zeros of every decimal digit block of the Basic Multilingual Plane. Java's integer parsers go through
# `Character.digit(char, radix)`, which never sees a supplementary character, so digits above U+FFFF are no digits.
# A list, since Python's own Unicode data change with its version; this plane's blocks are the same in JDK 17 and later.
# fmt: off
_DIGIT_ZEROS: Final = (
    0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6,
    0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0,
    0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620,
    0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
)
# fmt: on
_ASCII_DIGIT_OF: Final = {zero + value: 0x30 + value for zero in _DIGIT_ZEROS for value in range(10)}
# `Character.digit` takes full-width letters, too, as digits of radix 16.
_ASCII_HEX_DIGIT_OF: Final = _ASCII_DIGIT_OF | {
    first + index: ord("a") + index for first in (0xFF21, 0xFF41) for index in range(6)
}

_AS_JAVA: Final = "doorkeeper.java"
"""The name of Python's error handler that does as Java."""
_REPLACEMENT: Final = "\ufffd"
_BEFORE_A_SURROGATE: Final = 0xED  # the first of three bytes that would spell one

_UP_TO_SPACE: Final = "".join(map(chr, range(0x21)))
_REGEX_WHITE_SPACE: Final = " \t\n\x0b\f\r"  # Java's \s

_INTEGER: Final = re.compile(r"([+-]?)([0-9]+)")
_HEX_BYTE: Final = re.compile(r"[0-9a-fA-F]{2}|[+-][0-9a-fA-F]")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?")
_HEX_FLOAT: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_WORD: Final = re.compile(r"([+-]?)(NaN|Infinity)")

# Characters that are not ASCII and yet equal an ASCII letter under `String.equalsIgnoreCase`.
_EQUAL_TO_ASCII_LETTER: Final = {0x017F: "s", 0x212A: "k", 0x0130: "i", 0x0131: "i"}

_NAMED_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def utf16_length(text: str) -> int:
    """The number of UTF-16 code units, `String.length()`: how Kafka counts every limit on a name."""
    if text.isascii():
        return len(text)
    # "utf-16" costs a fifth of "utf-16-le", which CPython looks up in its registry of codecs; it puts a mark in front.
    return len(text.encode("utf-16", "surrogatepass")) // 2 - 1


def join_surrogates(text: str) -> str:
    """The text with every surrogate pair as the one character it spells; lone surrogates stay."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def decode_utf8(data: bytes | bytearray | memoryview) -> str:
    """`new String(data, UTF_8)`: what is no UTF-8 becomes U+FFFD. So does Kafka read every string of a request."""
    return str(data, "utf-8", _AS_JAVA)


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """One U+FFFD for what Python takes for one mistake, and for an encoded surrogate, in which Python sees several."""
    assert isinstance(error, UnicodeDecodeError)
    data, start = error.object, error.start
    if data[start] != _BEFORE_A_SURROGATE or not _continues(data, start + 1):
        return _REPLACEMENT, error.end
    return _REPLACEMENT, start + (3 if _continues(data, start + 2) else 2)


def _continues(data: bytes, place: int) -> bool:
    return place < len(data) and data[place] & 0xC0 == 0x80


codecs.register_error(_AS_JAVA, _replace_as_java)


def trim(text: str) -> str:
    """`String.trim()`: strips characters up to U+0020, so control characters go and no-break space stays."""
    return text.strip(_UP_TO_SPACE)


def equals_ignore_case(text: str, word: str) -> bool:
    """`String.equalsIgnoreCase` against an ASCII word; Kafka reads booleans with it (`falſe` is false)."""
    return text.translate(_EQUAL_TO_ASCII_LETTER).lower() == word.lower()


def split_java(text: str, sep: str = ",") -> list[str]:
    """`String.split(sep)` for a literal separator: trailing empty parts are dropped, the empty text is one part.

    Kafka splits so the list to which APPEND and SUBTRACT apply.
    """
    if not text:
        return [""]
    parts = text.split(sep)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def split_list(text: str) -> list[str]:
    """The value of a LIST config (`ConfigDef.parseType`): trimmed; then split at commas, empty entries kept."""
    trimmed = trim(text)
    if not trimmed:
        return []
    return [part.strip(_REGEX_WHITE_SPACE) for part in trimmed.split(",")]


def parse_int(text: str) -> int | None:
    """`Integer.parseInt`, or None where Java throws."""
    return _parse_integer(text, INT_MIN, INT_MAX)


def parse_long(text: str) -> int | None:
    """`Long.parseLong`, or None where Java throws."""
    return _parse_integer(text, LONG_MIN, LONG_MAX)


def parse_short(text: str) -> int | None:
    """`Short.parseShort`, or None where Java throws."""
    return _parse_integer(text, SHORT_MIN, SHORT_MAX)


def _parse_integer(text: str, lowest: int, highest: int) -> int | None:
    match = _INTEGER.fullmatch(text if text.isascii() else text.translate(_ASCII_DIGIT_OF))
    if match is None:
        return None
    digits = match[2].lstrip("0")
    if len(digits) > _DIGITS_OF_A_LONG:  # Python refuses to read thousands of them
        return None
    value = int(f"{match[1]}0{digits}")
    return value if lowest <= value <= highest else None


def parse_hex_byte(text: str) -> int | None:
    """`Integer.parseInt(text, 16)` of two characters, as `URLDecoder` reads an escape: `+5` and `５Ｆ` pass."""
    digits = text.translate(_ASCII_HEX_DIGIT_OF)
    return int(digits, 16) if _HEX_BYTE.fullmatch(digits) else None


def parse_double(text: str) -> float | None:
    """`Double.parseDouble`, or None where Java throws: hex floats, `NaN`, `Infinity`, suffixes `d` and `f`."""
    trimmed = trim(text)
    if _DECIMAL.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD"))
    if _HEX_FLOAT.fullmatch(trimmed):
        return _parse_hex_float(trimmed)
    if word := _WORD.fullmatch(trimmed):
        return math.nan if word[2] == "NaN" else float(f"{word[1]}inf")
    return None


def _parse_hex_float(text: str) -> float:
    if text[-1] in "fFdD":
        text = text[:-1]  # after the exponent's decimal digits it can only be a suffix
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.copysign(math.inf, -1.0 if text[0] == "-" else 1.0)


def format_double(value: float) -> str:
    """`Double.toString` as specified since JDK 19: the shortest text of at least two digits that reads back.

    Earlier JDKs give a longer text for some doubles (JDK-4511638), which is why two brokers may differ there.
    """
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    value = abs(value)
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0.0:
        return f"{sign}0.0"
    digits, exponent = _shortest_digits(value)
    if not -3 <= exponent < 7:
        return f"{sign}{digits[0]}.{digits[1:]}E{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits.rstrip('0')}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{fraction or '0'}"


def _shortest_digits(value: float) -> tuple[str, int]:
    """At least two significant digits, and the power of ten of the first."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    if len(digits) > 1:
        return digits, int(exponent or 0) + len(whole) - 1 - leading_zeros
    # Python stops at one digit, where Java takes the nearest two: 4.9E-324 and not 5.0E-324.
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return mantissa.replace(".", ""), int(exponent)


def escape_for_display(text: str, limit: int = 64) -> str:
    """The text in at most `limit` characters that are safe on a terminal and in a log line.

    Control characters, bidirectional and other invisible characters, surrogates and unassigned code points show as
    escapes (`\\n`, `\\x1b`, `\\u202e`), a backslash as two; what does not fit is cut off whole and
    shows as `…`.
    """
    shown: list[str] = []
    room = limit
    for character in text[: limit + 1]:
        piece = _escaped(character)
        room -= len(piece)
        shown.append(piece)
        if room < 0:
            break
    else:
        return "".join(shown)
    while room < 1:
        room += len(shown.pop())
    return "".join(shown) + "…"


def _escaped(character: str) -> str:
    if character in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
