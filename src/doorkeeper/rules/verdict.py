"""What a rule answers: nothing, or a violation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.rules.codes import ErrorCode


class Kind(StrEnum):
    """What is judged. These spellings stand in tables, JSON, metrics and findings alike."""

    TOPIC_NAME = "topic_name"
    GROUP_ID = "group_id"
    MEMBER_ID = "member_id"
    GROUP_INSTANCE_ID = "group_instance_id"
    CLIENT_ID = "client_id"
    TRANSACTIONAL_ID = "transactional_id"
    OFFSET_METADATA = "offset_metadata"
    RACK_ID = "rack_id"
    RESOURCE_NAME = "resource_name"
    ACL_PRINCIPAL = "acl_principal"
    ACL_HOST = "acl_host"
    QUOTA_ENTITY = "quota_entity"
    CONFIG_CHANGE = "config_change"


class RuleId(StrEnum):
    """The stable name of a rule; its text, source and first version stand in `catalogue`."""

    TOPIC_NAME_EMPTY = "TOPIC_NAME_EMPTY"
    TOPIC_NAME_DOT = "TOPIC_NAME_DOT"
    TOPIC_NAME_TOO_LONG = "TOPIC_NAME_TOO_LONG"
    TOPIC_NAME_ILLEGAL_CHARACTER = "TOPIC_NAME_ILLEGAL_CHARACTER"
    GROUP_ID_TOO_LONG = "GROUP_ID_TOO_LONG"
    MEMBER_ID_TOO_LONG = "MEMBER_ID_TOO_LONG"
    GROUP_INSTANCE_ID_TOO_LONG = "GROUP_INSTANCE_ID_TOO_LONG"
    CLIENT_ID_TOO_LONG = "CLIENT_ID_TOO_LONG"
    TRANSACTIONAL_ID_TOO_LONG = "TRANSACTIONAL_ID_TOO_LONG"
    OFFSET_METADATA_TOO_LONG = "OFFSET_METADATA_TOO_LONG"
    RACK_ID_TOO_LONG = "RACK_ID_TOO_LONG"
    RESOURCE_NAME_TOO_LONG = "RESOURCE_NAME_TOO_LONG"
    ACL_PRINCIPAL_TOO_LONG = "ACL_PRINCIPAL_TOO_LONG"
    ACL_HOST_TOO_LONG = "ACL_HOST_TOO_LONG"
    CONFIG_RESOURCE_REPEATED = "CONFIG_RESOURCE_REPEATED"
    CONFIG_KEY_REPEATED = "CONFIG_KEY_REPEATED"
    CONFIG_VALUE_NULL = "CONFIG_VALUE_NULL"
    CONFIG_RESOURCE_TYPE_UNKNOWN = "CONFIG_RESOURCE_TYPE_UNKNOWN"
    CONFIG_OPERATION_UNKNOWN = "CONFIG_OPERATION_UNKNOWN"
    CONFIG_RESOURCE_NAME = "CONFIG_RESOURCE_NAME"
    CONFIG_OTHER_NODE = "CONFIG_OTHER_NODE"
    CONFIG_BROKER_NOT_REGISTERED = "CONFIG_BROKER_NOT_REGISTERED"
    CONFIG_TOPIC_MISSING = "CONFIG_TOPIC_MISSING"
    CONFIG_KEY_UNKNOWN = "CONFIG_KEY_UNKNOWN"
    CONFIG_KEY_READ_ONLY = "CONFIG_KEY_READ_ONLY"
    CONFIG_KEY_NEEDS_LISTENER = "CONFIG_KEY_NEEDS_LISTENER"
    CONFIG_KEY_PER_BROKER = "CONFIG_KEY_PER_BROKER"
    CONFIG_KEY_NOT_A_LIST = "CONFIG_KEY_NOT_A_LIST"
    CONFIG_VALUE_INVALID = "CONFIG_VALUE_INVALID"
    CONFIG_VALUE_TOO_LONG = "CONFIG_VALUE_TOO_LONG"
    CONFIG_CLASS = "CONFIG_CLASS"
    CONFIG_THREAD_POOL = "CONFIG_THREAD_POOL"
    CONFIG_CLEANER_THREADS = "CONFIG_CLEANER_THREADS"
    CONFIG_CLEANER_BUFFER = "CONFIG_CLEANER_BUFFER"
    CONFIG_LOG_ROLL = "CONFIG_LOG_ROLL"
    CONFIG_RETENTION = "CONFIG_RETENTION"
    CONFIG_LOCAL_RETENTION = "CONFIG_LOCAL_RETENTION"
    CONFIG_COMPACTION_LAG = "CONFIG_COMPACTION_LAG"
    CONFIG_REMOTE_STORAGE = "CONFIG_REMOTE_STORAGE"
    CONFIG_CORDONED_LOG_DIRS = "CONFIG_CORDONED_LOG_DIRS"
    CONFIG_LISTENERS = "CONFIG_LISTENERS"
    CONFIG_SASL_MECHANISMS = "CONFIG_SASL_MECHANISMS"
    CONFIG_CONNECTION_LIMITS = "CONFIG_CONNECTION_LIMITS"
    CONFIG_GROUP_BOUNDS = "CONFIG_GROUP_BOUNDS"
    CONFIG_MIN_ISR_UNDER_ELR = "CONFIG_MIN_ISR_UNDER_ELR"
    CONFIG_CLIENT_MATCH = "CONFIG_CLIENT_MATCH"
    CONFIG_LOGGER_UNKNOWN = "CONFIG_LOGGER_UNKNOWN"
    CONFIG_LOGGER_LEVEL = "CONFIG_LOGGER_LEVEL"
    CONFIG_LOGGER_OPERATION = "CONFIG_LOGGER_OPERATION"
    CONFIG_SERVER_PROPERTIES = "CONFIG_SERVER_PROPERTIES"
    # What an audit tells without anybody being refused for it.
    IDENTIFIER_NOT_UTF8 = "IDENTIFIER_NOT_UTF8"
    CLIENT_ID_NOT_PLAIN = "CLIENT_ID_NOT_PLAIN"
    CLIENT_ID_LOOKS_ALIKE = "CLIENT_ID_LOOKS_ALIKE"
    QUOTA_ENTITY_ENCODED_TWICE = "QUOTA_ENTITY_ENCODED_TWICE"
    API_VERSION_REMOVED = "API_VERSION_REMOVED"


class Severity(StrEnum):
    """What a violation leads to under a given rulebook."""

    REFUSED = "refused"
    WOULD_BE_REFUSED = "would be refused"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule broken by one thing. The message is fit for a client and for a terminal."""

    rule: RuleId
    message: str
    code: ErrorCode
    """What a client is told that asked at the RPC version which knows the new error code."""
    code_old: ErrorCode
    """What a client is told that asked at an older version."""
    kind: Kind | None = None
    parameters: Mapping[str, str | int] = field(default_factory=dict, hash=False)
    """The figures behind the message, e.g. length, limit, unit and the shortened value."""
