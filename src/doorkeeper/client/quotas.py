"""Client quotas: who may use how much. Entities are named as clients name themselves, never encoded (KIP-190)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from doorkeeper.client.api import Api, check_whole
from doorkeeper.client.errors import KafkaError, UnknownServerError, error_for
from doorkeeper.client.results import Results
from doorkeeper.client.router import Target
from doorkeeper.rules.client_id import DEFAULT, DefaultEntity, QuotaEntity

DESCRIBE_CLIENT_QUOTAS: Final = 48
ALTER_CLIENT_QUOTAS: Final = 49
_TYPES: Final = ("user", "client-id", "ip")


class MatchType(IntEnum):
    """How a component of a filter matches (DescribeClientQuotasRequest)."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """One component: entities of that type, with that name, the default one, or (name None) any that is named."""

    entity_type: str
    name: str | DefaultEntity | None = None

    def to_wire(self) -> dict[str, Any]:
        """The component as the request has it."""
        if self.name is DEFAULT:
            return {"entity_type": self.entity_type, "match_type": MatchType.DEFAULT, "match": None}
        if self.name is None:
            return {"entity_type": self.entity_type, "match_type": MatchType.SPECIFIED, "match": None}
        return {"entity_type": self.entity_type, "match_type": MatchType.EXACT, "match": self.name}


class QuotasApi(Api):
    """The part of Admin about client quotas."""

    async def describe_client_quotas(
        self, filters: Iterable[QuotaFilter] = (), *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        """The quotas of all entities that match every filter; `strict`: and have no other component."""
        values = {"components": [one.to_wire() for one in filters], "strict": strict}
        answer = await self._router.call(Target.ANY_BROKER, DESCRIBE_CLIENT_QUOTAS, values, check_whole)
        return {
            entity_from_wire(entry.entity): {one.key: one.value for one in entry.values}
            for entry in answer.entries or ()
        }

    async def alter_client_quotas(
        self, alterations: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> Results[QuotaEntity, None]:
        """Set quotas, or remove those whose value is None, for many entities in one request."""
        values = {
            "entries": [
                {"entity": entity_to_wire(entity), "ops": [_op(key, value) for key, value in quotas.items()]}
                for entity, quotas in alterations.items()
            ],
            "validate_only": validate_only,
        }
        answer = await self._router.call(Target.ANY_BROKER, ALTER_CLIENT_QUOTAS, values)
        answered = {
            entity_from_wire(one.entity): error_for(one.error_code, one.error_message) for one in answer.entries
        }
        missing = UnknownServerError("The answer did not contain a result for this entity.")
        outcomes: list[tuple[QuotaEntity, None, KafkaError | None]]
        outcomes = [(entity, None, answered.get(entity, missing)) for entity in alterations]
        return Results(outcomes)


def _op(key: str, value: float | None) -> dict[str, Any]:
    return {"key": key, "value": 0.0 if value is None else float(value), "remove": value is None}


def entity_to_wire(entity: QuotaEntity) -> list[dict[str, str | None]]:
    """The components of an entity as requests have them; the default one has no name."""
    names = zip(_TYPES, (entity.user, entity.client_id, entity.ip), strict=True)
    return [
        {"entity_type": kind, "entity_name": None if name is DEFAULT else name}
        for kind, name in names
        if name is not None
    ]


def entity_from_wire(components: Iterable[Any]) -> QuotaEntity:
    """The entity of an answer."""
    named = {one.entity_type: DEFAULT if one.entity_name is None else one.entity_name for one in components}
    return QuotaEntity(user=named.get("user"), client_id=named.get("client-id"), ip=named.get("ip"))
