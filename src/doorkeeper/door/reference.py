"""The page `docs/reference/refusals.md`, made from the table: `python -m doorkeeper.door.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple

from doorkeeper.door.judged import Keeper, judged_fields
from doorkeeper.door.shapes import Shape, is_refused_alone, shape_of_api
from doorkeeper.rules.fields import Doors, Existing, Field, identifier_version, load_apis

_INTRODUCTION: Final = """\
# How a refusal looks

<!-- Made by `python -m doorkeeper.door.reference`; do not edit. -->

What the door answers when an identifier is over its limit and `resource.identifier.limit.enable` is true: one line per
API and range of versions that look alike, all APIs of Apache Kafka 4.3.1. The client id is in every request's header
and refuses every request *whole*, so each line says where the code of a whole refusal goes.

- *134 from*: the first version that is told RESOURCE_IDENTIFIER_TOO_LARGE; older ones are told INVALID_REQUEST (42),
  and so is everybody about a member id, and about a client id where there is no such version.
- *identifiers*: those in the request's body that the door judges. *item* means that only the element of the array is
  refused, in its place, and the others are served; otherwise the whole request is refused. *embedded* means that the
  gateway does not judge the field, because a real Kafka's brokers make these member ids themselves. *existing* means
  that an over-long name which exists already is served (the gateway, which can't know, passes it), always or on the
  condition in brackets. Topic names and offset metadata are judged by the handlers, with Kafka's own answers.
- *code* and *message*: the fields of the response; where no field is named for the message, the response has none.
- *closed when*: the response has no room for an error then, and the connection is closed, as Kafka does.

"""
_HEADER: Final = ("API", "key", "versions", "134 from", "identifiers", "code", "message", "closed when")


class Row(NamedTuple):
    """One line of the page."""

    api: str
    key: int
    first_version: int
    last_version: int
    identifier_version: int | None
    identifiers: tuple[str, ...]
    shape: Shape


def rows() -> Iterator[Row]:
    """Every API by key, in ranges of versions that are refused alike."""
    for key, api in sorted(load_apis().items()):
        newest = identifier_version(key) or api.last_version
        versions = range(api.first_version, newest + 1)
        for (identifiers, shape), group in groupby(versions, key=partial(_look, key)):
            alike = list(group)
            yield Row(api.name, key, alike[0], alike[-1], identifier_version(key), identifiers, shape)


def _look(api_key: int, version: int) -> tuple[tuple[str, ...], Shape]:
    fields = [field for field in judged_fields(api_key, version, Keeper.EMBEDDED) if not field.in_header]
    return tuple(_identifier(field, version) for field in fields), shape_of_api(api_key, version)


def _identifier(field: Field, version: int) -> str:
    selector = field.selector
    selected = ""
    if selector is not None and selector.value:
        selected = f" where {selector.field} {'!=' if selector.negated else '='} {selector.value}"
    notes = [
        *(["item"] if is_refused_alone(field, version) else []),
        *(["embedded"] if field.doors is Doors.EMBEDDED else []),
        *([_existing(field)] if field.existing is not Existing.NEVER else []),
    ]
    return f"`{field.path}`: {field.kind}{selected}" + (f" *{', '.join(notes)}*" if notes else "")


def _existing(field: Field) -> str:
    return f"existing ({field.condition})" if field.existing is Existing.CONDITIONAL else "existing"


def to_markdown() -> str:
    """The whole page."""
    lines = ["| " + " | ".join(_HEADER) + " |", "|" + " --- |" * len(_HEADER), *map(_line, rows())]
    return _INTRODUCTION + "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    first, last = row.first_version, row.last_version
    cells = (
        row.api,
        str(row.key),
        str(first) if first == last else f"{first}-{last}",
        "" if row.identifier_version is None else str(row.identifier_version),
        "<br>".join(row.identifiers),
        _codes(row.shape),
        "<br>".join(f"`{path}`" for path in row.shape.messages),
        row.shape.closes,
    )
    return "| " + " | ".join(cells) + " |"


def _codes(shape: Shape) -> str:
    apart = [f"item: `{path}`" for path in shape.item_codes if path not in shape.codes]
    return "<br>".join([*(f"`{path}`" for path in shape.codes), *apart])


if __name__ == "__main__":
    sys.stdout.write(to_markdown())
