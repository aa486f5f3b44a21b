"""The same message in another class: field names are what counts.

kio has one class for each version of each message; decisions speak of one request and one answer, whatever the version.
`reshape` copies fields by name: what the source does not have takes the target's default, what the target does not have
is left out (Kafka's one-class-for-all-versions messages do the same). Nested structures are reshaped alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from kio.schema.errors import ErrorCode

T = TypeVar("T")

_ABSENT: Final = object()

Memo = dict[tuple[int, Any], tuple[Any, ...]]
"""Arrays that were reshaped already in this call: a thousand topics may share one array of configs."""
Convert = Callable[[Any, Memo], Any]


class _Slot(NamedTuple):
    name: str
    convert: Convert | None
    """None: the value fits as it is."""


def reshape(source: object, target: type[T], **given: object) -> T:
    """Build a `target` from the equally named fields of `source`; `given` fields come first.

    :raises TypeError: if the target requires a field that is neither given nor in the source.
    """
    return cast("T", _reshape(source, target, given, {}))


def _reshape(source: object, target: Any, given: Mapping[str, object], memo: Memo) -> Any:
    values = dict(given)
    for name, convert in _slots(target):
        if name in given:
            continue
        value = getattr(source, name, _ABSENT)
        if value is not _ABSENT:
            values[name] = value if convert is None else convert(value, memo)
    return target(**values)


@cache
def _slots(target: Any) -> tuple[_Slot, ...]:
    hints = get_type_hints(target)
    return tuple(_Slot(one.name, _converter(hints[one.name])) for one in fields(target) if one.init)


def required_fields(target: type[Any]) -> frozenset[str]:
    """The fields without a default: a source, or the caller, has to have them."""
    return frozenset(
        one.name for one in fields(target) if one.default is MISSING and one.default_factory is MISSING and one.init
    )


def _converter(kind: Any) -> Convert | None:
    origin = get_origin(kind)
    if origin in (UnionType, Union):
        (inner,) = (_converter(part) for part in get_args(kind) if part is not NoneType)
        return None if inner is None else lambda value, memo: None if value is None else inner(value, memo)
    if origin is tuple:
        return _array_converter(get_args(kind)[0])
    if is_dataclass(kind):
        return lambda value, memo: _reshape(value, kind, {}, memo)
    return (lambda value, _: ErrorCode(value)) if kind is ErrorCode else None


def _array_converter(kind: Any) -> Convert | None:
    convert = _converter(kind)
    if convert is None:
        return None

    def convert_array(value: Any, memo: Memo) -> tuple[Any, ...]:
        key = (id(value), kind)  # the source holds the array, so its id is its own during the call
        done = memo.get(key)
        if done is None:
            done = memo[key] = tuple(convert(item, memo) for item in value)
        return done

    return convert_array
