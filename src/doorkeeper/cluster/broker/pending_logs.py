"""Partitions whose log has yet to be made or removed: a few at a time, and what the disk refuses again later.

Time is an argument throughout.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from doorkeeper.cluster.log.checkpoints import TopicPartition
from doorkeeper.cluster.log.config import MAX_LONG

FIRST_RETRY_MS: Final = 1_000
LONGEST_RETRY_MS: Final = 60_000
"""Twice as long after every failure, up to this: a disk that is full is looked at once a minute."""


class Failure(NamedTuple):
    """A partition that the disk has refused."""

    due: int
    """When to try again."""
    patience: int
    """How long that was from the failure on."""


class PendingLogs:
    """An ordered set of partitions, and those of them that have failed."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, None] = {}
        self._failures: dict[TopicPartition, Failure] = {}

    def add(self, keys: Iterable[TopicPartition]) -> None:
        """These are due now, behind those that are due already."""
        self._waiting.update(dict.fromkeys(keys))

    def take(self, limit: int, now: int) -> list[TopicPartition]:
        """Up to so many that are due; each has to be told on with `settled` or `failed`."""
        self.add(key for key, failure in self._failures.items() if failure.due <= now)
        taken = list(islice(self._waiting, limit))
        for key in taken:
            del self._waiting[key]
        return taken

    def is_waiting(self, key: TopicPartition) -> bool:
        """Whether its turn has yet to come, and the disk has not refused it."""
        return key in self._waiting and key not in self._failures

    def settled(self, key: TopicPartition) -> None:
        self._failures.pop(key, None)

    def failed(self, key: TopicPartition, now: int) -> None:
        before = self._failures.get(key)
        patience = FIRST_RETRY_MS if before is None else min(2 * before.patience, LONGEST_RETRY_MS)
        self._failures[key] = Failure(now + patience, patience)

    def has_failed(self, key: TopicPartition) -> bool:
        """Whether the disk refused it the last time."""
        return key in self._failures

    def next_due(self) -> int:
        """When `take` has something; 0 for at once."""
        if self._waiting:
            return 0
        return min((failure.due for failure in self._failures.values()), default=MAX_LONG)
