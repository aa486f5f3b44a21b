"""From what went wrong to what the client is told: one mapping to codes, one builder of error responses.

Whoever refuses, the door, a handler or a fault, asks here; the shapes are data (`error_shapes`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from doorkeeper.errors import RemoteProtocolError
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.fields import knows_new_code
from doorkeeper.rules.rulebook import answer
from doorkeeper.rules.verdict import Violation
from doorkeeper.wire.codes import wire_code
from doorkeeper.wire.defaults import build
from doorkeeper.wire.error_shapes import ERROR_CODE_FIELDS, ITSELF, MIRRORS, UNKNOWN_NUMBERS, Mirror
from doorkeeper.wire.memory import remembered
from doorkeeper.wire.messages import PRODUCE, message_classes
from doorkeeper.wire.schema import shape_of


def code_for(violation: Violation, api_key: int, version: int) -> ErrorCode:
    """The code that a client is told which asked at that version (KIP-1233: the new one from the added version on)."""
    return answer(violation, knows_new_code=knows_new_code(api_key, version))


def fault_code(error: BaseException) -> ErrorCode:
    """The code for an exception: a peer's malformed request is its own fault, anything else is ours."""
    if isinstance(error, RemoteProtocolError):
        hint = error.error_code_hint
        return ErrorCode.INVALID_REQUEST if hint is None else ErrorCode(hint)
    return ErrorCode.UNKNOWN_SERVER_ERROR


def error_response(api_key: int, version: int, request: Any, code: int, message: str | None = None) -> Any | None:
    """The response that refuses a whole request, in the shape of its API and version.

    None when the response has no room for an error (a Produce that wants no response, a Metadata request below version
    13 that names no topic, a request without elements): Kafka closes the connection then, and so do we.
    """
    if api_key == PRODUCE and request.acks == 0:
        return None
    refuse = _Refusal(code, message)
    response = message_classes(api_key, version).response
    values = refuse.own(response)
    has_room = bool(values)
    for mirror in mirrors_of(api_key, version):
        elements = refuse.elements(mirror, response, request)
        values[mirror.response] = elements
        has_room = has_room or bool(elements)
    if not has_room:
        return None
    return build(response, values, UNKNOWN_NUMBERS)


def refused_element(mirror: Mirror, response: type[Any], source: Any, code: int, message: str | None) -> Any | None:
    """The element of a response's array that refuses one element of the request's; None when no code fits into it.

    :param response: the class of the response, also one with plain codes.
    """
    return _Refusal(code, message).element(mirror, element_class(response, mirror.response), source)


def element_class(entity: type[Any], name: str) -> type[Any]:
    """The class of the elements of an array field."""
    (element,) = (shape_of(one).entity for one in fields(entity) if one.name == name)
    assert element is not None
    return element


@remembered
def mirrors_of(api_key: int, version: int) -> tuple[Mirror, ...]:
    """The rows that count at this version."""
    request, response = message_classes(api_key, version)
    asked, answered = ({one.name for one in fields(entity)} for entity in (request, response))
    return tuple(
        mirror
        for mirror in MIRRORS.get(api_key, ())
        if mirror.response in answered
        and asked.issuperset(path.split(".")[0] for path in mirror.request.split("+"))
        and (mirror.last_version is None or version <= mirror.last_version)
    )


class _Refusal:
    """One code and message, put wherever they belong."""

    def __init__(self, code: int, message: str | None) -> None:
        self._code = wire_code(code)
        self._message = message

    def own(self, entity: type[Any]) -> dict[str, Any]:
        """The error fields of this very class."""
        names = {one.name for one in fields(entity)}
        values: dict[str, Any] = dict.fromkeys(names & ERROR_CODE_FIELDS, self._code)
        if values and "error_message" in names:
            values["error_message"] = self._message
        return values

    def elements(self, mirror: Mirror, response: type[Any], request: Any) -> tuple[Any, ...]:
        """The response's elements for the request's; none for a topic without partitions, where no code fits."""
        entity = element_class(response, mirror.response)
        made = (self.element(mirror, entity, source) for source in _sources(mirror.request, request))
        return tuple(element for element in made if element is not None)

    def element(self, mirror: Mirror, entity: type[Any], source: Any) -> Any | None:
        """One of them."""
        values = self.own(entity) | _copied(mirror, entity, source)
        if mirror.inner is not None:
            inner = self.elements(mirror.inner, entity, source)
            if not inner:
                return None
            values[mirror.inner.response] = inner
        return build(entity, values, UNKNOWN_NUMBERS)


def _sources(paths: str, request: Any) -> list[Any]:
    found = [source for path in paths.split("+") for source in _descend(path.split("."), request)]
    # Two arrays joined may name one thing twice; Kafka answers it once.
    return list({source.name: source for source in found}.values()) if "+" in paths else found


def _descend(path: list[str], value: Any) -> Iterable[Any]:
    elements = getattr(value, path[0]) or ()
    if len(path) == 1:
        return elements
    return (inner for element in elements for inner in _descend(path[1:], element))


def _copied(mirror: Mirror, entity: type[Any], source: Any) -> dict[str, Any]:
    by_name = {one.name: one for one in fields(entity)}
    values = {}
    for name, origin in mirror.copied:
        if name not in by_name or not (origin is ITSELF or hasattr(source, origin)):
            continue
        value = source if origin is ITSELF else getattr(source, origin)
        shape = shape_of(by_name[name])
        if shape.entity is not None:
            value = tuple(build(shape.entity, _as_values(element)) for element in value)
        elif value is None and shape.kafka_type == "string":
            # Kafka writes an empty name where the request gave an id alone.
            value = ""
        values[name] = value
    return values


def _as_values(element: Any) -> dict[str, Any]:
    return {one.name: getattr(element, one.name) for one in fields(element)}
