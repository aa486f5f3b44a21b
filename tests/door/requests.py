"""Requests made from their classes alone: every array filled, and one identifier put where a test wants it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from doorkeeper.door.judged import Keeper, judged_fields, limit_of, steps_of
from doorkeeper.rules.fields import Field, Part, Selector, identifier_version
from doorkeeper.wire.codec import RequestHeader
from doorkeeper.wire.defaults import build
from doorkeeper.wire.error_shapes import ERROR_CODE_FIELDS
from doorkeeper.wire.messages import API_KEYS, PRODUCE, message_classes, newest_version, oldest_version
from doorkeeper.wire.schema import shape_of

ELEMENTS = 3
PLACE = 1
"""Where in each array the identifier goes: between two lawful siblings."""
VERSIONS = [
    (api_key, version)
    for api_key in sorted(API_KEYS)
    for version in range(oldest_version(api_key), (identifier_version(api_key) or newest_version(api_key)) + 1)
]
"""Every version of every API, with the one that KIP-1233 adds where it adds one."""


class Case(NamedTuple):
    """One identifier of one version of one API."""

    version: int
    field: Field

    @property
    def limit(self) -> int:
        return limit_of(self.field)


def cases(api_key: int, keeper: Keeper = Keeper.EMBEDDED) -> Iterator[Case]:
    """Every identifier that a keeper judges, at every version."""
    for key, version in VERSIONS:
        if key == api_key:
            yield from (Case(version, field) for field in judged_fields(key, version, keeper))


def filled(api_key: int, version: int) -> Any:
    """A lawful request with three elements in each array."""
    return _filled(message_classes(api_key, version).request)


def header(api_key: int, version: int, client_id: str | None = "client") -> RequestHeader:
    return RequestHeader(api_key, version, 7, client_id, 0)


def request_with(case: Case, identifier: str) -> tuple[RequestHeader, Any]:
    """A lawful request but for the identifier, which stands in the middle of its array."""
    field, version = case.field, case.version
    if field.in_header:
        return header(field.api_key, version, identifier), filled(field.api_key, version)
    value = f"{identifier}:topic-id:0" if field.part is Part.SHARE_GROUP else identifier
    names = [step.name for step in steps_of(field.path)]
    entity = message_classes(field.api_key, version).request
    return header(field.api_key, version), _filled(entity, names=names, value=value, selector=field.selector)


def _filled(
    entity: type[Any],
    index: int = 0,
    *,
    names: list[str] | None = None,
    value: str = "",
    selector: Selector | None = None,
) -> Any:
    """One instance; strings tell their elements apart, and `value` stands at the end of the path `names`."""
    target, rest = (names[0], names[1:]) if names else ("", [])
    values: dict[str, Any] = {"acks": 1} if getattr(entity, "__api_key__", None) == PRODUCE else {}
    values = {name: one for name, one in values.items() if name in {one.name for one in fields(entity)}}
    for one in fields(entity):
        shape = shape_of(one)
        if shape.array:
            values[one.name] = tuple(
                (
                    _element(shape, place, one.name)
                    if one.name != target or place != PLACE
                    else _filled(shape.entity, place, names=rest, value=value, selector=selector)
                    if shape.entity is not None
                    else value
                )
                for place in range(ELEMENTS)
            )
        elif one.name == target:
            values[one.name] = value
        elif shape.kafka_type == "string" and one.name not in values:
            # No underscores: names of client software have none.
            values[one.name] = f"{one.name}-{index}".replace("_", "-")
    if selector is not None and len(rest) == 0 and names:
        values[selector.field] = _selecting(selector)
    return build(entity, values)


def _element(shape: Any, place: int, name: str) -> Any:
    if shape.entity is not None:
        return _filled(shape.entity, place)
    return {"string": f"{name}-{place}", "uuid": None}.get(shape.kafka_type, place)


def _selecting(selector: Selector) -> Any:
    if not selector.value:
        return "user"
    return int(selector.value) + (1 if selector.negated else 0)


def codes_in(value: Any) -> Iterator[int]:
    """Every error code anywhere in a response."""
    yield from (int(code) for code in _found(value, ERROR_CODE_FIELDS))


def messages_in(value: Any) -> Iterator[str | None]:
    """Every error message anywhere in a response."""
    yield from _found(value, {"error_message"})


def _found(value: Any, names: frozenset[str] | set[str]) -> Iterator[Any]:
    if isinstance(value, tuple):
        for element in value:
            yield from _found(element, names)
    elif is_dataclass(value):
        for one in fields(value):
            inner = getattr(value, one.name)
            if one.name in names:
                yield inner
            else:
                yield from _found(inner, names)
