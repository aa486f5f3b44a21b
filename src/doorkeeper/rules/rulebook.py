"""The rulebook as one value: which limits are in force, and what a violation leads to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from doorkeeper.rules import names
from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.verdict import Kind, Severity, Violation

LIMIT_SWITCH: Final = "resource.identifier.limit.enable"


class Release(StrEnum):
    """The two lines of Kafka for which KIP-1233 gives the switch a default."""

    V4 = "4.x"
    V5 = "5.0"


@dataclass(frozen=True, slots=True)
class Rulebook:
    """A frozen, picklable bundle of everything a judgement of identifiers depends on."""

    release: Release = Release.V4
    limits_enabled: bool = False
    """`resource.identifier.limit.enable`."""
    offset_metadata_max: int = names.DEFAULT_MAX_OFFSET_METADATA
    """`offset.metadata.max.bytes`, counted in UTF-16 code units as Kafka does."""

    @classmethod
    def of_release(cls, release: Release | str, limits_enabled: bool | None = None) -> Rulebook:
        """The rulebook of a release, with the switch at that release's default unless given."""
        release = Release(release)
        return cls(release, (release is Release.V5) if limits_enabled is None else limits_enabled)

    def check(self, kind: Kind, value: str) -> Violation | None:
        """Judge one identifier; the answer does not depend on the switch, `severity` does."""
        if kind is Kind.OFFSET_METADATA:
            return names.check_offset_metadata(value, self.offset_metadata_max)
        return names.CHECKS[kind](value)

    def enforces(self, kind: Kind) -> bool:
        """Whether a breach of this kind is refused now; if not, it is only counted and reported."""
        return self.limits_enabled or kind not in names.GOVERNED

    def severity(self, violation: Violation) -> Severity:
        """What a violation of an identifier leads to."""
        if violation.kind is None or self.enforces(violation.kind):
            return Severity.REFUSED
        return Severity.WOULD_BE_REFUSED


def answer(violation: Violation, *, knows_new_code: bool) -> ErrorCode:
    """The code for a client that asked at an RPC version with the new error code, or at an older one."""
    return violation.code if knows_new_code else violation.code_old
