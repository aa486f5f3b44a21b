"""What a request comes to: what is to be written, where markers are to go, what is answered, and how it says no."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from doorkeeper.errors import DoorkeeperError

if TYPE_CHECKING:
    from kio.schema.errors import ErrorCode

    from doorkeeper.cluster.transactions.messages import TxnMarker
    from doorkeeper.cluster.transactions.metadata import TransactionMetadata
    from doorkeeper.wire.coordinator_records import CoordinatorRecord

R = TypeVar("R")


class TransactionRefusedError(DoorkeeperError):
    """A request that the coordinator does not grant; it never leaves this package, but as an error code."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass(frozen=True, slots=True)
class Decision(Generic[R]):
    """What a step came to. Append the records as one batch; then send the response, and the markers to their leaders.

    The coordinator's memory already holds the records. Should the append fail, the memory is ahead of the log: answer
    NOT_COORDINATOR, send no markers, and load a new coordinator from the log. Tell `markers_written` or
    `markers_skipped` what became of every marker.
    """

    response: R
    records: tuple[CoordinatorRecord, ...] = ()
    markers: tuple[TxnMarker, ...] = ()


@dataclass(slots=True)
class Step:
    """A decision in the making: the next states of transactional ids, None for one that is forgotten."""

    now_ms: int
    transitions: list[tuple[str, TransactionMetadata | None]] = field(default_factory=list)
    markers: list[TxnMarker] = field(default_factory=list)

    def write(self, metadata: TransactionMetadata) -> None:
        self.transitions.append((metadata.transactional_id, metadata))

    def forget(self, transactional_id: str) -> None:
        self.transitions.append((transactional_id, None))
