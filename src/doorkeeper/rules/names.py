"""Names and identifiers: KIP-1233's limits, and Kafka's own law for topic names.

Lengths are counted as Kafka's brokers count them, in UTF-16 code units (`String.length()`); so is offset
metadata, although its key `offset.metadata.max.bytes` says bytes (OffsetMetadataManager.isMetadataInvalid).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.javatext import escape_for_display, utf16_length
from doorkeeper.rules.verdict import Kind, RuleId, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

UNIT: Final = "UTF-16 code units"
MAX_NAME_LENGTH: Final = 249  # UTF-16 code units; Kafka's topic names (Topic.MAX_NAME_LENGTH), for all by KIP-1233
MAX_MEMBER_ID_LENGTH: Final = 36  # UTF-16 code units; a printed UUID
DEFAULT_MAX_OFFSET_METADATA: Final = 4096  # UTF-16 code units; offset.metadata.max.bytes

_LEGAL_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Limit:
    """One row of KIP-1233's table."""

    kind: Kind
    label: str
    """How a message to a client names the kind."""
    rule: RuleId
    limit: int
    code: ErrorCode
    code_old: ErrorCode
    governed: bool
    """Whether `resource.identifier.limit.enable` turns the limit on; if not, Kafka enforces it always."""
    unit: str = UNIT


def _governed(kind: Kind, label: str, rule: RuleId) -> Limit:
    code = ErrorCode.RESOURCE_IDENTIFIER_TOO_LARGE
    return Limit(kind, label, rule, MAX_NAME_LENGTH, code, ErrorCode.INVALID_REQUEST, governed=True)


LIMITS: Final[Mapping[Kind, Limit]] = {
    limit.kind: limit
    for limit in (
        Limit(
            Kind.TOPIC_NAME,
            "Topic name",
            RuleId.TOPIC_NAME_TOO_LONG,
            MAX_NAME_LENGTH,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            governed=False,
        ),
        _governed(Kind.GROUP_ID, "Group ID", RuleId.GROUP_ID_TOO_LONG),
        Limit(
            Kind.MEMBER_ID,
            "Group member ID",
            RuleId.MEMBER_ID_TOO_LONG,
            MAX_MEMBER_ID_LENGTH,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.INVALID_REQUEST,
            governed=True,
        ),
        _governed(Kind.GROUP_INSTANCE_ID, "Group instance ID", RuleId.GROUP_INSTANCE_ID_TOO_LONG),
        _governed(Kind.CLIENT_ID, "Client ID", RuleId.CLIENT_ID_TOO_LONG),
        _governed(Kind.TRANSACTIONAL_ID, "Transactional ID", RuleId.TRANSACTIONAL_ID_TOO_LONG),
        Limit(
            Kind.OFFSET_METADATA,
            "Offset commit metadata",
            RuleId.OFFSET_METADATA_TOO_LONG,
            DEFAULT_MAX_OFFSET_METADATA,
            ErrorCode.OFFSET_METADATA_TOO_LARGE,
            ErrorCode.OFFSET_METADATA_TOO_LARGE,
            governed=False,
        ),
        _governed(Kind.RACK_ID, "Rack ID", RuleId.RACK_ID_TOO_LONG),
        _governed(Kind.RESOURCE_NAME, "Resource name", RuleId.RESOURCE_NAME_TOO_LONG),
        _governed(Kind.ACL_PRINCIPAL, "ACL principal", RuleId.ACL_PRINCIPAL_TOO_LONG),
        _governed(Kind.ACL_HOST, "ACL host", RuleId.ACL_HOST_TOO_LONG),
    )
}
"""The eleven kinds of KIP-1233's table, in its order."""

GOVERNED: Final = frozenset(row.kind for row in LIMITS.values() if row.governed) | {Kind.QUOTA_ENTITY}
"""The kinds that `resource.identifier.limit.enable` governs."""

CLIENT_ID_ENTITY: Final = "client-id"
"""The entity type of AlterClientQuotas whose name is a client id (ClientQuotaEntity.CLIENT_ID)."""


def limit_of_quota_entity(entity_type: str) -> Limit:
    """The row that judges the name of a quota entity: a client id's for client-id, a resource name's otherwise."""
    return LIMITS[Kind.CLIENT_ID if entity_type == CLIENT_ID_ENTITY else Kind.RESOURCE_NAME]


