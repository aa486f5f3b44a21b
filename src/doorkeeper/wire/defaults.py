"""Values for fields that nobody set: the schema's default, or what its type has for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.schema import shape_of, tag_of

_EMPTY: Final[dict[str, Any]] = {
    "string": "",
    "bytes": b"",
    "records": b"",
    "bool": False,
    "float64": 0.0,
    "uuid": None,
    "timedelta_i32": timedelta(0),
    "timedelta_i64": timedelta(0),
    "datetime_i64": datetime.fromtimestamp(0, UTC),
    "error_code": ErrorCode.NONE,
}
NO_NUMBERS: Final[Mapping[str, int]] = MappingProxyType({})


def build(entity: type[Any], values: Mapping[str, Any], numbers: Mapping[str, int] = NO_NUMBERS) -> Any:
    """An instance with the given values, and defaults for the rest.

    :param numbers: what integer fields of these names hold instead of 0, where the schema has no default.
    """
    missing = _empty(entity)
    if numbers:
        missing = {name: numbers.get(name, 0) if type(value) is int else value for name, value in missing.items()}
    return entity(**(missing | dict(values)))


@remembered
def _empty(entity: type[Any]) -> dict[str, Any]:
    """For each field without a default of its own, a value of its type."""
    return {one.name: empty_value(one) for one in fields(entity) if one.default is MISSING}


def empty_value(field: Field[Any]) -> Any:
    """What a field holds when it holds nothing: null where that is lawful, an empty array in any case."""
    shape = shape_of(field)
    if shape.array:
        # Never null: Java clients iterate without asking.
        return ()
    if shape.entity is not None:
        return None if shape.nullable and tag_of(field) is None else build(shape.entity, {})
    if shape.nullable and shape.kafka_type != "records":
        return None
    return _EMPTY.get(str(shape.kafka_type), 0)
