"""Messages of any version from plain values: what a version lacks is left out, what is not given takes the default.

Kafka has one class for all versions of a message; kio has one for each. `fill` takes mappings for nested messages, so a
handler states its answer once, with the names of the newest schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from doorkeeper.wire.codes import wire_code
from doorkeeper.wire.defaults import build
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.messages import message_classes
from doorkeeper.wire.schema import shape_of

Values = Mapping[str, Any]


class _Slot(NamedTuple):
    name: str
    convert: Callable[[Any], Any] | None


def make_request(api_key: int, version: int, values: Values) -> Any:
    """A request of that API and version."""
    return fill(message_classes(api_key, version).request, values)


def make_response(api_key: int, version: int, values: Values) -> Any:
    """A response of that API and version."""
    return fill(message_classes(api_key, version).response, values)


def fill(entity: type[Any], values: Values) -> Any:
    """A message of this class with these values; nested messages are mappings, or messages already."""
    chosen = {}
    for name, convert in _slots(entity):
        if name in values:
            value = values[name]
            chosen[name] = value if convert is None else convert(value)
    return build(entity, chosen)


@remembered
def _slots(entity: type[Any]) -> tuple[_Slot, ...]:
    return tuple(_Slot(one.name, _converter(one)) for one in fields(entity))


def _converter(field: Any) -> Callable[[Any], Any] | None:
    shape = shape_of(field)
    if shape.kafka_type == "error_code":
        return wire_code
    if shape.entity is None:
        return tuple if shape.array and not shape.nullable else None
    nested = shape.entity

    def one(value: Any) -> Any:
        return fill(nested, value) if isinstance(value, Mapping) else value

    if not shape.array:
        return one
    return lambda items: None if items is None else tuple(one(item) for item in items)
