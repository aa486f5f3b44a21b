"""What is known of one transactional id, and its next states. From Kafka's TransactionMetadata.

Kafka marks a transition as pending until its record is in the log. Here a step is over when it is decided, so only one
such time is left: while markers are being written, which is what `TransactionState.is_ending` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.messages import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TV_0,
    TV_2,
    TopicPartition,
)
from doorkeeper.cluster.transactions.states import VALID_PREVIOUS_STATES, TransactionState
from doorkeeper.cluster.transactions.step import TransactionRefusedError

EPOCH_MAX: Final = 2**15 - 1
LAST_CLIENT_EPOCH: Final = EPOCH_MAX - 1
"""The last epoch that a client gets: one more is kept, so that it can be fenced."""
NO_TIMEOUT_MS: Final = 2**31 - 1  # of a transaction that another coordinator ends (two-phase commit)


def is_epoch_exhausted(producer_epoch: int) -> bool:
    return producer_epoch >= LAST_CLIENT_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMetadata:
    """A transactional id: who its producer is, and how far its transaction."""

    transactional_id: str
    producer_id: int
    previous_producer_id: int = NO_PRODUCER_ID
    """The producer id before the last transition."""
    next_producer_id: int = NO_PRODUCER_ID
    """The producer id from the end of this transaction on, if the epochs of this one are used up."""
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    """The epoch before, by which a retried request is known; it is not in the log."""
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    """Those of the transaction; while markers are being written, those that have none yet."""
    start_ms: int = NO_TIMESTAMP
    last_update_ms: int
    client_transaction_version: int = TV_0

    @property
    def is_epoch_exhausted(self) -> bool:
        return is_epoch_exhausted(self.producer_epoch)

    @property
    def has_timeout(self) -> bool:
        return self.timeout_ms != NO_TIMEOUT_MS

    # --- a producer comes ---

    def with_next_epoch(self, timeout_ms: int, expected_epoch: int | None, now_ms: int) -> TransactionMetadata:
        """A producer with another epoch, or with the same one if it asks again (KIP-360)."""
        if self.is_epoch_exhausted:
            # As Kafka has it: the caller rotates ids before, unless the client's epoch is not the last one.
            raise TransactionRefusedError(ErrorCode.unknown_server_error)
        bumped = self.producer_epoch + 1
        if expected_epoch is None:
            epoch, last = bumped, NO_PRODUCER_EPOCH
        elif self.producer_epoch in (NO_PRODUCER_EPOCH, expected_epoch):
            epoch, last = bumped, self.producer_epoch
        elif expected_epoch == self.last_producer_epoch:
            epoch, last = self.producer_epoch, self.last_producer_epoch
        else:
            raise TransactionRefusedError(ErrorCode.producer_fenced)
        return self._at_rest(self.producer_id, epoch, last, timeout_ms, now_ms)

    def with_producer_id(
        self, producer_id: int, timeout_ms: int, now_ms: int, *, keep_last_epoch: bool
    ) -> TransactionMetadata:
        """Another producer id, since the epochs of this one are used up."""
        last = self.producer_epoch if keep_last_epoch else NO_PRODUCER_EPOCH
        return self._at_rest(producer_id, 0, last, timeout_ms, now_ms)

    def _at_rest(
        self, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> TransactionMetadata:
        return self._to(
            TransactionState.EMPTY,
            producer_id=producer_id,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=NO_TIMESTAMP,
            last_update_ms=now_ms,
        )

    # --- a transaction goes its way ---

    def with_partitions(
        self, partitions: frozenset[TopicPartition], client_version: int, now_ms: int
    ) -> TransactionMetadata:
        """More partitions, the first of which begin the transaction."""
        return self._to(
            TransactionState.ONGOING,
            partitions=self.partitions | partitions,
            start_ms=self.start_ms if self.state is TransactionState.ONGOING else now_ms,
            last_update_ms=now_ms,
            client_transaction_version=client_version,
        )

    def fenced(self) -> TransactionMetadata:
        """The same transaction in the name of the next epoch, so that its producer can do no more (before KIP-890)."""
        bumped = min(self.producer_epoch + 1, EPOCH_MAX)
        return replace(self, producer_epoch=bumped, last_producer_epoch=NO_PRODUCER_EPOCH)

    def prepared(self, *, commit: bool, client_version: int, next_producer_id: int, now_ms: int) -> TransactionMetadata:
        """The end is decided. A transaction that never began, which KIP-890 lets abort, begins and ends now."""
        changes: dict[str, Any] = {}
        if client_version >= TV_2:
            changes["producer_epoch"] = min(self.producer_epoch + 1, EPOCH_MAX)
            changes["last_producer_epoch"] = self.producer_epoch
        return self._to(
            TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            next_producer_id=next_producer_id,
            start_ms=self.start_ms if self.state is TransactionState.ONGOING else now_ms,
            last_update_ms=now_ms,
            client_transaction_version=client_version,
            **changes,
        )

    def without_partitions(self, written: frozenset[TopicPartition]) -> TransactionMetadata:
        """These have their markers; nothing of it goes to the log."""
        return replace(self, partitions=self.partitions - written)

    def completed(self, now_ms: int) -> TransactionMetadata:
        """All markers are written. What the client last saw of used-up epochs stays its last epoch."""
        rotate = self.client_transaction_version >= TV_2 and self.next_producer_id != NO_PRODUCER_ID
        committed = self.state is TransactionState.PREPARE_COMMIT
        return self._to(
            TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT,
            producer_id=self.next_producer_id if rotate else self.producer_id,
            producer_epoch=0 if rotate else self.producer_epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            last_update_ms=now_ms,
        )

    def _to(self, state: TransactionState, **changes: Any) -> TransactionMetadata:
        if self.state not in VALID_PREVIOUS_STATES[state]:
            # Out of a record of a state that is never written: nothing that a client could mend.
            raise TransactionRefusedError(ErrorCode.unknown_server_error)
        return replace(self, state=state, previous_producer_id=self.producer_id, **changes)
