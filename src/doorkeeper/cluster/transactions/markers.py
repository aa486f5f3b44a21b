"""Markers: the outcome of a transaction goes into each of its partitions, and then the transaction is over.

From Kafka's TransactionMarkerChannelManager and TransactionMarkerRequestCompletionHandler. Which partitions still wait
is not in the log: after a restart all of them get their markers again, which does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.messages import NONE, TopicPartition, TxnMarker
from doorkeeper.cluster.transactions.states import TransactionState
from doorkeeper.cluster.transactions.step import Step

if TYPE_CHECKING:
    from doorkeeper.cluster.transactions.metadata import TransactionMetadata
    from doorkeeper.cluster.transactions.state import CoordinatorState

RETRY_BACKOFF_MS: Final = 100  # Kafka sends again at once; a partition that is offline would keep us busy

WRITTEN: Final = frozenset({NONE, ErrorCode.unsupported_for_message_format, ErrorCode.unsupported_version})
"""The marker is there, or the producer could not have written anything that needs one."""
GIVEN_UP: Final = frozenset({ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced})
"""Somebody newer than us is at work. The transaction stays as it is until its coordinator is loaded again."""


def send_markers(state: CoordinatorState, step: Step, metadata: TransactionMetadata) -> None:
    """Ask for the markers of a transaction whose end is decided; without partitions it is over at once."""
    if metadata.partitions:
        step.markers.append(_marker(state, metadata, metadata.partitions))
    else:
        step.write(metadata.completed(step.now_ms))


def resend_markers(state: CoordinatorState, step: Step, metadata: TransactionMetadata) -> None:
    """Ask once more for those that could not be written."""
    partitions = state.markers_to_retry.pop(metadata.transactional_id)
    step.markers.append(_marker(state, metadata, frozenset(partitions)))


def settle_markers(
    state: CoordinatorState, step: Step, marker: TxnMarker, outcomes: Mapping[TopicPartition, ErrorCode]
) -> None:
    """Take in what became of a marker; a partition without an outcome is to be tried again."""
    metadata = _transaction_of(state, marker)
    if metadata is None:
        return
    codes = {one: outcomes.get(one, ErrorCode.network_exception) for one in marker.partitions}
    written = frozenset(one for one, code in codes.items() if code in WRITTEN)
    metadata = metadata.without_partitions(written)
    state.put(metadata.transactional_id, metadata)
    if not metadata.partitions:
        step.write(metadata.completed(step.now_ms))
    elif any(code in GIVEN_UP for code in codes.values()):
        state.markers_to_retry.pop(metadata.transactional_id, None)
        return
    _retry(state, step, metadata, codes.keys() - written)


def skip_markers(state: CoordinatorState, step: Step, marker: TxnMarker, gone: Iterable[TopicPartition]) -> None:
    """Take in that these partitions were deleted: nobody will read their markers."""
    metadata = _transaction_of(state, marker)
    if metadata is None:
        return
    metadata = metadata.without_partitions(frozenset(gone) & frozenset(marker.partitions))
    state.put(metadata.transactional_id, metadata)
    if not metadata.partitions:
        step.write(metadata.completed(step.now_ms))
    _retry(state, step, metadata, ())


def _retry(
    state: CoordinatorState, step: Step, metadata: TransactionMetadata, partitions: Iterable[TopicPartition]
) -> None:
    waiting = (state.markers_to_retry.pop(metadata.transactional_id, set()) | set(partitions)) & metadata.partitions
    if waiting:
        state.markers_to_retry[metadata.transactional_id] = waiting
        state.deadlines.set(metadata.transactional_id, step.now_ms + RETRY_BACKOFF_MS)


def _transaction_of(state: CoordinatorState, marker: TxnMarker) -> TransactionMetadata | None:
    """The transaction that still waits for this marker, or None if the news is old."""
    metadata = state.transactions.get(marker.transactional_id)
    if metadata is None or not metadata.state.is_ending:
        return None
    ours = (state.coordinator_epoch, metadata.producer_id, metadata.producer_epoch)
    return metadata if ours == (marker.coordinator_epoch, marker.producer_id, marker.producer_epoch) else None


def _marker(state: CoordinatorState, metadata: TransactionMetadata, partitions: frozenset[TopicPartition]) -> TxnMarker:
    return TxnMarker(
        transactional_id=metadata.transactional_id,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        coordinator_epoch=state.coordinator_epoch,
        committed=metadata.state is TransactionState.PREPARE_COMMIT,
        transaction_version=metadata.client_transaction_version,
        partitions=tuple(sorted(partitions)),
    )
