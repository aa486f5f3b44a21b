"""One partition of a coordinated topic at its leader: its coordinator, its log, its clock.

From CoordinatorRuntime. The coordinator decides; here its log is loaded, its records are appended, and it is woken at
its next deadline. What a decision comes to is the subclass's business. A log that fails ends the coordinator; a new
one is then loaded.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final, Generic, Protocol, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.logs import now_ms
from doorkeeper.cluster.log.batch import iter_whole
from doorkeeper.cluster.log.partition_log import PartitionLog
from doorkeeper.cluster.log.producer_state import Origin, Verification
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.errors import RecordError, StorageError
from doorkeeper.wire.coordinator_records import CoordinatorRecord, write_coordinator_record
from doorkeeper.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, BatchHeader, Record, write_batch

LOGGER: Final = logging.getLogger("doorkeeper.coordinators")

LOAD_BYTES: Final = 1024 * 1024
"""How much of the log is read before others have their turn."""

D = TypeVar("D")
D_co = TypeVar("D_co", covariant=True)


class Coordinator(Protocol[D_co]):
    """What the coordinators of groups and of transactions have in common."""

    def loaded(self, now_ms: int) -> D_co: ...
    def next_deadline(self) -> int | None: ...
    def expire(self, now_ms: int) -> D_co: ...


class CoordinatorPartition(ABC, Generic[D]):
    """A coordinator whose decisions about time are of kind D."""

    _coordinator: Coordinator[D]

    def __init__(self, log: PartitionLog, leader_epoch: int) -> None:
        self.log = log
        self.leader_epoch = leader_epoch
        self._coordinator = self._new_coordinator()
        self._is_loaded = False
        self._is_closed = False
        self._loading: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0

    @abstractmethod
    def _new_coordinator(self) -> Coordinator[D]: ...

    @abstractmethod
    def _replay_batch(self, data: bytes, position: int, view: BatchHeader) -> None:
        """Let the coordinator take in a batch of the log."""

    @abstractmethod
    def _carry_out(self, decision: D) -> None:
        """Do what the coordinator has decided by itself."""

    # --- loading ---

    def load(self) -> None:
        """Read the log: at once if there is nothing in it, otherwise piece by piece."""
        if self.log.log_start_offset == self.log.log_end_offset:
            self._loaded()
        else:
            self._loading = asyncio.get_running_loop().create_task(self._load())

    async def _load(self) -> None:
        offset = self.log.log_start_offset
        try:
            while offset < self.log.log_end_offset:
                result = self.log.read(offset, LOAD_BYTES)
                if isinstance(result, Refusal) or result.records is None:
                    LOGGER.error("%s can't be loaded", self.log.name)
                    return
                offset = self._replay(result.records.read(), offset)
                await asyncio.sleep(0)
        except (RecordError, StorageError):
            LOGGER.exception("%s can't be loaded", self.log.name)
            return
        self._loaded()

    def _replay(self, data: bytes, offset: int) -> int:
        """Take in whole batches from an offset on; returns the offset after them."""
        for position, view in iter_whole(data):
            if view.last_offset >= offset:
                self._replay_batch(data, position, view)
                offset = view.last_offset + 1
        return offset

    def _loaded(self) -> None:
        self._is_loaded = True
        self._carry_out(self._coordinator.loaded(now_ms()))

    def _start_anew(self) -> None:
        """Memory is ahead of the log: forget it, and read the log again."""
        self._is_loaded = False
        if self._loading is not None:
            self._loading.cancel()
        self._coordinator = self._new_coordinator()
        if self.log.offline is None:
            self.load()

    def lead(self, leader_epoch: int) -> None:
        """This broker leads the partition in another epoch from now on."""
        self.leader_epoch = leader_epoch

    # --- asking and writing ---

    def check_ready(self) -> ErrorCode:
        """Whether what the partition keeps is here and loaded."""
        if self._is_closed:
            return ErrorCode.not_coordinator
        return ErrorCode.none if self._is_loaded else ErrorCode.coordinator_load_in_progress

    def _append(
        self,
        records: Iterable[CoordinatorRecord],
        producer: tuple[int, int] = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH),
        verification: Verification | None = None,
    ) -> ErrorCode:
        """Write the records as one batch, in the name of a producer's transaction if there is one (id and epoch)."""
        now = now_ms()
        written = []
        for one in records:
            key, value = write_coordinator_record(one)
            written.append(Record(value=value, key=key, timestamp=now))
        producer_id, producer_epoch = producer
        batch = write_batch(
            written,
            base_offset=0,
            is_transactional=producer_id != NO_PRODUCER_ID,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
        )
        outcome = self.log.append(
            bytearray(batch),
            leader_epoch=self.leader_epoch,
            now=now,
            origin=Origin.COORDINATOR,
            verification=verification,
        )
        if isinstance(outcome, Refusal):
            LOGGER.error("%s refuses the coordinator's records: %s", self.log.name, outcome.message)
            return ErrorCode(outcome.code)
        return ErrorCode.none

    # --- time ---

    def _arm(self) -> None:
        """Be woken at the next deadline; an alarm that is set for earlier is left as it is."""
        deadline = self._coordinator.next_deadline()
        if self._is_closed or deadline is None:
            return
        if self._timer is not None:
            if self._due <= deadline:
                return
            self._timer.cancel()
        self._due = deadline
        delay = max(1, deadline - now_ms()) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._is_loaded and not self._is_closed:
            self._carry_out(self._coordinator.expire(now_ms()))

    def close(self) -> None:
        """Coordinate nothing more."""
        self._is_closed = True
        if self._loading is not None:
            self._loading.cancel()
        if self._timer is not None:
            self._timer.cancel()
