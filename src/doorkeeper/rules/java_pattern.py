"""Whether Java would compile a text as a regular expression.

Kafka compiles patterns from configs (`match` of client metrics, the JMX filters) and refuses what
`java.util.regex.Pattern.compile` refuses. This is that class's grammar (JDK 17, no flags), without the matching. Not
judged: whether what a look-behind matches has a maximum length.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")
_DIGITS: Final = frozenset("0123456789")
_FLAGS: Final = frozenset("idmsuxU")
_GROUP_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")
_PLAIN_ESCAPES: Final = frozenset("123456789aAbBdDefGhHnrRsStvVwWXzZ")
_NOT_IN_CLASS: Final = frozenset("123456789AbBGRXzZ")
_MAX_REPETITION: Final = (1 << 31) - 1


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_POSIX: Final = _words("Lower Upper ASCII Alpha Digit Alnum Punct Graph Print Blank Cntrl XDigit Space")
_CATEGORIES: Final = _words(
    "Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf "
    "L M N Z C P S LC LD L1 all"
)
_JAVA: Final = _words(
    "javaLowerCase javaUpperCase javaAlphabetic javaIdeographic javaTitleCase javaDigit javaDefined javaLetter "
    "javaLetterOrDigit javaJavaIdentifierStart javaJavaIdentifierPart javaUnicodeIdentifierStart "
    "javaUnicodeIdentifierPart javaIdentifierIgnorable javaSpaceChar javaWhitespace javaISOControl javaMirrored"
)
_BINARY: Final = _words(
    "ALPHABETIC LETTER IDEOGRAPHIC LOWERCASE UPPERCASE TITLECASE WHITE_SPACE CONTROL PUNCTUATION HEX_DIGIT ASSIGNED "
    "NONCHARACTER_CODE_POINT DIGIT ALNUM BLANK GRAPH PRINT WORD JOIN_CONTROL WHITESPACE HEXDIGIT "
    "NONCHARACTERCODEPOINT JOINCONTROL"
)
_SCRIPTS: Final = _words(
    "LATIN GREEK CYRILLIC ARABIC HEBREW HAN HIRAGANA KATAKANA HANGUL THAI DEVANAGARI ARMENIAN GEORGIAN BENGALI TAMIL "
    "TELUGU COMMON INHERITED UNKNOWN"
)


class _BadPatternError(Exception):
    """Java would not compile this."""


def is_java_pattern(text: str) -> bool:
    """Whether `Pattern.compile` takes the text. Scripts and blocks of Unicode are known by their common names only."""
    try:
        _Parser(_unquoted(text)).parse()
    except (_BadPatternError, RecursionError):
        return False
    return True


def _unquoted(text: str) -> str:
    r"""The text with what stands between `\Q` and `\E` made literal (`Pattern.RemoveQEQuoting`)."""
    pieces = []
    at = 0
    while at < len(text):
        if text.startswith("\\Q", at):
            end = text.find("\\E", at + 2)
            quoted = text[at + 2 :] if end < 0 else text[at + 2 : end]
            pieces.append("".join("q" if not letter.isalnum() else letter for letter in quoted))
            at = len(text) if end < 0 else end + 2
        else:
            width = 2 if text[at] == "\\" else 1
            pieces.append(text[at : at + width])
            at += width
    return "".join(pieces)


class _Parser:
    """Recursive descent over one pattern."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups: set[str] = set()

    def parse(self) -> None:
        self.alternatives()
        if self.at < len(self.text):
            raise _BadPatternError("Unmatched closing ')'")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        letter = self.peek()
        if not letter:
            raise _BadPatternError("The pattern ends too early")
        self.at += 1
        return letter

    def accept(self, token: str) -> bool:
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise _BadPatternError(f"{token} is missing")

    def alternatives(self) -> None:
        while self.peek() not in ("", ")"):
            if not self.accept("|") and self.atom():
                self.repetition()

    def atom(self) -> bool:
        """One thing; whether it may be repeated, which inline flags may not."""
        if self.peek() == "{":
            return True  # the repetition of nothing
        letter = self.take()
        if letter in "*+?":
            raise _BadPatternError(f"Dangling meta character '{letter}'")
        if letter == "(":
            return self.group()
        if letter == "[":
            self.character_class()
        elif letter == "\\":
            self.escape(in_class=False)
        return True

    def repetition(self) -> None:
        letter = self.peek()
        if letter not in ("*", "+", "?", "{"):
            return
        self.at += 1
        if letter == "{":
            self.counts()
        if self.peek() in ("?", "+"):
            self.at += 1

    def counts(self) -> None:
        least = self.number()
        most = least
        if self.accept(","):
            most = _MAX_REPETITION if self.peek() == "}" else self.number()
        self.expect("}")
        if most < least:
            raise _BadPatternError("Illegal repetition range")

    def number(self) -> int:
        digits = ""
        while self.peek() and self.peek() in _DIGITS:
            digits += self.take()
        if not digits or int(digits) > _MAX_REPETITION:
            raise _BadPatternError("Illegal repetition")
        return int(digits)

    def group(self) -> bool:
        if self.accept("?"):
            return self.special_group()
        self.alternatives()
        self.expect(")")
        return True

    def special_group(self) -> bool:
        if self.accept("<") and self.peek() not in ("=", "!"):
            name = self.name()
            if name in self.groups:
                raise _BadPatternError(f"Named capturing group <{name}> is already defined")
            self.groups.add(name)
        elif self.text.startswith("<", self.at - 1):
            self.at += 1  # look-behind
        elif not any(self.accept(kind) for kind in (":", "=", "!", ">")) and self.flags():
            return False
        self.alternatives()
        self.expect(")")
        return True

    def flags(self) -> bool:
        """Inline flags; whether the group ends with them."""
        while self.peek() and self.peek() in _FLAGS:
            self.at += 1
        if self.accept("-"):
            while self.peek() and self.peek() in _FLAGS:
                self.at += 1
        if self.accept(")"):
            return True
        self.expect(":")
        return False

    def name(self) -> str:
        match = _GROUP_NAME.match(self.text, self.at)
        if match is None:
            raise _BadPatternError("capturing group name does not start with a Latin letter")
        self.at = match.end()
        self.expect(">")
        return match[0]

    def character_class(self) -> None:
        self.accept("^")
        empty = True
        while True:
            if self.accept("&&"):
                if self.peek() in ("]", "") and empty:
                    raise _BadPatternError("Bad class syntax")
                continue
            if self.peek() == "]" and not empty:
                self.at += 1
                return
            if self.accept("["):
                self.character_class()
            else:
                self.range()
            empty = False

    def range(self) -> None:
        first = self.class_character()
        if self.peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", "["):
            return
        self.at += 1
        last = self.class_character()
        if first is not None and last is not None and last < first:
            raise _BadPatternError("Illegal character range")

    def class_character(self) -> str | None:
        """One character; None if it is an escape, whose place in a range is not worth knowing."""
        letter = self.take()
        if letter != "\\":
            return letter
        escaped = self.peek()
        self.escape(in_class=True)
        return escaped if not escaped.isalnum() else None

    def escape(self, *, in_class: bool) -> None:
        letter = self.take()
        if not letter.isascii() or not letter.isalnum():
            return
        if letter in _PLAIN_ESCAPES and not (in_class and letter in _NOT_IN_CLASS):
            return
        parse = {
            "0": self.octal,
            "x": self.hexadecimal,
            "u": self.unicode,
            "c": self.take,
            "N": self.character_name,
        }.get(letter)
        if parse is not None:
            parse()
        elif letter in "pP":
            self.property()
        elif letter == "k" and not in_class:
            self.expect("<")
            if self.name() not in self.groups:
                raise _BadPatternError("named capturing group does not exist")
        else:
            raise _BadPatternError("Illegal/unsupported escape sequence")

    def octal(self) -> None:
        if self.take() not in _OCTAL:
            raise _BadPatternError("Illegal octal escape sequence")

    def unicode(self) -> None:
        for _ in range(4):
            if self.take() not in _HEX:
                raise _BadPatternError("Illegal Unicode escape sequence")

    def hexadecimal(self) -> None:
        if self.accept("{"):
            digits = self.until_brace()
            if not digits or not _HEX.issuperset(digits) or int(digits, 16) > 0x10FFFF:
                raise _BadPatternError("Illegal hexadecimal escape sequence")
        elif not (self.take() in _HEX and self.take() in _HEX):
            raise _BadPatternError("Illegal hexadecimal escape sequence")

    def character_name(self) -> None:
        self.expect("{")
        try:
            unicodedata.lookup(self.until_brace())
        except KeyError:
            raise _BadPatternError("Unknown character name") from None

    def until_brace(self) -> str:
        end = self.text.find("}", self.at)
        if end < 0:
            raise _BadPatternError("Unclosed {")
        inside = self.text[self.at : end]
        self.at = end + 1
        return inside

    def property(self) -> None:
        name = self.until_brace() if self.accept("{") else self.take()
        if not _is_property(name):
            raise _BadPatternError("Unknown character property name")


def _is_property(name: str) -> bool:
    kind, equals, value = name.partition("=")
    if equals:
        if kind.lower() in ("gc", "general_category"):
            return value in _CATEGORIES
        return kind.lower() in ("sc", "script", "blk", "block") and value.upper() in _SCRIPTS
    if name.startswith("In"):
        return name[2:].upper() in _SCRIPTS
    if name.startswith("Is"):
        return name[2:].upper() in _BINARY | _SCRIPTS or name[2:] in _CATEGORIES
    return name in _CATEGORIES or name in _POSIX or name in _JAVA
