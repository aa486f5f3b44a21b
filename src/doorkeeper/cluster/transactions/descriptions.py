"""DescribeTransactions and ListTransactions: what is known about transactional ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import re2
from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.messages import (
    DescribedTransaction,
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from doorkeeper.cluster.transactions.states import BY_NAME, TransactionState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from doorkeeper.cluster.transactions.metadata import TransactionMetadata
    from doorkeeper.cluster.transactions.state import CoordinatorState


def describe_transaction(state: CoordinatorState, transactional_id: str) -> DescribedTransaction:
    if not transactional_id:
        return DescribedTransaction(transactional_id=transactional_id, error_code=ErrorCode.invalid_request)
    metadata = state.transactions.get(transactional_id)
    if metadata is None or metadata.state is TransactionState.DEAD:
        return DescribedTransaction(transactional_id=transactional_id, error_code=ErrorCode.transactional_id_not_found)
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=metadata.state.state_name,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        partitions=tuple(sorted(metadata.partitions)),
    )


def list_transactions(
    states: Iterable[CoordinatorState], request: ListTransactionsRequest, now_ms: int
) -> ListTransactionsResponse:
    """Those of all coordinators that pass every filter; an empty filter lets all through.

    Kafka's pattern is a Java one. Here it is RE2's, which runs in linear time whatever a client asks for; what only
    Java knows (back references, looking around) is refused as if it were no pattern.
    """
    try:
        matches = _pattern(request.transactional_id_pattern)
    except re2.error:
        return ListTransactionsResponse(error_code=ErrorCode.invalid_regular_expression)
    unknown = tuple(name for name in dict.fromkeys(request.state_filters) if name not in BY_NAME)
    listed = tuple(
        ListedTransaction(one.transactional_id, one.producer_id, one.state.state_name)
        for state in states
        for one in state.transactions.values()
        if _is_wanted(one, request, now_ms) and matches(one.transactional_id)
    )
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=listed)


def _is_wanted(metadata: TransactionMetadata, request: ListTransactionsRequest, now_ms: int) -> bool:
    if metadata.state is TransactionState.DEAD:
        return False
    if request.producer_id_filters and metadata.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and metadata.state.state_name not in request.state_filters:
        return False
    return request.duration_filter < 0 or now_ms - metadata.start_ms > request.duration_filter


def _pattern(text: str | None) -> Callable[[str], bool]:
    if not text:
        return lambda _: True
    options = re2.Options()
    options.log_errors = False
    compiled = re2.compile(text, options=options)
    return lambda name: compiled.fullmatch(name) is not None
