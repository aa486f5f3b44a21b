"""One plain instance of any message class: every array with one element."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from doorkeeper.wire.defaults import build
from doorkeeper.wire.schema import shape_of

_ELEMENTS = {"string": "one", "int8": 1, "int16": 1, "int32": 1, "int64": 1, "uuid": None}


def sample(entity: type[Any], **values: Any) -> Any:
    """An instance with one element in each array and defaults elsewhere; `values` go first."""
    for field in fields(entity):
        shape = shape_of(field)
        if shape.array and field.name not in values:
            element = _ELEMENTS[str(shape.kafka_type)] if shape.entity is None else sample(shape.entity)
            values[field.name] = (element,)
    return build(entity, values)
