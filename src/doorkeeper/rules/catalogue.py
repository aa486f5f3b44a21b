"""Every rule: what it says, where it comes from, since when. The reference page is made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.names import LIMITS
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """One rule of the book."""

    rule: RuleId
    text: str
    """What the rule asks, in one sentence."""
    code: ErrorCode
    """The answer to a client that knows every code."""
    code_old: ErrorCode
    """The answer at RPC versions older than the new error code."""
    governed: bool
    """Whether `resource.identifier.limit.enable` turns it on."""
    source: str
    """The proposal or the class of Apache Kafka that it is taken from."""
    since: str
    """The first Kafka release line that enforces it by default."""


_TOPIC_SOURCE: Final = "org.apache.kafka.common.internals.Topic"
_ALWAYS: Final = "before 4.0"
_NOT_KIP_1233: Final = {
    RuleId.TOPIC_NAME_TOO_LONG: _TOPIC_SOURCE,
    RuleId.OFFSET_METADATA_TOO_LONG: "org.apache.kafka.coordinator.group.OffsetMetadataManager",
}


def _topic_rule(rule: RuleId, text: str) -> RuleInfo:
    code = ErrorCode.INVALID_TOPIC_EXCEPTION
    return RuleInfo(rule, text, code, code, governed=False, source=_TOPIC_SOURCE, since=_ALWAYS)


def _length_rules() -> list[RuleInfo]:
    return [
        RuleInfo(
            rule=row.rule,
            text=f"{row.label} has at most {row.limit} {row.unit}.",
            code=row.code,
            code_old=row.code_old,
            governed=row.governed,
            source=_NOT_KIP_1233.get(row.rule, "KIP-1233"),
            since="5.0" if row.governed else _ALWAYS,
        )
        for row in LIMITS.values()
    ]


CATALOGUE: Final[Mapping[RuleId, RuleInfo]] = {
    info.rule: info
    for info in (
        _topic_rule(RuleId.TOPIC_NAME_EMPTY, "Topic name is not empty."),
        _topic_rule(RuleId.TOPIC_NAME_DOT, "Topic name is neither '.' nor '..'."),
        _topic_rule(
            RuleId.TOPIC_NAME_ILLEGAL_CHARACTER, "Topic name has only ASCII letters, digits, '.', '_' and '-'."
        ),
        *_length_rules(),
    )
}