def too_long(row: Limit, value: str, *, limit: int | None = None, kind: Kind | None = None) -> Violation | None:
    """Judge a value by one row of the table; `limit` replaces the row's own, `kind` is what it is filed as."""
    allowed = row.limit if limit is None else limit
    length = utf16_length(value)
    if length <= allowed:
        return None
    shown = escape_for_display(value)
    return Violation(
        rule=row.rule,
        message=f"{row.label} is too long: {length} {row.unit}, the limit is {allowed}: '{shown}'",
        code=row.code,
        code_old=row.code_old,
        kind=kind or row.kind,
        parameters={"length": length, "limit": allowed, "unit": row.unit, "value": shown},
    )


def check_topic_name(value: str) -> Violation | None:
    """Kafka's law for topic names, in Kafka's order (Topic.detectInvalidTopic); no switch governs it."""
    if len(value) <= MAX_NAME_LENGTH and _LEGAL_TOPIC_NAME.fullmatch(value) and value not in (".", ".."):
        return None
    row = LIMITS[Kind.TOPIC_NAME]
    length = utf16_length(value)
    shown = escape_for_display(value)
    if not value:
        rule, reason = RuleId.TOPIC_NAME_EMPTY, "the empty string is not allowed"
    elif value in (".", ".."):
        rule, reason = RuleId.TOPIC_NAME_DOT, f"'{value}' is not allowed"
    elif length > row.limit:
        rule = row.rule
        reason = f"the length of '{shown}' ({length} {row.unit}) is longer than the max allowed length {row.limit}"
    else:
        rule = RuleId.TOPIC_NAME_ILLEGAL_CHARACTER
        reason = f"'{shown}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return Violation(
        rule=rule,
        message=f"Topic name is invalid: {reason}",
        code=row.code,
        code_old=row.code_old,
        kind=row.kind,
        parameters={"length": length, "limit": row.limit, "unit": row.unit, "value": shown},
    )


def _check_of(row: Limit) -> Callable[[str], Violation | None]:
    """The check of a row whose limit is fixed; most names are judged by their length in code points alone."""
    limit = row.limit
    always_within = limit // 2  # so many code points never exceed the limit: each has at most two units

    def check(value: str) -> Violation | None:
        if len(value) <= always_within or (value.isascii() and len(value) <= limit):
            return None
        return too_long(row, value)

    return check


check_group_id: Final = _check_of(LIMITS[Kind.GROUP_ID])
check_member_id: Final = _check_of(LIMITS[Kind.MEMBER_ID])
check_group_instance_id: Final = _check_of(LIMITS[Kind.GROUP_INSTANCE_ID])
check_client_id: Final = _check_of(LIMITS[Kind.CLIENT_ID])
check_transactional_id: Final = _check_of(LIMITS[Kind.TRANSACTIONAL_ID])
check_rack_id: Final = _check_of(LIMITS[Kind.RACK_ID])
check_resource_name: Final = _check_of(LIMITS[Kind.RESOURCE_NAME])
check_acl_principal: Final = _check_of(LIMITS[Kind.ACL_PRINCIPAL])
check_acl_host: Final = _check_of(LIMITS[Kind.ACL_HOST])


def check_offset_metadata(value: str, limit: int = DEFAULT_MAX_OFFSET_METADATA) -> Violation | None:
    """Offset commit metadata; Kafka takes the limit from `offset.metadata.max.bytes`."""
    return too_long(LIMITS[Kind.OFFSET_METADATA], value, limit=limit)


def check_quota_entity(value: str, entity_type: str = "") -> Violation | None:
    """The name of a quota entity; `entity_type` is Kafka's (`user`, `client-id`, `ip`)."""
    return too_long(limit_of_quota_entity(entity_type), value, kind=Kind.QUOTA_ENTITY)


CHECKS: Final[Mapping[Kind, Callable[[str], Violation | None]]] = {
    Kind.TOPIC_NAME: check_topic_name,
    Kind.GROUP_ID: check_group_id,
    Kind.MEMBER_ID: check_member_id,
    Kind.GROUP_INSTANCE_ID: check_group_instance_id,
    Kind.CLIENT_ID: check_client_id,
    Kind.TRANSACTIONAL_ID: check_transactional_id,
    Kind.OFFSET_METADATA: check_offset_metadata,
    Kind.RACK_ID: check_rack_id,
    Kind.RESOURCE_NAME: check_resource_name,
    Kind.ACL_PRINCIPAL: check_acl_principal,
    Kind.ACL_HOST: check_acl_host,
    Kind.QUOTA_ENTITY: check_quota_entity,
}
"""The check of each kind of identifier."""
