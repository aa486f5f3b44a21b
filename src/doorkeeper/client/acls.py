"""Access control lists: who may do what to which resource."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from doorkeeper.client.api import Api, check_whole
from doorkeeper.client.errors import KafkaError, error_for, raise_for
from doorkeeper.client.results import Results
from doorkeeper.client.router import Target
from doorkeeper.wire.acls import AclOperation, AclPermission, AclResourceType, PatternType

DESCRIBE_ACLS: Final = 29
CREATE_ACLS: Final = 30
DELETE_ACLS: Final = 31


@dataclass(frozen=True, slots=True)
class AclBinding:
    """One entry: a principal from a host may, or may not, do something to a resource."""

    resource_type: AclResourceType
    resource_name: str
    principal: str
    operation: AclOperation
    permission: AclPermission = AclPermission.ALLOW
    host: str = "*"
    pattern_type: PatternType = PatternType.LITERAL


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which entries are meant; None and ANY match all."""

    resource_type: AclResourceType = AclResourceType.ANY
    resource_name: str | None = None
    principal: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY
    host: str | None = None
    pattern_type: PatternType = PatternType.ANY

    def to_wire(self) -> dict[str, Any]:
        """The filter as the requests have it."""
        return {
            "resource_type_filter": self.resource_type,
            "resource_name_filter": self.resource_name,
            "pattern_type_filter": self.pattern_type,
            "principal_filter": self.principal,
            "host_filter": self.host,
            "operation": self.operation,
            "permission_type": self.permission,
        }


class AclsApi(Api):
    """The part of Admin about access control lists."""

    async def describe_acls(self, acl_filter: AclFilter | None = None) -> list[AclBinding]:
        """The entries that match; without a filter, all."""
        values = (acl_filter or AclFilter()).to_wire()
        answer = await self._router.call(Target.ANY, DESCRIBE_ACLS, values, check_whole)
        return [_binding(resource, acl) for resource in answer.resources for acl in resource.acls]

    async def create_acls(self, bindings: Iterable[AclBinding]) -> Results[AclBinding, None]:
        """Add entries; each is answered on its own."""
        wanted = list(dict.fromkeys(bindings))
        described = [
            {
                "resource_type": one.resource_type,
                "resource_name": one.resource_name,
                "resource_pattern_type": one.pattern_type,
                "principal": one.principal,
                "host": one.host,
                "operation": one.operation,
                "permission_type": one.permission,
            }
            for one in wanted
        ]
        answer = await self._router.call(Target.ANY, CREATE_ACLS, {"creations": described})
        outcomes: list[tuple[AclBinding, None, KafkaError | None]]
        outcomes = [
            (binding, None, error_for(one.error_code, one.error_message))
            for binding, one in zip(wanted, answer.results, strict=True)
        ]
        return Results(outcomes)

    async def delete_acls(self, filters: Iterable[AclFilter]) -> Results[AclFilter, tuple[AclBinding, ...]]:
        """Remove what matches; per filter, the entries removed."""
        wanted = list(dict.fromkeys(filters))
        answer = await self._router.call(Target.ANY, DELETE_ACLS, {"filters": [one.to_wire() for one in wanted]})
        return Results(
            (acl_filter, _removed(one), error_for(one.error_code, one.error_message))
            for acl_filter, one in zip(wanted, answer.filter_results, strict=True)
        )


def _removed(item: Any) -> tuple[AclBinding, ...]:
    for acl in item.matching_acls:
        raise_for(acl.error_code, acl.error_message)
    return tuple(_binding(acl, acl) for acl in item.matching_acls)


def _binding(resource: Any, acl: Any) -> AclBinding:
    return AclBinding(
        AclResourceType(resource.resource_type),
        resource.resource_name,
        acl.principal,
        AclOperation(acl.operation),
        AclPermission(acl.permission_type),
        acl.host,
        PatternType(resource.pattern_type),
    )
