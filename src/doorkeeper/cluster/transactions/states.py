"""The states of a transactional id, and the ways between them. From Kafka's TransactionState.

    Empty ── AddPartitions, AddOffsets ──> Ongoing ── EndTxn ──> PrepareCommit ── markers written ──> CompleteCommit
                                              │
                                              └── EndTxn, time-out, new producer ──> PrepareAbort ──> CompleteAbort

From the two Complete states the next transaction begins, or a new producer leads back to Empty. With epochs bumped per
transaction (KIP-890) a producer that does not know whether its transaction began may also abort from Empty or Complete.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class TransactionState(Enum):
    """A state; its value is its number in the log and its name in DescribeTransactions."""

    EMPTY = (0, "Empty")
    ONGOING = (1, "Ongoing")
    PREPARE_COMMIT = (2, "PrepareCommit")
    PREPARE_ABORT = (3, "PrepareAbort")
    COMPLETE_COMMIT = (4, "CompleteCommit")
    COMPLETE_ABORT = (5, "CompleteAbort")
    DEAD = (6, "Dead")
    """The id has expired. Here it goes with its tombstone, so nothing is ever seen in this state."""
    PREPARE_EPOCH_FENCE = (7, "PrepareEpochFence")
    """A producer is being fenced. Here its transaction goes straight on to PrepareAbort; see `DEAD`."""

    @property
    def id(self) -> int:
        return self.value[0]

    @property
    def state_name(self) -> str:
        return self.value[1]

    @property
    def may_expire(self) -> bool:
        """Whether a transactional id may be forgotten in this state."""
        return self in _AT_REST

    @property
    def is_ending(self) -> bool:
        """Whether the end is decided and markers are being written: nobody can change the outcome now."""
        return self in _ENDING


_AT_REST: Final = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
_ENDING: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})

BY_ID: Final = {state.id: state for state in TransactionState}
BY_NAME: Final = {state.state_name: state for state in TransactionState}

VALID_PREVIOUS_STATES: Final[dict[TransactionState, frozenset[TransactionState]]] = {
    TransactionState.EMPTY: _AT_REST,
    TransactionState.ONGOING: _AT_REST | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: _AT_REST | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: _AT_REST,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}
