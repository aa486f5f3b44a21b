"""Requests made from plain values, at whichever version a node speaks; and the check that the wire can carry them.

A request is described once, with the fields of its newest version; an older version's class takes the fields it has.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

from doorkeeper.client.errors import InvalidRequestError, ResourceIdentifierTooLargeError
from doorkeeper.rules.javatext import escape_for_display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_STRING_BYTES: Final = 32767
"""Of one string in UTF-8, compact or not: Kafka's generated classes refuse to write or read a longer one."""


def build(entity: type[Any], values: Mapping[str, Any]) -> Any:
    """A message of the given class; nested messages are mappings, arrays are any iterable.

    Values without a field of that name are left out: the version is older than they are. A field without a value
    gets its default.
    """
    parts: dict[str, Any] = {}
    for name, kind, required in _plan(entity):
        if name in values:
            parts[name] = _convert(kind, values[name])
        elif required:
            raise TypeError(f"{entity.__name__} version {entity.__version__} needs '{name}'")
    return entity(**parts)


@cache
def _plan(entity: type[Any]) -> tuple[tuple[str, type[Any] | tuple[type[Any] | None] | None, bool], ...]:
    """Per field: its name, the nested class (in a tuple if it is an array of them), and whether it must be given."""
    return tuple((one.name, _shape(one.type), one.default is MISSING) for one in fields(entity))


def _shape(kind: Any) -> type[Any] | tuple[type[Any] | None] | None:
    if get_origin(kind) is UnionType:
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return (inner if is_dataclass(inner) else None,)  # type: ignore[return-value]
    return kind if is_dataclass(kind) else None  # type: ignore[return-value]


def _convert(shape: type[Any] | tuple[type[Any] | None] | None, value: Any) -> Any:
    if shape is None or value is None:
        return value
    if not isinstance(shape, tuple):
        return build(shape, value)
    (inner,) = shape
    return tuple(value) if inner is None else tuple(build(inner, item) for item in value)


def require_fits(message: Any) -> None:
    """Refuse a message with a string that no request can carry, before anything is sent.

    :raises ResourceIdentifierTooLargeError: naming the field, its length and the limit.
    :raises InvalidRequestError: for text that has no UTF-8 form (a lone surrogate).
    """
    for place, text in _strings(message, ""):
        if len(text) * 3 > MAX_STRING_BYTES or not text.isascii():
            require_string_fits(place, text)


def require_string_fits(place: str, text: str) -> None:
    """The same for one string."""
    try:
        length = len(text.encode())
    except UnicodeEncodeError as error:
        shown = escape_for_display(text)
        raise InvalidRequestError(
            f"{place} '{shown}' has no UTF-8 form: a lone surrogate at position {error.start}"
        ) from None
    if length > MAX_STRING_BYTES:
        raise ResourceIdentifierTooLargeError(
            f"{place} '{escape_for_display(text)}' is {length} bytes long in UTF-8; "
            f"a string in a request may have at most {MAX_STRING_BYTES}"
        )


def _strings(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _strings(item, f"{place}[{index}]")
    elif is_dataclass(value):
        for one in fields(value):
            yield from _strings(getattr(value, one.name), f"{place}.{one.name}" if place else one.name)
