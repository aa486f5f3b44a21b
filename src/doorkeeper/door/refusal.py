"""Making the answer to a request that the door refuses, whole or in part."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from doorkeeper.door.judge import Breach, Header
from doorkeeper.door.shapes import is_refused_alone, item_row
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.wire.answers import code_for, error_response, refused_element
from doorkeeper.wire.defaults import build
from doorkeeper.wire.error_shapes import ITSELF, UNKNOWN_NUMBERS, Mirror
from doorkeeper.wire.messages import api_name, message_classes


class Told(NamedTuple):
    """What the client is told of one breach."""

    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class Whole:
    """The whole request is refused with this response."""

    response: Any


@dataclass(frozen=True, slots=True)
class Close:
    """The response has no room for an error: the connection is closed, as Kafka does."""

    reason: str


@dataclass(frozen=True, slots=True)
class Partial:
    """Some items are refused; the rest goes on as `remaining`, and its response comes back through `merge`."""

    remaining: Any
    request: Any
    row: Mirror
    told: Mapping[int, Told]
    """By the item's place in the request."""

    def merge(self, response: Any) -> Any:
        """The response to `remaining` with the refused items in their places: the caller's order.

        Answers are found by the names that they repeat, and by their order where they repeat none (ACLs). What
        belongs to no item of the request stays, at the end.
        """
        row, kind = self.row, type(response)
        waiting = _Answers(row, getattr(response, row.response) or ())
        merged = []
        for place, item in enumerate(getattr(self.request, row.request)):
            told = self.told.get(place)
            merged.append(waiting.take(item) if told is None else refused_element(row, kind, item, *told))
        found = (element for element in merged if element is not None)
        return replace(response, **{row.response: (*found, *waiting.rest())})


Refusal: TypeAlias = Whole | Partial | Close


def told_of(breach: Breach, api_key: int, version: int) -> Told:
    """The code and message for a breach: the new code only where the version asked can carry it (KIP-1233)."""
    return Told(code_for(breach.violation, api_key, version), breach.violation.message)


def refuse(header: Header, body: Any, refused: Sequence[Breach]) -> Refusal:
    """The answer to a request with these breaches, of which there is at least one."""
    api_key, version = header.api_key, header.api_version
    whole = next((breach for breach in refused if not is_refused_alone(breach.field, version)), None)
    if whole is not None:
        return _refuse_whole(api_key, version, body, told_of(whole, api_key, version))
    row = item_row(api_key, version)
    assert row is not None
    told: dict[int, Told] = {}
    for breach in refused:
        assert breach.item is not None
        told.setdefault(breach.item, told_of(breach, api_key, version))
    return _refuse_items(api_key, version, body, row, dict(sorted(told.items())))


def refuse_items(header: Header, body: Any, told: Mapping[int, Told]) -> Refusal:
    """The answer to a request of which these items, by their places, are refused for whatever reason.

    :raises LookupError: when this version of the API does not answer item by item.
    """
    row = item_row(header.api_key, header.api_version)
    if row is None:
        raise LookupError(f"{api_name(header.api_key)} version {header.api_version} does not answer item by item")
    return _refuse_items(header.api_key, header.api_version, body, row, dict(sorted(told.items())))


def _refuse_whole(api_key: int, version: int, body: Any, told: Told) -> Whole | Close:
    response = error_response(api_key, version, body, *told)
    if response is not None:
        return Whole(response)
    return Close(f"{api_name(api_key)} version {version} has no room for an error here: {told.message}")


def _refuse_items(api_key: int, version: int, body: Any, row: Mirror, told: Mapping[int, Told]) -> Refusal:
    items = getattr(body, row.request)
    response = message_classes(api_key, version).response
    elements = [refused_element(row, response, items[place], *one) for place, one in told.items()]
    for one, element in zip(told.values(), elements, strict=True):
        if element is None:
            # A transaction without partitions: its place has no code, but the whole response has.
            return _refuse_whole(api_key, version, body, one)
    if len(told) == len(items):
        return Whole(build(response, {row.response: tuple(elements)}, UNKNOWN_NUMBERS))
    remaining = tuple(item for place, item in enumerate(items) if place not in told)
    return Partial(replace(body, **{row.request: remaining}), body, row, told)


class _Answers:
    """The answers to the items that went on, to be taken one by one."""

    def __init__(self, row: Mirror, elements: Sequence[Any]) -> None:
        self._row = row
        names = {one.name for one in fields(elements[0])} if elements else set()
        self._pairs = [pair for pair in row.copied if pair[0] in names]
        self._waiting: dict[Any, deque[Any]] = defaultdict(deque)
        for element in elements:
            self._waiting[tuple(_plain(getattr(element, name)) for name, _ in self._pairs)].append(element)

    def take(self, item: Any) -> Any | None:
        """The answer to an item of the request; None when there is none."""
        key = tuple(_plain(item if origin is ITSELF else getattr(item, origin)) for _, origin in self._pairs)
        waiting = self._waiting.get(key)
        return waiting.popleft() if waiting else None

    def rest(self) -> list[Any]:
        """Those that nobody took."""
        return [element for waiting in self._waiting.values() for element in waiting]


def _plain(value: Any) -> Any:
    """A value that can be compared between the classes of request and response."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if is_dataclass(value):
        return tuple(_plain(getattr(value, one.name)) for one in fields(value))
    return "" if value is None else value
