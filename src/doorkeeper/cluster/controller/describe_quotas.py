"""Which quotas are stored. From ClientQuotasImage.describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import NO_MESSAGE, Failure
from doorkeeper.cluster.controller.quotas import CLIENT_ID, ENTITY_TYPES, IP, USER, EntityData
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.quotas import QuotaEntityKey


class MatchType(IntEnum):
    """How a component of a filter matches the name of an entity (DescribeClientQuotasRequest)."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2
    """Any name, the default included."""


@dataclass(frozen=True, slots=True)
class ComponentData:
    entity_type: str
    match_type: int
    match: str | None


@dataclass(frozen=True, slots=True)
class DescribeClientQuotasRequest:
    components: tuple[ComponentData, ...]
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ValueData:
    key: str
    value: float


@dataclass(frozen=True, slots=True)
class DescribedQuotas:
    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]


@dataclass(frozen=True, slots=True)
class DescribeClientQuotasResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = NO_MESSAGE
    entries: tuple[DescribedQuotas, ...] = ()
    """Never null: Java's clients want an array."""


def describe_client_quotas(image: MetadataImage, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """The entities that match every component; `strict` ones have no other part."""
    failure = _check_filter(request)
    if failure is not None:
        return DescribeClientQuotasResponse(failure.code, failure.message)
    wanted = {one.entity_type: one for one in request.components}
    entries = tuple(
        _described(entity, quotas)
        for entity, quotas in image.client_quotas.entities.items()
        if _matches(dict(entity), wanted, request.strict)
    )
    return DescribeClientQuotasResponse(entries=entries)


def _check_filter(request: DescribeClientQuotasRequest) -> Failure | None:
    seen: set[str] = set()
    for component in request.components:
        failure = _check_component(component, seen)
        if failure is not None:
            return failure
        seen.add(component.entity_type)
    if IP in seen and seen & {USER, CLIENT_ID}:
        return _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )
    return None


def _check_component(component: ComponentData, seen: set[str]) -> Failure | None:
    entity_type = component.entity_type
    if not entity_type:
        return _invalid("Invalid empty entity type.")
    if entity_type in seen:
        return _invalid(f"Entity type {entity_type} cannot appear more than once in the filter.")
    if entity_type not in ENTITY_TYPES:
        return Failure(ErrorCode.unsupported_version, f"Unsupported entity type {entity_type}")
    if component.match_type not in set(MatchType):
        return _invalid(f"Unknown match type {component.match_type}")
    name = MatchType(component.match_type).name
    if component.match_type == MatchType.EXACT:
        if component.match is None:
            return _invalid(f"Request specified MATCH_TYPE_{name}, but set match string to null.")
    elif component.match is not None:
        return _invalid(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")
    return None


def _matches(entity: Mapping[str, str | None], wanted: Mapping[str, ComponentData], strict: bool) -> bool:
    if strict and len(entity) != len(wanted):
        return False
    return all(
        entity_type in entity
        and (component.match_type == MatchType.SPECIFIED or entity[entity_type] == component.match)
        for entity_type, component in wanted.items()
    )


def _described(entity: QuotaEntityKey, quotas: Mapping[str, float]) -> DescribedQuotas:
    return DescribedQuotas(
        tuple(EntityData(kind, name) for kind, name in entity),
        tuple(ValueData(key, quotas[key]) for key in sorted(quotas)),
    )


def _invalid(message: str) -> Failure:
    return Failure(ErrorCode.invalid_request, message)
