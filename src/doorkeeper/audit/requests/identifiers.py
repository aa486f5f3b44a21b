"""The identifiers in a logged request, by the field map: which JSON path holds which kind (`rules.fields`).

A request that only looks up or removes serves an over-long name that exists (`Field.existing`), so names there would
not be refused and are no sightings. Classic member ids are the broker's own and are passed over (decision 6).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from doorkeeper.door.conditions import serves_existing
from doorkeeper.door.judged import Step, steps_of
from doorkeeper.errors import RecordError
from doorkeeper.rules.fields import Doors, Existing, Field, load_apis, load_fields, load_opaque_fields
from doorkeeper.rules.names import LIMITS, Limit, limit_of_quota_entity
from doorkeeper.rules.verdict import Kind
from doorkeeper.wire.consumer_protocol import PROTOCOL_TYPE, read_assignment, read_subscription

JOIN_GROUP: Final = 11
SYNC_GROUP: Final = 14
_NO_CREATION: Final = "allow_auto_topic_creation is false"
_WORD_STARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Found:
    """One identifier of a request."""

    kind: Kind
    value: str
    where: str
    """Kafka's path of the field; for what stands in opaque bytes, the path of those and the name inside."""
    limit: Limit
    """The row of the table that judges it."""


@cache
def body_fields(api_key: int) -> tuple[Field, ...]:
    """The fields of an API's request bodies that hold an identifier a real cluster's clients choose, of any version.

    The log leaves out what a version has not, so nothing else needs to be known of the version.
    """
    return tuple(
        field
        for field in load_fields()
        if field.api_key == api_key
        and field.kind is not None
        and not field.in_header
        and field.doors is Doors.ALL
        and field.existing is not Existing.ALWAYS
    )


@cache
def shortest_limit(api_key: int) -> int | None:
    """The shortest limit among an API's identifiers, header apart; None if it has none."""
    kinds = {field.kind for field in body_fields(api_key)}
    return min((row.limit for kind, row in LIMITS.items() if kind in kinds), default=None)


@cache
def api_names() -> dict[int, str]:
    """API key to the name in the log."""
    return {api.key: api.log_name for api in load_apis().values()}


def find_identifiers(api_key: int, request: Any) -> Iterator[Found]:
    """Every identifier in a request's body, in the order of the field map."""
    if not isinstance(request, dict):
        return
    for field in body_fields(api_key):
        for value, owner, item in _descend(steps_of(field.kafka_path), request, None):
            found = _found(field, value, owner)
            if found is not None and not _served(field, request, item):
                yield found
    if api_key in _OPAQUE:
        yield from _find_opaque(api_key, request)


def _found(field: Field, value: object, owner: dict[str, Any]) -> Found | None:
    if not isinstance(value, str):
        return None
    selected = None
    if field.selector is not None:
        selected = owner.get(field.selector.kafka_field)
        if not field.selector.selects(selected):
            return None
    identifier = field.identifier(value)
    if identifier is None:
        return None
    assert field.kind is not None
    row = limit_of_quota_entity(str(selected)) if field.kind is Kind.QUOTA_ENTITY else LIMITS[field.kind]
    return Found(field.kind, identifier, field.kafka_path, row)


def _served(field: Field, request: dict[str, Any], item: Any) -> bool:
    """Whether the request only looks up or removes what the field names."""
    if field.existing is not Existing.CONDITIONAL:
        return False
    if field.condition == _NO_CREATION:  # Metadata's, of a topic's name: the door leaves those to the handlers
        return request.get("allowAutoTopicCreation") is False
    return serves_existing(field, _as_item(request if item is None else item))


def _as_item(value: Any) -> Any:
    """A JSON object as the door's conditions want it: attributes with kio's names."""
    if isinstance(value, dict):
        return _Item({_snake(name): _as_item(inner) for name, inner in value.items()})
    return [_as_item(inner) for inner in value] if isinstance(value, list) else value


class _Item(SimpleNamespace):
    """An object of the log; what it lacks is empty."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(**fields)

    def __getattr__(self, name: str) -> Any:
        return ()


def _snake(name: str) -> str:
    return _WORD_STARTS.sub("_", name).lower()


def _descend(
    steps: tuple[Step, ...], owner: Any, item: Any
) -> Iterator[tuple[object, dict[str, Any], dict[str, Any] | None]]:
    """(value, the object that has it or its array, the element of the request's own array around it)."""
    if not isinstance(owner, dict):
        return
    (name, array), *rest = steps
    value = owner.get(name)
    if not array:
        yield from _descend(tuple(rest), value, item) if rest else ((value, owner, item),)
        return
    if not isinstance(value, list):
        return
    for element in value:
        outermost = element if item is None else item
        yield from _descend(tuple(rest), element, outermost) if rest else ((element, owner, item),)


_OPAQUE: Final = frozenset((JOIN_GROUP, SYNC_GROUP))


@cache
def _opaque_path(api_key: int) -> str:
    (path,) = (one.kafka_path for one in load_opaque_fields() if one.api_key == api_key)
    return path


def _find_opaque(api_key: int, request: dict[str, Any]) -> Iterator[Found]:
    """Racks and topics in the consumer protocol's bytes, which the log shows in base64."""
    if request.get("protocolType", PROTOCOL_TYPE) not in (PROTOCOL_TYPE, None):
        return
    path = _opaque_path(api_key)
    for value, _, _ in _descend(steps_of(path), request, None):
        yield from _read_opaque(api_key, path, value)


def _read_opaque(api_key: int, path: str, value: object) -> Iterator[Found]:
    if not isinstance(value, str) or not value:
        return
    try:
        data = base64.b64decode(value, validate=True)
        if api_key == JOIN_GROUP:
            subscription = read_subscription(data)
            rack, topics = subscription.rack_id, subscription.topics
        else:
            rack, topics = None, tuple(one.topic for one in read_assignment(data).assigned_partitions)
    except (binascii.Error, ValueError, RecordError):
        return  # bytes of another protocol that calls itself consumer: nothing of Kafka's is in them
    if rack is not None:
        yield Found(Kind.RACK_ID, rack, f"{path}.rackId", LIMITS[Kind.RACK_ID])
    for topic in topics:
        yield Found(Kind.TOPIC_NAME, topic, f"{path}.topics[]", LIMITS[Kind.TOPIC_NAME])
