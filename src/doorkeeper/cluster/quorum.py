"""The one writer of the metadata: a task that drains a queue of decisions into the metadata log.

From org.apache.kafka.controller.QuorumController, for a quorum of one voter. A *turn* takes all that waits (up to a
limit), decides each on the image that the earlier ones of the turn leave behind, writes all records with one flush,
publishes the image, and only then lets the answers go. Decisions that write nothing wait for the flush too: they may
rest on records of the same turn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from doorkeeper.cluster.controller.decision import Decision
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.metadata_log import MetadataLog, Sealed
from doorkeeper.cluster.publishing import Publisher
from doorkeeper.errors import StorageError

LOGGER: Final = logging.getLogger("doorkeeper.controller")

MAX_DECISIONS_PER_TURN: Final = 500
"""Bounds what one flush, and one failure of it, concerns."""
MAX_WAITING: Final = 10_000
"""Decisions that may wait; one more is refused."""
INLINE_FLUSH_SECONDS: Final = 0.001
"""While flushes are faster than this they run in the event loop: a thread costs about as much again as a fast disk."""

Response = TypeVar("Response")
Decide = Callable[[MetadataImage], "Decision[Response]"]


class QuorumStoppedError(Exception):
    """The quorum takes no more decisions: it is shutting down."""


class QuorumBusyError(Exception):
    """More decisions wait than may."""


@dataclass(slots=True)
class _Waiting:
    decide: Decide[Any]
    future: asyncio.Future[Any]
    response: Any = None


class MetadataQuorum:
    """Owns a metadata log. `image` is what is on disk and may be told to anyone."""

    def __init__(self, log: MetadataLog, *, snapshot_bytes: int, clock_ms: Callable[[], int] | None = None) -> None:
        """:param snapshot_bytes: `metadata.log.max.record.bytes.between.snapshots`"""
        self.log = log
        self._snapshot_bytes = snapshot_bytes
        self._next_snapshot_bytes = snapshot_bytes
        self._clock_ms = clock_ms or (lambda: time.time_ns() // 1_000_000)
        self._waiting: deque[_Waiting] = deque()
        self._wake = asyncio.Event()
        self._stopping = False
        self._publisher = Publisher()
        self._longer_than: list[tuple[int, asyncio.Future[None]]] = []
        self._flush_seconds = 0.0

    @property
    def image(self) -> MetadataImage:
        return self.log.image

    def now_ms(self) -> int:
        """The wall clock, for records."""
        return self._clock_ms()

    def subscribe(self, publish: Callable[[MetadataImage], None]) -> None:
        """Be told of every image after it is on disk, in order; the present one at once."""
        self._publisher.subscribe(publish, self.image)

    async def decide(self, decide: Decide[Response]) -> Response:
        """Let a decision be made and written; its answer once it is on disk.

        :raises StorageError: when it could not be written; then nothing of it was.
        """
        if self._stopping:
            raise QuorumStoppedError
        if len(self._waiting) >= MAX_WAITING:
            raise QuorumBusyError
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(decide, future))
        self._wake.set()
        return await future

    async def wait_beyond(self, offset: int, timeout: float) -> None:
        """Return once the log is longer than `offset`, or the time is up."""
        if self.log.end_offset > offset or timeout <= 0:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (offset, future)
        self._longer_than.append(entry)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await future
        finally:
            with suppress(ValueError):
                self._longer_than.remove(entry)

    async def run(self) -> None:
        """The task: take turns until `stop`, and finish what waits then."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._turn()
            if self._stopping:
                return

    def stop(self) -> None:
        """Take no more decisions; `run` ends once those that wait are made."""
        self._stopping = True
        self._wake.set()

    async def _turn(self) -> None:
        turn = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_DECISIONS_PER_TURN))]
        made = [one for one in turn if self._make(one)]
        sealed = self.log.seal()
        if sealed is not None:
            try:
                await self._flush(sealed)
            except StorageError as error:
                self._fail(made, error)
                return
            self._publish(sealed)
        for one in made:
            if not one.future.done():
                one.future.set_result(one.response)
        self._snapshot_if_due()

    def _make(self, one: _Waiting) -> bool:
        """Decide and stage; an exception is the answer to this one alone, for a decision changes nothing."""
        if one.future.done():
            return False
        try:
            decision = one.decide(self.log.staged_image)
            if decision.records:
                self.log.stage(decision.records, self._clock_ms())
        except Exception as error:
            one.future.set_exception(error)
            return False
        one.response = decision.response
        return True

    async def _flush(self, sealed: Sealed) -> None:
        start = time.perf_counter()
        if self._flush_seconds < INLINE_FLUSH_SECONDS:
            self.log.flush(sealed)
        else:
            await asyncio.get_running_loop().run_in_executor(None, self.log.flush, sealed)
        self._flush_seconds += (time.perf_counter() - start - self._flush_seconds) / 4

    def _fail(self, made: list[_Waiting], error: StorageError) -> None:
        LOGGER.error("the metadata log takes no writes: %s", error)
        with suppress(StorageError):
            self.log.rollback()
        for one in made:
            if not one.future.done():
                one.future.set_exception(StorageError(str(error), error.reason))

    def _publish(self, sealed: Sealed) -> None:
        self._publisher.publish(self.log.publish(sealed))
        end = self.log.end_offset
        for entry in [entry for entry in self._longer_than if entry[0] < end]:
            self._longer_than.remove(entry)
            if not entry[1].done():
                entry[1].set_result(None)

    def _snapshot_if_due(self) -> None:
        if self.log.size < self._next_snapshot_bytes:
            return
        # One that fails is tried again after as much log once more, not at every turn.
        self._next_snapshot_bytes = self.log.size + self._snapshot_bytes
        try:
            snapshot_id = self.log.save_snapshot(self._clock_ms())
        except StorageError as error:
            LOGGER.warning("no snapshot was made: %s", error)
            return
        self._next_snapshot_bytes = self._snapshot_bytes
        LOGGER.info("made the snapshot %s", snapshot_id.file_name)
