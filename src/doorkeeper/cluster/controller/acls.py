"""Access control lists, as storage. From AclControlManager, AclApis and ResourcePatternFilter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.decision import MAX_RECORDS_PER_DECISION, NO_MESSAGE, Decision, Failure, RecordBatch
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.wire.acls import AclOperation, AclPermission, AclResourceType, PatternType
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import AccessControlEntryRecord, RemoveAccessControlEntryRecord

CLUSTER_NAME: Final = "kafka-cluster"
WILDCARD: Final = "*"


@dataclass(frozen=True, slots=True)
class AclCreation:
    resource_type: int
    resource_name: str
    principal: str
    host: str
    operation: int
    permission_type: int
    resource_pattern_type: int = PatternType.LITERAL


@dataclass(frozen=True, slots=True)
class CreateAclsRequest:
    creations: tuple[AclCreation, ...]


@dataclass(frozen=True, slots=True)
class AclCreationResult:
    error_code: int = ErrorCode.none
    error_message: str | None = NO_MESSAGE


@dataclass(frozen=True, slots=True)
class CreateAclsResponse:
    results: tuple[AclCreationResult, ...]


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Both DescribeAclsRequest and one filter of DeleteAclsRequest; None and ANY match everything."""

    resource_type_filter: int = AclResourceType.ANY
    resource_name_filter: str | None = None
    pattern_type_filter: int = PatternType.LITERAL
    principal_filter: str | None = None
    host_filter: str | None = None
    operation: int = AclOperation.ANY
    permission_type: int = AclPermission.ANY


@dataclass(frozen=True, slots=True)
class DeleteAclsRequest:
    filters: tuple[AclFilter, ...]


@dataclass(frozen=True, slots=True)
class DeleteAclsMatchingAcl:
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    error_code: int = ErrorCode.none
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteAclsFilterResult:
    error_code: int = ErrorCode.none
    error_message: str | None = None
    matching_acls: tuple[DeleteAclsMatchingAcl, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteAclsResponse:
    filter_results: tuple[DeleteAclsFilterResult, ...]


@dataclass(frozen=True, slots=True)
class AclDescription:
    principal: str
    host: str
    operation: int
    permission_type: int


@dataclass(frozen=True, slots=True)
class DescribeAclsResource:
    resource_type: int
    resource_name: str
    pattern_type: int
    acls: tuple[AclDescription, ...]


@dataclass(frozen=True, slots=True)
class DescribeAclsResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = NO_MESSAGE
    resources: tuple[DescribeAclsResource, ...] = ()


AclKey = tuple[int, int, str, str, str, int, int]


def decide_create_acls(
    image: MetadataImage, request: CreateAclsRequest, *, new_id: Callable[[], UUID]
) -> Decision[CreateAclsResponse]:
    """Store each ACL that is lawful and not there yet; one that is there is a success without a record."""
    batch = RecordBatch()
    known = {_key_of(acl) for acl in image.acls.acls.values()}
    results = []
    for creation in request.creations:
        failure = _check_creation(creation)
        if failure is None:
            record = _record_of(creation, new_id)
            if _key_of(record) not in known:
                failure = batch.add([VersionedRecord(record, 0)])
            known.add(_key_of(record))
        results.append(AclCreationResult() if failure is None else AclCreationResult(failure.code, failure.message))
    return Decision(batch.records(), CreateAclsResponse(tuple(results)))


def _record_of(creation: AclCreation, new_id: Callable[[], UUID]) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=new_id(),
        resource_type=creation.resource_type,
        resource_name=creation.resource_name,
        pattern_type=creation.resource_pattern_type,
        principal=creation.principal,
        host=creation.host,
        operation=creation.operation,
        permission_type=creation.permission_type,
    )


def _key_of(acl: AccessControlEntryRecord) -> AclKey:
    return (
        acl.resource_type,
        acl.pattern_type,
        acl.resource_name,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission_type,
    )


