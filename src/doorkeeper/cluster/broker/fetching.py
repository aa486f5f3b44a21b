"""Reading for a Fetch: what a client wants, from all its partitions, now or when there is enough.

From ReplicaManager.fetchMessages, readFromLog and DelayedFetch. Who waits is called by the logs that it waits for, and
when the reader leaves; records are read from their files only once the answer is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.fetch_sessions import PartitionKey, Wanted
from doorkeeper.cluster.broker.logs import BrokerLogs
from doorkeeper.cluster.image.topics import TopicsImage
from doorkeeper.cluster.log.leader_epochs import UNDEFINED_EPOCH, EpochEnd
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.reading import Isolation, ReadResult
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.net.service import Peer

_BATCH_LENGTH: Final = slice(8, 12)
_LOG_OVERHEAD_BYTES: Final = 12


class PartitionRead(NamedTuple):
    """What became of one partition."""

    key: PartitionKey
    topic: str | None
    """Its name, if it is known."""
    wanted: Wanted
    error: ErrorCode = ErrorCode.none
    log: PartitionLog | None = None
    result: ReadResult | None = None
    diverging: EpochEnd | None = None

    @property
    def size(self) -> int:
        return 0 if self.result is None or self.result.records is None else self.result.records.length

    def records(self) -> bytes:
        """The bytes to send. A first batch that is not all there is left out: its reader could do nothing with it."""
        if self.result is None or self.result.records is None:
            return b""
        data = self.result.records.read()
        if len(data) < _LOG_OVERHEAD_BYTES:
            return b""
        whole = int.from_bytes(data[_BATCH_LENGTH], "big") + _LOG_OVERHEAD_BYTES
        return data if len(data) >= whole else b""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much, how soon, and what is visible."""

    min_bytes: int
    max_bytes: int
    wait_seconds: float
    isolation: Isolation


class Reading:
    """One Fetch, from the first look to the answer."""

    def __init__(self, logs: BrokerLogs, wanted: dict[PartitionKey, Wanted], bounds: Bounds, reader: Peer) -> None:
        self._logs = logs
        self._reader = reader
        self._wanted = wanted
        self._bounds = bounds
        self.reads: list[PartitionRead] = []

    def look(self, topics: TopicsImage) -> bool:
        """Look at every partition; says whether that is enough to answer."""
        self.reads = []
        left = self._bounds.max_bytes
        total = 0
        may_answer = self._bounds.wait_seconds <= 0 or not self._wanted or self._must_not_wait
        for key, wanted in self._wanted.items():
            read = self._look_at(topics, key, wanted, left, at_least_one=total == 0)
            self.reads.append(read)
            left = max(0, left - read.size)
            total += read.size
            may_answer |= read.error is not ErrorCode.none or read.diverging is not None
        return may_answer or total >= self._bounds.min_bytes

    @property
    def _must_not_wait(self) -> bool:
        return self._logs.is_stopping or self._reader.is_leaving

    def _look_at(
        self, topics: TopicsImage, key: PartitionKey, wanted: Wanted, left: int, *, at_least_one: bool
    ) -> PartitionRead:
        name: str | None
        if isinstance(key.topic, UUID):
            known = topics.by_id.get(key.topic)
            if known is None:
                return PartitionRead(key, None, wanted, ErrorCode.unknown_topic_id)
            name = known.name
        else:
            name = key.topic
        led = self._logs.find(name, key.partition, wanted.current_leader_epoch)
        if isinstance(led, ErrorCode):
            return PartitionRead(key, name, wanted, led)
        log = led.log
        diverging = _divergence(log, wanted)
        if isinstance(diverging, ErrorCode):
            return PartitionRead(key, name, wanted, diverging)
        limit = min(wanted.max_bytes, left) if diverging is None else 0
        result = log.read(wanted.fetch_offset, limit, self._bounds.isolation, at_least_one=at_least_one)
        if isinstance(result, Refusal):
            return PartitionRead(key, name, wanted, ErrorCode(result.code))
        if diverging is not None:
            result = result._replace(records=None)
        return PartitionRead(key, name, wanted, ErrorCode.none, log, result, diverging)

    async def wait(self) -> bool:
        """Wait until a log has grown, or the time is up, or the reader leaves; says whether there is time left."""
        loop = asyncio.get_running_loop()
        grown: asyncio.Future[bool] = loop.create_future()

        def wake(*, is_early: bool = True) -> None:
            if not grown.done():
                grown.set_result(is_early)

        def give_up() -> None:
            wake(is_early=False)

        deadline = loop.time() + self._bounds.wait_seconds
        timer = loop.call_at(deadline, give_up)
        logs = _logs(self.reads)
        self._reader.waiting.add(give_up)
        for log in logs:
            log.waiters.add(wake)
        try:
            is_early = await grown
        finally:
            timer.cancel()
            self._reader.waiting.discard(give_up)
            for log in logs:
                log.waiters.remove(wake)
        left = deadline - loop.time() if is_early else 0.0
        self._bounds = Bounds(self._bounds.min_bytes, self._bounds.max_bytes, left, self._bounds.isolation)
        return is_early


def _logs(reads: Iterable[PartitionRead]) -> list[PartitionLog]:
    return [read.log for read in reads if read.log is not None]


def _divergence(log: PartitionLog, wanted: Wanted) -> EpochEnd | ErrorCode | None:
    """Where the reader's log parts from this one, if it says which epoch it read last (KIP-595)."""
    if wanted.last_fetched_epoch == UNDEFINED_EPOCH:
        return None
    end = log.epoch_end_offset(wanted.last_fetched_epoch)
    if end.epoch == UNDEFINED_EPOCH:
        return ErrorCode.offset_out_of_range
    if end.epoch < wanted.last_fetched_epoch or end.end_offset < wanted.fetch_offset:
        return end
    return None
