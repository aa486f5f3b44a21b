"""Requests made from plain values, at whichever version a node speaks; and the check that the wire can carry them.

A request is described once, with the fields of its newest version; an older version's class takes the fields it has.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args, get_origin

from doorkeeper.client.errors import InvalidRequestError, ResourceIdentifierTooLargeError
from doorkeeper.rules.javatext import escape_for_display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_STRING_BYTES: Final = 32767
"""Of one string in UTF-8, compact or not: Kafka's generated classes refuse to write or read a longer one."""


Shape: TypeAlias = "type[Any] | tuple[type[Any] | None] | None"
"""The class of a nested message, in a tuple if the field is an array; None for plain values."""


def build(entity: Any, values: Mapping[str, Any]) -> Any:
    """A message of the given class; nested messages are mappings, arrays are any iterable.

    Values without a field of that name are left out: the version is older than they are. A field without a value
    gets its default; flags are off by default.
    """
    parts: dict[str, Any] = {}
    for name, shape, default in _plan(entity):
        if name in values:
            parts[name] = _convert(shape, values[name])
        elif default is not MISSING:
            parts[name] = default
        else:
            raise TypeError(f"{entity.__name__} version {entity.__version__} needs '{name}'")
    return entity(**parts)


@cache
def _plan(entity: Any) -> tuple[tuple[str, Shape, Any], ...]:
    """Per field: its name, its shape, and its default."""
    return tuple((one.name, _shape(one.type), _default(one)) for one in fields(entity))


def _default(one: Field[Any]) -> Any:
    is_flag = one.default is MISSING and one.metadata.get("kafka_type") == "bool"
    return False if is_flag else one.default


def _shape(kind: Any) -> Shape:
    if get_origin(kind) is UnionType:
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return (inner if is_dataclass(inner) else None,)  # type: ignore[return-value]
    return kind if is_dataclass(kind) else None  # type: ignore[return-value]


def _convert(shape: Shape, value: Any) -> Any:
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
