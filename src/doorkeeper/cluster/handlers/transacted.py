"""The way of a transaction's request: to the coordinator of its transactional id, and back in the version asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.grouped import response_class

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.transactions.coordinator import TransactionCoordinator
    from doorkeeper.cluster.transactions.step import Decision

R = TypeVar("R")


def ask_transaction_coordinator(
    broker: BrokerRole,
    call: Call,
    decide: Callable[[TransactionCoordinator, int], Decision[R]],
    refused: Callable[[ErrorCode], R],
    write: Callable[[type[Any], R], Any],
) -> Any:
    """Let the coordinator of the transactional id that the request names decide, and write its response."""
    outcome = broker.data.transactions.ask(call.body.transactional_id, decide)
    return write(response_class(call), refused(outcome) if isinstance(outcome, ErrorCode) else outcome)
