"""One step of the coordinator: what it wants written, what it wants answered, and how it says no."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doorkeeper.errors import DoorkeeperError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kio.schema.errors import ErrorCode

    from doorkeeper.wire.coordinator_records import CoordinatorRecord


class GroupRefusedError(DoorkeeperError):
    """A request that the coordinator does not grant; it never leaves this package, but as an error code."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer for the request that came with this token, maybe long ago."""

    token: object
    response: Any


@dataclass(frozen=True, slots=True)
class Producer:
    """The transaction in whose name records are to be appended."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What a step came to. Append the records as one batch, then send the replies.

    The coordinator's memory already holds the records. Should the append fail, the memory is ahead of the log: close
    the coordinator, answer these replies with NOT_COORDINATOR, and load a new coordinator from the log.
    """

    records: tuple[CoordinatorRecord, ...] = ()
    replies: tuple[Reply, ...] = ()
    producer: Producer | None = None


@dataclass(slots=True)
class Step:
    """A decision in the making.

    `write` is for records that will be replayed when the step is over. `note` is for records that only tell the log
    what has happened to a classic group in memory, since its members wait there and not in the log.
    """

    now_ms: int
    records: list[CoordinatorRecord] = field(default_factory=list)
    to_replay: list[CoordinatorRecord] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)

    def write(self, *records: CoordinatorRecord) -> None:
        self.records.extend(records)
        self.to_replay.extend(records)

    def note(self, records: Iterable[CoordinatorRecord]) -> None:
        self.records.extend(records)

    def reply(self, token: object, response: Any) -> None:
        self.replies.append(Reply(token, response))

    def forget_records(self) -> None:
        """Take back what was to be written: the request is refused after all."""
        self.records.clear()
        self.to_replay.clear()
