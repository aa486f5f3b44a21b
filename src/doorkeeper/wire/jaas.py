"""The value of `sasl.jaas.config`: one login module and its options. From JaasConfig and JaasContext.

org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b" user_a="b";
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

LOGIN_MODULES: Final = MappingProxyType(
    {
        "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
        "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
        "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    }
)
"""The mechanisms that are spoken here, and the module that each needs."""

_FLAGS: Final = frozenset(("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"))
_TOKEN: Final = re.compile(
    r"""(?P<skipped>[\x00-\x20]+|/\*.*?(?:\*/|\Z)|/[^\r\n]*)"""
    r"""|"(?P<double>(?:[^"\\\r\n]|\\.)*)"?|'(?P<single>(?:[^'\\\r\n]|\\.)*)'?"""
    r"""|(?P<word>[A-Za-z_$\xa0-\U0010ffff][A-Za-z0-9_.$\-\xa0-\U0010ffff]*)|(?P<other>.)""",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasError(ValueError):
    """The value is not of that form; the message is Kafka's and holds no value."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """A login module; its options may be secrets and do not show."""

    name: str
    options: Mapping[str, str] = field(repr=False)


class _Token(NamedTuple):
    text: str
    is_word: bool
    """A word or a quoted text; else one character."""


def read_login_module(text: str) -> LoginModule:
    """The only login module of a `sasl.jaas.config`.

    :raises JaasError: where Kafka would refuse it.
    """
    tokens = list(_tokens(text))
    entries = []
    while tokens:
        end = next((place for place, one in enumerate(tokens) if one == (";", False)), None)
        entries.append(_entry(tokens if end is None else tokens[:end], is_ended=end is not None))
        tokens = [] if end is None else tokens[end + 1 :]
    if not entries:
        raise JaasError("Login module not specified in JAAS config")
    if len(entries) != 1:
        raise JaasError(f"JAAS config property contains {len(entries)} login modules, should be 1 module")
    return entries[0]


def _entry(tokens: list[_Token], *, is_ended: bool) -> LoginModule:
    if len(tokens) < 2:
        raise JaasError("Login module control flag not specified in JAAS config")
    module, flag, *rest = tokens
    if flag.text.upper() not in _FLAGS or not module.is_word:
        raise JaasError("Invalid login module control flag in JAAS config")
    options = {}
    while rest:
        key, rest = rest[0], rest[1:]
        if len(rest) < 2 or rest[0] != ("=", False) or not rest[1].is_word or not key.is_word:
            raise JaasError("Value not specified for a key in JAAS config")
        options[key.text] = rest[1].text
        rest = rest[2:]
    if not is_ended:
        raise JaasError("JAAS config entry not terminated by semi-colon")
    return LoginModule(module.text, MappingProxyType(options))


def _tokens(text: str) -> Iterator[_Token]:
    """Java's StreamTokenizer as JaasConfig sets it up; numbers, which no option may be, come out character-wise."""
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind in ("double", "single"):
            yield _Token(_ESCAPE.sub(_unescaped, found[kind]), True)
        elif kind == "word":
            yield _Token(found["word"], True)
        elif kind == "other":
            yield _Token(found["other"], False)


def _unescaped(found: re.Match[str]) -> str:
    text = found[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _CONTROLS.get(text, text)
