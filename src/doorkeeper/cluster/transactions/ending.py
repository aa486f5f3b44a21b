"""EndTxn: a transaction is committed or aborted, by its producer or for it. From Kafka's TransactionCoordinator.

Until KIP-890 a producer keeps its epoch, so a retried EndTxn is known by the state alone. Since (transaction version 2)
every transaction ends with another epoch, and a retry is known by the epoch before:

                      abort, retry   abort, current   commit, retry   commit, current
    Empty             fenced         ends again       fenced          invalid
    CompleteAbort     none           ends again       invalid         invalid
    CompleteCommit    invalid        ends again       none            invalid
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.markers import send_markers
from doorkeeper.cluster.transactions.messages import NO_PRODUCER_ID, TV_0, TV_2, EndTxnRequest, EndTxnResponse
from doorkeeper.cluster.transactions.metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from doorkeeper.cluster.transactions.states import TransactionState
from doorkeeper.cluster.transactions.step import Step, TransactionRefusedError

if TYPE_CHECKING:
    from doorkeeper.cluster.transactions.state import CoordinatorState


def end_txn(state: CoordinatorState, step: Step, request: EndTxnRequest, client_version: int) -> EndTxnResponse:
    """End a transaction at the will of its producer."""
    metadata = state.require_transaction(request.transactional_id)
    if client_version >= TV_2:
        return _end_with_new_epoch(state, step, metadata, request)
    return _end_with_same_epoch(state, step, metadata, request)


def abort_and_fence(state: CoordinatorState, step: Step, metadata: TransactionMetadata) -> None:
    """Abort an ongoing transaction at the coordinator's will: it took too long, or another producer came."""
    if state.transaction_version >= TV_2:
        _end(state, step, metadata, commit=False, client_version=TV_2)
    else:
        _end(state, step, metadata.fenced(), commit=False, client_version=TV_0)


def _end_with_same_epoch(
    state: CoordinatorState, step: Step, metadata: TransactionMetadata, request: EndTxnRequest
) -> EndTxnResponse:
    if metadata.producer_id != request.producer_id:
        raise TransactionRefusedError(ErrorCode.invalid_producer_id_mapping)
    if metadata.producer_epoch != request.producer_epoch:
        raise TransactionRefusedError(ErrorCode.producer_fenced)
    if metadata.state.is_ending:
        raise TransactionRefusedError(ErrorCode.concurrent_transactions)
    if metadata.state is TransactionState.ONGOING:
        _end(state, step, metadata, commit=request.committed, client_version=TV_0)
    elif metadata.state is not _complete(commit=request.committed):
        raise TransactionRefusedError(ErrorCode.invalid_txn_state)
    return EndTxnResponse()


def _end_with_new_epoch(
    state: CoordinatorState, step: Step, metadata: TransactionMetadata, request: EndTxnRequest
) -> EndTxnResponse:
    if metadata.state.is_ending:
        # Before the producer is looked at: it may already have an id that is ours only when the transaction is over.
        raise TransactionRefusedError(ErrorCode.concurrent_transactions)
    is_retry = _require_producer(metadata, request)
    if is_retry:
        if metadata.state is not _complete(commit=request.committed):
            raise TransactionRefusedError(ErrorCode.invalid_txn_state)
        return EndTxnResponse(producer_id=metadata.producer_id, producer_epoch=metadata.producer_epoch)
    if request.committed and metadata.state is not TransactionState.ONGOING:
        raise TransactionRefusedError(ErrorCode.invalid_txn_state)
    state.require_writable(TV_2)
    ended = _end(state, step, metadata, commit=request.committed, client_version=TV_2)
    return EndTxnResponse(producer_id=ended.producer_id, producer_epoch=ended.producer_epoch)


def _require_producer(metadata: TransactionMetadata, request: EndTxnRequest) -> bool:
    """Whether this is the producer's last request once more; refused if it is not the producer at all."""
    rotated = (
        metadata.previous_producer_id == request.producer_id
        and request.producer_epoch == LAST_CLIENT_EPOCH
        and metadata.producer_epoch == 0
    )
    if metadata.producer_id != request.producer_id and not rotated:
        raise TransactionRefusedError(ErrorCode.invalid_producer_id_mapping)
    is_complete = metadata.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    if is_complete and (rotated or metadata.producer_epoch == request.producer_epoch + 1):
        return True
    if metadata.producer_epoch != request.producer_epoch:
        raise TransactionRefusedError(ErrorCode.producer_fenced)
    return False


def _complete(*, commit: bool) -> TransactionState:
    return TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT


def _end(
    state: CoordinatorState, step: Step, metadata: TransactionMetadata, *, commit: bool, client_version: int
) -> TransactionMetadata:
    """Decide the end, and return what the producer will be when it is carried out."""
    rotate = client_version >= TV_2 and metadata.is_epoch_exhausted
    prepared = metadata.prepared(
        commit=commit,
        client_version=client_version,
        next_producer_id=state.require_producer_id() if rotate else NO_PRODUCER_ID,
        now_ms=step.now_ms,
    )
    step.write(prepared)
    send_markers(state, step, prepared)
    return prepared.completed(step.now_ms)