def _check_creation(creation: AclCreation) -> Failure | None:
    if creation.resource_type == AclResourceType.CLUSTER and creation.resource_name != CLUSTER_NAME:
        return _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not creation.resource_name:
        return _invalid("Invalid empty resource name")
    refused = (
        (AclResourceType(creation.resource_type), (AclResourceType.UNKNOWN, AclResourceType.ANY), "resourceType"),
        (
            PatternType(creation.resource_pattern_type),
            (PatternType.UNKNOWN, PatternType.ANY, PatternType.MATCH),
            "patternType",
        ),
        (AclOperation(creation.operation), (AclOperation.UNKNOWN, AclOperation.ANY), "operation"),
        (
            AclPermission(creation.permission_type),
            (AclPermission.UNKNOWN, AclPermission.ANY),
            "permissionType",
        ),
    )
    for value, unlawful, label in refused:
        if value in unlawful:
            return _invalid(f"Invalid {label} {value.name}")
    if ":" not in creation.principal:
        return _invalid(
            f"Could not parse principal from `{creation.principal}` (no colon is present separating the principal "
            "type from the principal name)"
        )
    return None


def decide_delete_acls(image: MetadataImage, request: DeleteAclsRequest) -> Decision[DeleteAclsResponse]:
    """Delete what each filter matches; too many at once fail the whole request: half a deletion is easily missed."""
    removed: dict[UUID, None] = {}
    results = []
    for one in request.filters:
        failure = _check_filter(one)
        if failure is not None:
            results.append(DeleteAclsFilterResult(failure.code, failure.message))
            continue
        matching = {key: acl for key, acl in image.acls.acls.items() if matches(one, acl)}
        removed.update(dict.fromkeys(matching))
        results.append(DeleteAclsFilterResult(matching_acls=tuple(_matching(acl) for acl in matching.values())))
    if len(removed) > MAX_RECORDS_PER_DECISION:
        message = f"Cannot remove more than {MAX_RECORDS_PER_DECISION} acls in a single delete operation."
        refused = DeleteAclsFilterResult(ErrorCode.invalid_request, message)
        return Decision((), DeleteAclsResponse((refused,) * len(request.filters)))
    records = tuple(VersionedRecord(RemoveAccessControlEntryRecord(id=key), 0) for key in removed)
    return Decision(records, DeleteAclsResponse(tuple(results)))


def _matching(acl: AccessControlEntryRecord) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission_type,
    )


def describe_acls(image: MetadataImage, request: AclFilter) -> DescribeAclsResponse:
    """The ACLs that a filter matches, those of one resource pattern together."""
    failure = _check_filter(request)
    if failure is not None:
        return DescribeAclsResponse(failure.code, failure.message)
    patterns: dict[tuple[int, str, int], list[AclDescription]] = {}
    for acl in sorted(image.acls.acls.values(), key=_key_of):
        if matches(request, acl):
            entry = AclDescription(acl.principal, acl.host, acl.operation, acl.permission_type)
            patterns.setdefault((acl.resource_type, acl.resource_name, acl.pattern_type), []).append(entry)
    resources = (DescribeAclsResource(*pattern, tuple(entries)) for pattern, entries in patterns.items())
    return DescribeAclsResponse(resources=tuple(resources))


def _check_filter(one: AclFilter) -> Failure | None:
    if not AclResourceType(one.resource_type_filter) or not PatternType(one.pattern_type_filter):
        return _invalid("Unknown patternFilter.")
    if not AclOperation(one.operation) or not AclPermission(one.permission_type):
        return _invalid("Unknown entryFilter.")
    return None


def matches(one: AclFilter, acl: AccessControlEntryRecord) -> bool:
    """Whether a filter covers an ACL."""
    return (
        one.resource_type_filter in (AclResourceType.ANY, acl.resource_type)
        and one.principal_filter in (None, acl.principal)
        and one.host_filter in (None, acl.host)
        and one.operation in (AclOperation.ANY, acl.operation)
        and one.permission_type in (AclPermission.ANY, acl.permission_type)
        and _matches_pattern(one, acl)
    )


def _matches_pattern(one: AclFilter, acl: AccessControlEntryRecord) -> bool:
    """ANY looks at the name only; MATCH asks which patterns would apply to a resource of that name."""
    name, pattern = one.resource_name_filter, one.pattern_type_filter
    if pattern not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
        return False
    if name is None:
        return True
    if pattern != PatternType.MATCH:
        return name == acl.resource_name
    if acl.pattern_type == PatternType.LITERAL:
        return acl.resource_name in (name, WILDCARD)
    return name.startswith(acl.resource_name)


def _invalid(message: str) -> Failure:
    return Failure(ErrorCode.invalid_request, message)
