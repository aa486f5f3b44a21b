"""Where the rulebook answers otherwise than Kafka 4.3.1, and why: only where Kafka itself crashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_change import Operation, ResourceType
from doorkeeper.rules.config_schema import load_schema

if TYPE_CHECKING:
    from tests.equivalence.cases import Answer

    from doorkeeper.rules.config_change import ResourceChange

UNKNOWN_OPERATION = "Kafka has no case for an operation that it does not know, and fails; we refuse it"
REQUIRED_LIST = "Kafka takes the mark for 'no default' for a list, and fails; we say that the key is read-only"


def reason_to_differ(change: ResourceChange, kafka: Answer, ours: Answer) -> str | None:
    """Why these two codes may differ, or nothing."""
    if kafka[0] != ErrorCode.UNKNOWN_SERVER_ERROR or ours[0] != ErrorCode.INVALID_REQUEST:
        return None
    if change.type != ResourceType.BROKER and any(entry.operation not in list(Operation) for entry in change.entries):
        return UNKNOWN_OPERATION
    required = {key.name for key in load_schema("broker").values() if key.required}
    if any(entry.operation == Operation.APPEND and entry.name in required for entry in change.entries):
        return REQUIRED_LIST
    return None
