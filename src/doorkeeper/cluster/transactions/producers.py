"""InitProducerId: a producer comes, and the one before it is fenced (KIP-98, KIP-360)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.ending import abort_and_fence
from doorkeeper.cluster.transactions.messages import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NONE,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from doorkeeper.cluster.transactions.metadata import TransactionMetadata, is_epoch_exhausted
from doorkeeper.cluster.transactions.states import TransactionState
from doorkeeper.cluster.transactions.step import Step, TransactionRefusedError

if TYPE_CHECKING:
    from doorkeeper.cluster.transactions.settings import TransactionSettings
    from doorkeeper.cluster.transactions.state import CoordinatorState


def init_producer_id(state: CoordinatorState, step: Step, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Refusals in the order of KafkaApis and TransactionCoordinator.handleInitProducerId."""
    code = check_init_producer_id(state.settings, request)
    if code is not NONE:
        raise TransactionRefusedError(code)
    if request.transactional_id is None:
        return InitProducerIdResponse(producer_id=state.require_producer_id(), producer_epoch=0)
    metadata = state.transactions.get(request.transactional_id)
    if metadata is None:
        metadata = TransactionMetadata(
            transactional_id=request.transactional_id,
            producer_id=state.require_producer_id(),
            timeout_ms=request.transaction_timeout_ms,
            last_update_ms=step.now_ms,
        )
    if metadata.state.is_ending:
        raise TransactionRefusedError(ErrorCode.concurrent_transactions)
    if not _may_be_its_producer(metadata, request):
        raise TransactionRefusedError(ErrorCode.producer_fenced)
    if metadata.state is TransactionState.ONGOING:
        # The epoch that fences is told to nobody: the client comes again, when the transaction is aborted.
        abort_and_fence(state, step, metadata)
        return InitProducerIdResponse(error_code=ErrorCode.concurrent_transactions)
    after = _next_producer(state, step, metadata, request)
    step.write(after)
    return InitProducerIdResponse(producer_id=after.producer_id, producer_epoch=after.producer_epoch)


def check_init_producer_id(settings: TransactionSettings, request: InitProducerIdRequest) -> ErrorCode:
    """What any broker says to a request that no coordinator would grant."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return ErrorCode.invalid_request
    if request.transactional_id is None:
        return NONE
    if not request.transactional_id:
        return ErrorCode.invalid_request
    if request.enable_two_pc:  # as Kafka answers while transaction.two.phase.commit.enable is false
        return ErrorCode.transactional_id_authorization_failed
    if request.keep_prepared_txn:
        return ErrorCode.unsupported_version
    is_lawful = 0 < request.transaction_timeout_ms <= settings.max_timeout_ms
    return NONE if is_lawful else ErrorCode.invalid_transaction_timeout


def _may_be_its_producer(metadata: TransactionMetadata, request: InitProducerIdRequest) -> bool:
    """Whether the producer that asks may be the one that we know; its epoch is looked at later."""
    if request.producer_id == NO_PRODUCER_ID or metadata.producer_epoch == NO_PRODUCER_EPOCH:
        return True
    if request.producer_id == metadata.producer_id:
        return True
    # It may not have heard that it has another id now.
    return request.producer_id == metadata.previous_producer_id and is_epoch_exhausted(request.producer_epoch)


def _next_producer(
    state: CoordinatorState, step: Step, metadata: TransactionMetadata, request: InitProducerIdRequest
) -> TransactionMetadata:
    expected = None if request.producer_id == NO_PRODUCER_ID else request.producer_epoch
    timeout_ms = request.transaction_timeout_ms
    if metadata.is_epoch_exhausted and expected in (None, metadata.producer_epoch):
        producer_id = state.require_producer_id()
        return metadata.with_producer_id(producer_id, timeout_ms, step.now_ms, keep_last_epoch=expected is not None)
    return metadata.with_next_epoch(timeout_ms, expected, step.now_ms)
