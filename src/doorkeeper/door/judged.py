"""Which fields of a request the door judges, and the way to them."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple

from doorkeeper.rules.fields import Doors, Field, fields_of
from doorkeeper.rules.names import GOVERNED, LIMITS, MAX_NAME_LENGTH
from doorkeeper.rules.verdict import Kind

JUDGED_KINDS: Final = GOVERNED
"""Topic names and offset metadata are judged by the handlers, where Kafka's handlers do and with Kafka's answers."""


class Keeper(StrEnum):
    """Who keeps the door."""

    EMBEDDED = "embedded"
    """Before our own brokers, which make member ids of 36 characters: every member id is judged."""
    GATEWAY = "gateway"
    """Before a real Kafka, whose brokers make longer ones: only those that clients make are judged."""

    __hash__ = str.__hash__  # what Enum has instead is a Python function, and members are looked up on every request


class Step(NamedTuple):
    """One field on the way from a request's root to an identifier."""

    name: str
    array: bool


@cache
def steps_of(path: str) -> tuple[Step, ...]:
    """`groups[].topics[].name` as steps."""
    return tuple(Step(part.removesuffix("[]"), part.endswith("[]")) for part in path.split("."))


def item_array(field: Field) -> str | None:
    """The array at the request's root that the field stands in; None when it stands at the root itself."""
    first = steps_of(field.path)[0]
    return first.name if first.array else None


@cache
def judged_fields(api_key: int, version: int, keeper: Keeper) -> tuple[Field, ...]:
    """The fields that a keeper judges in a request, header first.

    :raises LookupError: for an API or a version that the field map does not know.
    """
    return tuple(
        field
        for field in fields_of(api_key, version)
        if field.kind in JUDGED_KINDS and (field.doors is Doors.ALL or keeper is Keeper.EMBEDDED)
    )


@cache
def body_limits(api_key: int, version: int, keeper: Keeper) -> dict[str, int]:
    """The shortest limit at each path of the body: what is within it breaks no rule, whatever its kind."""
    limits: dict[str, int] = {}
    for field in judged_fields(api_key, version, keeper):
        if not field.in_header:
            limits[field.path] = min(limit_of(field), limits.get(field.path, MAX_NAME_LENGTH))
    return limits


def limit_of(field: Field) -> int:
    """The limit of a judged field, in UTF-16 code units."""
    assert field.kind is not None
    return LIMITS[Kind.RESOURCE_NAME if field.kind is Kind.QUOTA_ENTITY else field.kind].limit
