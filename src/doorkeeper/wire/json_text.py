"""Messages as JSON, as Kafka's generated converters write them; by functions generated from the message classes.

From `MessageDataGenerator`'s JsonConverter classes: fields in the order of the schema under their Kafka names, tagged
fields only where they differ from their default, bytes in base64, ids in Kafka's own base64, times in milliseconds.
Records are never shown.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from datetime import datetime, timedelta
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias
from uuid import UUID

from doorkeeper.wire.defaults import empty_value
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.schema import Shape, shape_of, tag_of
from doorkeeper.wire.uuids import format_uuid

Show: TypeAlias = Callable[[Any], str]
"""A message's JSON."""

ZERO_UUID: Final = UUID(int=0)
COUNTED: Final = frozenset((0, 1))
"""Produce and Fetch: `RequestConvertToJson` has their records left out, and their sizes shown."""
EMPTY: Final = '""'
_TIMES: Final = frozenset(("timedelta_i32", "timedelta_i64", "datetime_i64"))
_ESCAPE: Final = re.compile(r"\\\\|\\u00[01][0-9a-f]")


def show_text(text: str) -> str:
    """A string with its quotes. Beyond ASCII everything stands as it is, as Jackson does it."""
    shown = encode_basestring(text)
    return _ESCAPE.sub(_upper, shown) if "\\u00" in shown else shown


def _upper(found: re.Match[str]) -> str:
    """Jackson writes hexadecimal digits large."""
    return found[0][:2] + found[0][2:].upper()


def show_double(value: float) -> str:
    """A number; what JSON has no number for is a string, as Jackson writes it."""
    if math.isfinite(value):
        return repr(value)
    return '"NaN"' if math.isnan(value) else ('"Infinity"' if value > 0 else '"-Infinity"')


def json_name(field: Field[Any]) -> str:
    """Kafka's name of a field: kio drops the `Ms` of times, for which it has types."""
    first, *more = field.name.split("_")
    ending = "Ms" if shape_of(field).kafka_type in _TIMES else ""
    return first + "".join(word.title() for word in more) + ending


def _show_bytes(value: bytes) -> str:
    return f'"{base64.b64encode(value).decode("ascii")}"'


def _show_uuid(value: UUID | None) -> str:
    return f'"{format_uuid(value or ZERO_UUID)}"'


def _show_time(value: datetime | None) -> str:
    return "-1" if value is None else str(round(value.timestamp() * 1000))


def _show_duration(value: timedelta) -> str:
    return str(round(value.total_seconds() * 1000))


_FORMATS: Final = {
    "bool": "('true' if {} else 'false')",
    "float64": "double({})",
    "string": "text({})",
    "bytes": "octets({})",
    "uuid": "uuid({})",
    "datetime_i64": "time({})",
    "timedelta_i32": "duration({})",
    "timedelta_i64": "duration({})",
}
"""How a value that is not null is shown; integers and error codes are numbers."""


def quoted(name: str) -> str:
    """A field's name as it leads its value."""
    return f'"{name}":'


class _Code:
    """The expression being generated, and the objects that it refers to."""

    def __init__(self, *, counts_records: bool) -> None:
        self._counts_records = counts_records
        self.names: dict[str, Any] = {
            "double": show_double,
            "text": show_text,
            "octets": _show_bytes,
            "uuid": _show_uuid,
            "time": _show_time,
            "duration": _show_duration,
        }

    def refer(self, value: object) -> str:
        name = f"object_{len(self.names)}"
        self.names[name] = value
        return name

    def value(self, shape: Shape, expression: str) -> str:
        """An expression for the JSON of a field's value."""
        if shape.array:
            item = self.item(shape, "i")
            shown = f"'[' + ','.join([{item} for i in {expression}]) + ']'"
        else:
            shown = self.item(shape, expression)
        has_own_null = not shape.array and shape.kafka_type in ("uuid", "datetime_i64")
        if shape.nullable and not has_own_null:
            return f"('null' if {expression} is None else {shown})"
        return f"({shown})"

    def item(self, shape: Shape, expression: str) -> str:
        if shape.entity is not None:
            return f"{self.refer(shower(shape.entity))}({expression})"
        return _FORMATS.get(str(shape.kafka_type), "str(int({}))").format(expression)

    def _records(self, name: str, place: str, lead: str) -> str:
        """Kafka counts the records of Produce and Fetch, and shows those of other APIs as nothing."""
        if self._counts_records:
            shown = f"{lead + quoted(name + 'SizeInBytes')!r} + str(len({place}))"
        else:
            shown = f"{lead + quoted(name) + EMPTY!r}"
        return f"({shown} if {place} is not None else {lead + quoted(name) + 'null'!r})"

    def field(self, field: Field[Any], lead: str) -> str:
        """An expression for a field with its name, `lead` before it; empty if it is not shown."""
        shape = shape_of(field)
        place = f"e.{field.name}"
        name = json_name(field)
        if shape.kafka_type == "records":
            return self._records(name, place, lead)
        shown = f"{lead + quoted(name)!r} + {self.value(shape, place)}"
        if tag_of(field) is None:
            return shown
        default = self.refer(empty_value(field) if field.default is MISSING else field.default)
        return f"({shown} if {place} != {default} else '')"


@remembered
def shower(entity: type[Any]) -> Show:
    """The function that shows messages of one class, generated at first use."""
    code = _Code(counts_records=entity.__api_key__ in COUNTED)
    shown = fields(entity)
    if not shown:
        return lambda _: "{}"
    leads = ["" if index == 0 else "," for index in range(len(shown))]
    parts = " + ".join(code.field(field, lead) for field, lead in zip(shown, leads, strict=True))
    optional_first = tag_of(shown[0]) is not None
    body = f"({parts}).lstrip(',')" if optional_first else f"{parts}"
    names = dict(code.names)
    exec(f"def show(e):\n    return '{{' + {body} + '}}'", names)  # noqa: S102 - made of our own schemas, never of input
    show: Show = names["show"]
    return show
