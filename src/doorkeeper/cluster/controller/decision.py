"""What every decision gives: records to write, and what to answer."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.wire.metadata.serde import VersionedRecord

R = TypeVar("R")

MAX_RECORDS_PER_DECISION: Final = 10_000  # records; Kafka's QuorumController.MAX_RECORDS_PER_USER_OP
NO_MESSAGE: Final = ""
"""What an answer has for a message that nobody set: Kafka's generated classes make it empty, not null."""
TOO_MANY_RECORDS: Final = "Unable to perform excessively large batch operation."


@dataclass(frozen=True, slots=True)
class Decision(Generic[R]):
    """Records to append together, none or all, and the answer to give once they are safe."""

    records: tuple[VersionedRecord, ...]
    response: R


class Failure(NamedTuple):
    """Why one item of a request is refused: Kafka's code, and a message fit for a client (Kafka's ApiError)."""

    code: ErrorCode
    message: str | None = None


Charge = Callable[[int], bool]
"""Pays for so many partitions with the sender's `controller_mutation_rate` (KIP-599); False: it must not be."""
EXHAUSTED: Final = Failure(ErrorCode.throttling_quota_exceeded, "The throttling quota has been exceeded.")


def free_of_charge(_partitions: int) -> bool:
    """Nobody pays."""
    return True


@contextmanager
def collecting_later() -> Iterator[None]:
    """Put off the search for garbage in cycles: a large decision makes tens of thousands of objects, and no cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class RecordBatch:
    """The records of one decision as they gather; an item whose records don't fit any more is refused whole."""

    __slots__ = ("_maximum", "_records")

    def __init__(self, maximum: int = MAX_RECORDS_PER_DECISION) -> None:
        self._maximum = maximum
        self._records: list[VersionedRecord] = []

    def add(self, records: Sequence[VersionedRecord]) -> Failure | None:
        """Take in all of an item's records, or none of them."""
        if len(self._records) + len(records) > self._maximum:
            return Failure(ErrorCode.policy_violation, TOO_MANY_RECORDS)
        self._records.extend(records)
        return None

    def records(self, *, validate_only: bool = False) -> tuple[VersionedRecord, ...]:
        """Everything taken in; nothing if the request only wants to know."""
        return () if validate_only else tuple(self._records)
