"""The door once more, as plain as can be: the rulebook asked about every string of a request turned into dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from doorkeeper.rules.fields import Doors, Existing, Field, Part, identifiers_of
from doorkeeper.rules.names import check_quota_entity
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind

RULES = Rulebook.of_release("5.0")


class Sighting(NamedTuple):
    path: str
    kind: Kind
    identifier: str
    item: int | None
    served_if_existing: bool


def sightings(api_key: int, version: int, body: Any, *, embedded: bool) -> Iterator[Sighting]:
    """Every identifier of the body of the kinds that a door judges, lawful or not."""
    tree = asdict(body)
    for field in identifiers_of(api_key, version):
        if field.in_header or field.kind in (None, Kind.TOPIC_NAME, Kind.OFFSET_METADATA):
            continue
        if embedded or field.doors is Doors.ALL:
            for value, beside, item, index in _reach(tree, field.path.split("."), tree, None, None):
                identifier = _identifier(field, value, beside)
                if identifier is not None:
                    assert field.kind is not None
                    yield Sighting(field.path, field.kind, identifier, index, _spared(api_key, field, item))


def strings_at(body: Any, path: str) -> list[str]:
    """Every string at a path of the field map."""
    tree = asdict(body)
    return [value for value, *_ in _reach(tree, path.split("."), tree, None, None)]


def _reach(
    node: Any, path: list[str], beside: Any, item: Any, index: int | None
) -> Iterator[tuple[str, Any, Any, Any]]:
    if node is None:
        return
    if not path:
        yield node, beside, item, index
        return
    name, rest = path[0], path[1:]
    if not name.endswith("[]"):
        yield from _reach(node[name], rest, node, item, index)
        return
    for number, element in enumerate(node[name[:-2]] or ()):
        first = index is None
        yield from _reach(element, rest, node, element if first else item, number if first else index)


def _identifier(field: Field, value: str, beside: dict[str, Any]) -> str | None:
    if field.selector is not None and field.selector.value:
        is_equal = str(beside[field.selector.field]) == field.selector.value
        if is_equal is field.selector.negated:
            return None
    if field.part is Part.SHARE_GROUP:
        parts = value.rstrip(":").split(":")
        return ":".join(parts[:-2]) if len(parts) >= 3 else None
    return value


def _spared(api_key: int, field: Field, item: Any) -> bool:
    if field.existing is not Existing.CONDITIONAL:
        return field.existing is Existing.ALWAYS
    removal: dict[int, Callable[[], bool]] = {
        33: lambda: len(item["configs"]) == 0,
        44: lambda: {one["config_operation"] for one in item["configs"]} <= {1},
        49: lambda: {one["remove"] for one in item["ops"]} <= {True},
    }
    return removal[api_key]()


def is_breach(sighting: Sighting) -> bool:
    if sighting.kind is Kind.QUOTA_ENTITY:
        return check_quota_entity(sighting.identifier) is not None
    return RULES.check(sighting.kind, sighting.identifier) is not None
