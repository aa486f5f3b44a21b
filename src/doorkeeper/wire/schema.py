"""What a message class says about its bytes: read from the annotations and metadata of kio's generated dataclasses."""

from __future__ import annotations

from dataclasses import Field, is_dataclass
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, get_args, get_origin

FIXED_SIZES: Final = {
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "uint32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "uuid": 16,
}
"""Bytes of the types that always take as many."""


class Shape(NamedTuple):
    """What a field looks like on the wire."""

    array: bool
    entity: type[Any] | None
    kafka_type: str | None
    nullable: bool


def shape_of(field: Field[Any]) -> Shape:
    """Read a field's type annotation and metadata, as kio's generated dataclasses have them."""
    kind, nullable = _without_none(field.type)
    array = get_origin(kind) is tuple
    if array:
        kind, _ = _without_none(get_args(kind)[0])
    entity = kind if is_dataclass(kind) else None
    assert entity is None or isinstance(entity, type)
    return Shape(array, entity, field.metadata.get("kafka_type"), nullable)


def _without_none(kind: Any) -> tuple[Any, bool]:
    if get_origin(kind) is not UnionType:
        return kind, False
    (inner,) = (part for part in get_args(kind) if part is not NoneType)
    return inner, True


def tag_of(field: Field[Any]) -> int | None:
    """The tag of a tagged field (KIP-482)."""
    tag = field.metadata.get("tag")
    return None if tag is None else int(tag)
