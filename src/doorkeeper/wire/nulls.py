"""Null arrays where the schema has none.

kio reads a null array as None whatever the schema says; Kafka's generated readers refuse it ("non-nullable field was
serialized as null"), and handlers count on that. The check is generated per class and looks at arrays only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeAlias

from doorkeeper.wire.memory import remembered
from doorkeeper.wire.schema import Shape, shape_of
from doorkeeper.wire.walking import refuse

Check: TypeAlias = Callable[[Any], None]
"""Raises RemoteProtocolError when a decoded message holds a null that it must not."""


def _null_in(name: str) -> None:
    refuse(f"non-nullable field {name} was serialized as null")


def _lines(entity: type[Any], value: str, depth: int) -> list[str]:
    found: list[str] = []
    for field in fields(entity):
        found += _field_lines(field.name, shape_of(field), f"{value}.{field.name}", depth)
    return found


def _field_lines(name: str, shape: Shape, value: str, depth: int) -> list[str]:
    indent = "    " * depth
    found = []
    if shape.array and not shape.nullable:
        found.append(f"{indent}if {value} is None: null_in({name!r})")
    if shape.entity is None:
        return found
    item = f"e{depth}" if shape.array else value
    inner = _lines(shape.entity, item, depth + 1)
    if not inner:
        return found
    if shape.array:
        elements = f"{value} or ()" if shape.nullable else value
        return [*found, f"{indent}for {item} in {elements}:", *inner]
    return [*found, f"{indent}if {value} is not None:", *inner]


@remembered
def null_check(entity: type[Any]) -> Check:
    """The check for one class, generated at first use."""
    names: dict[str, Any] = {"null_in": _null_in}
    lines = ["def check(e0):", *_lines(entity, "e0", 1), "    return"]
    exec("\n".join(lines), names)  # noqa: S102 - the text is made of our own schemas, never of input
    check: Check = names["check"]
    return check
