"""Judging a decoded request: the rulebook is asked about each of its identifiers, and about the header's client id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from doorkeeper.door.conditions import serves_existing
from doorkeeper.door.judged import Keeper, Step, judged_fields, steps_of
from doorkeeper.door.screen import screen_of
from doorkeeper.rules.fields import Field
from doorkeeper.rules.names import check_quota_entity
from doorkeeper.rules.rulebook import Rulebook
from doorkeeper.rules.verdict import Kind, Severity, Violation


class Named(NamedTuple):
    """An over-long name in a request that only looks up or removes, with what it takes to look for it."""

    field: Field
    name: str
    """The identifier itself, without what may stand around it in the string."""
    selected: Any
    """What the field beside it says (type of a resource, of a quota entity); None where the map names no such field."""
    owner: Any
    """What has the field, or has the array that the name stands in."""
    body: Any
    """The whole request."""


Exists: TypeAlias = Callable[[Named], bool | None]
"""Whether there is such a thing already; None when nobody here can know."""


class Header(Protocol):
    """What the door reads of a request's header; `wire.codec` has two such types."""

    @property
    def api_key(self) -> int:
        """Which API."""

    @property
    def api_version(self) -> int:
        """Which version of it."""

    @property
    def client_id(self) -> str | None:
        """What the client calls itself."""


@dataclass(frozen=True, slots=True)
class Breach:
    """One identifier of a request that is over its limit."""

    field: Field
    violation: Violation
    identifier: str
    """As the client sent it: escape it before it goes anywhere."""
    item: int | None
    """Its place in the array at the request's root, None for what concerns the whole request."""


@dataclass(frozen=True, slots=True)
class RequestVerdict:
    """What the door says of one request."""

    breaches: tuple[Breach, ...] = ()
    """What is refused, or would be."""
    served: tuple[Breach, ...] = ()
    """Over the limit too, but it exists, or may exist, and the request only looks it up or removes it."""
    refused: tuple[Breach, ...] = ()
    """Those of the breaches that the rulebook refuses now: none while `resource.identifier.limit.enable` is false."""


LAWFUL: Final = RequestVerdict()
"""The one verdict without breaches: compare by identity."""


def nobody_knows(named: Named) -> bool | None:
    """The gateway's knowledge of what exists: so the requests that only look up or remove pass."""
    return None


def judge_request(
    header: Header,
    body: Any,
    rulebook: Rulebook,
    keeper: Keeper = Keeper.EMBEDDED,
    exists: Exists = nobody_knows,
) -> RequestVerdict:
    """Judge every identifier of a decoded request but topic names and offset metadata, which handlers judge.

    :param body: the request, decoded at the header's version.
    :param exists: asked about over-long names in requests that only look up or remove.
    :raises LookupError: for an API or a version that the field map does not know.
    """
    api_key, version, client_id = header.api_key, header.api_version, header.client_id
    if not screen_of(api_key, version, keeper)(client_id, body):
        return LAWFUL
    return _judge(api_key, version, client_id, body, rulebook, keeper, exists)


class _Found(NamedTuple):
    """One string of the request."""

    value: str
    owner: Any
    """What has the field, or has the array that the string stands in."""
    items: tuple[Any, ...]
    """The elements of arrays around it, outermost first."""
    place: int | None
    """The outermost element's place."""


def _judge(
    api_key: int, version: int, client_id: str | None, body: Any, rulebook: Rulebook, keeper: Keeper, exists: Exists
) -> RequestVerdict:
    breaches: list[Breach] = []
    served: list[Breach] = []
    for field in judged_fields(api_key, version, keeper):
        for found in _strings(field, client_id, body):
            breach = _check(field, found, rulebook)
            if breach is None:
                continue
            spared = serves_existing(field, found.items[0] if found.items else body) and (
                exists(Named(field, breach.identifier, _selected(field, found), found.owner, body)) is not False
            )
            (served if spared else breaches).append(breach)
    if not breaches and not served:
        return LAWFUL
    refused = tuple(one for one in breaches if rulebook.severity(one.violation) is Severity.REFUSED)
    return RequestVerdict(tuple(breaches), tuple(served), refused)


def _strings(field: Field, client_id: str | None, body: Any) -> Iterator[_Found]:
    if field.in_header:
        return iter(() if client_id is None else (_Found(client_id, None, (), None),))
    return _descend(steps_of(field.path), body, (), None)


def identifiers_of(header: Header, body: Any, keeper: Keeper = Keeper.EMBEDDED) -> Iterator[tuple[Field, str]]:
    """Every identifier of a decoded request that the keeper judges, lawful or not, with the field that says its kind.

    :raises LookupError: for an API or a version that the field map does not know.
    """
    for field in judged_fields(header.api_key, header.api_version, keeper):
        for found in _strings(field, header.client_id, body):
            identifier = field.identifier(found.value) if _is_selected(field, found) else None
            if identifier is not None:
                yield field, identifier


def _is_selected(field: Field, found: _Found) -> bool:
    selector = field.selector
    return selector is None or selector.selects(getattr(found.owner, selector.field))


def _descend(steps: tuple[Step, ...], owner: Any, items: tuple[Any, ...], place: int | None) -> Iterator[_Found]:
    """All strings at the end of the path, in the request's order; null arrays, structs and strings hold none."""
    (name, array), *rest = steps
    value = getattr(owner, name)
    if value is None:
        return
    if not array:
        yield from _arrive(tuple(rest), value, owner, items, place)
        return
    for index, element in enumerate(value):
        outermost = index if place is None else place
        yield from _arrive(tuple(rest), element, owner, (*items, element), outermost)


def _arrive(
    rest: tuple[Step, ...], value: Any, owner: Any, items: tuple[Any, ...], place: int | None
) -> Iterator[_Found]:
    if rest:
        yield from _descend(rest, value, items, place)
    elif value is not None:
        yield _Found(value, owner, items, place)


def _check(field: Field, found: _Found, rulebook: Rulebook) -> Breach | None:
    selected = _selected(field, found)
    if field.selector is not None and not field.selector.selects(selected):
        return None
    identifier = field.identifier(found.value)
    if identifier is None:
        return None
    assert field.kind is not None
    if field.kind is Kind.QUOTA_ENTITY:
        violation = check_quota_entity(identifier, str(selected))
    else:
        violation = rulebook.check(field.kind, identifier)
    return None if violation is None else Breach(field, violation, identifier, found.place)


def _selected(field: Field, found: _Found) -> Any:
    return None if field.selector is None else getattr(found.owner, field.selector.field)
