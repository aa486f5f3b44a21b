"""A config change as the wire carries it, and the verdict on it.

There is one of each for every resource of a request, and there may be ten thousand: hence tuples, which are made in
half the time of frozen dataclasses.

Sources: `IncrementalAlterConfigsRequest`, `AlterConfigsRequest`, `ConfigResource.Type`, `AlterConfigOp.OpType`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.rules.codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.rules.verdict import RuleId


class ResourceType(IntEnum):
    """Kafka's ids of config resources (ConfigResource.Type)."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Operation(IntEnum):
    """What an entry does to its key (AlterConfigOp.OpType)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigEntry(NamedTuple):
    """One key of a change. The operation may be a number that Kafka does not know; legacy changes have none."""

    name: str
    operation: int
    value: str | None

    def __repr__(self) -> str:
        """Without the value: it may be a password."""
        return f"ConfigEntry(name={self.name!r}, operation={self.operation!r})"


class ResourceChange(NamedTuple):
    """All entries of one request for one resource; a legacy change (AlterConfigs) replaces all that is stored."""

    type: int
    name: str
    entries: tuple[ConfigEntry, ...]
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a change may not be: the rule broken, Kafka's code and Kafka's message."""

    rule: RuleId
    code: ErrorCode
    message: str


class ResourceVerdict(NamedTuple):
    """The answer to one resource of a request."""

    type: int
    name: str
    code: ErrorCode
    message: str | None = None
    rule: RuleId | None = None
    refused_by: tuple[int, ...] = ()
    """The brokers that would refuse it, where the verdict is a broker's."""
    proposed: Mapping[str, str] | None = None
    """The configs that the resource has after an accepted change."""

    def __repr__(self) -> str:
        """Without the configs: there may be passwords among them."""
        return f"ResourceVerdict{self[:-1]!r}"

    @property
    def accepted(self) -> bool:
        """Whether the change may be stored."""
        return self.code is ErrorCode.NONE
