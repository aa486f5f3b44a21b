"""The transaction coordinator: the one entry to this package.

One coordinator serves the transactional ids of one partition of `__transaction_state`. It does no I/O and has no clock:
requests come with the time, and every answer is a `Decision`, which says what its owner does with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions import descriptions
from doorkeeper.cluster.transactions.ending import abort_and_fence, end_txn
from doorkeeper.cluster.transactions.markers import resend_markers, send_markers, settle_markers, skip_markers
from doorkeeper.cluster.transactions.messages import (
    FIRST_BROKER_VERSION,
    FIRST_END_TXN_VERSION_OF_TV_2,
    NONE,
    TV_0,
    TV_2,
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribedTransaction,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    PartitionCodes,
    TopicPartition,
    TxnMarker,
)
from doorkeeper.cluster.transactions.metadata import TransactionMetadata
from doorkeeper.cluster.transactions.partitions import add_partitions, broker_refusal, verify_partitions
from doorkeeper.cluster.transactions.producers import init_producer_id
from doorkeeper.cluster.transactions.records import from_value, to_record, tombstone
from doorkeeper.cluster.transactions.settings import TransactionSettings
from doorkeeper.cluster.transactions.state import CoordinatorState
from doorkeeper.cluster.transactions.states import TransactionState
from doorkeeper.cluster.transactions.step import Decision, Step, TransactionRefusedError
from doorkeeper.errors import RecordError
from doorkeeper.wire.coordinator_records import CoordinatorRecord
from doorkeeper.wire.transaction_records import TransactionLogKey, TransactionLogValue

R = TypeVar("R")

MAX_EXPIRED_IDS: Final = 1_000  # transactional ids looked at in one step, so that a batch stays small

FIRST_INIT_VERSION_OF_FENCED: Final = 4
FIRST_VERSION_OF_FENCED: Final = 2  # of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn


def _told(code: ErrorCode, api_version: int, since: int) -> ErrorCode:
    """PRODUCER_FENCED has another name for clients that do not know it (KIP-588)."""
    if code is ErrorCode.producer_fenced and api_version < since:
        return ErrorCode.invalid_producer_epoch
    return code


class TransactionCoordinator:
    """The transactional ids of one partition."""

    def __init__(
        self,
        *,
        coordinator_epoch: int,
        new_producer_id: Callable[[], int | None],
        settings: TransactionSettings | None = None,
        transaction_version: int = TV_2,
    ) -> None:
        """`new_producer_id` gives an id that nobody had before, or None while the broker waits for more of them.

        The coordinator epoch is the leader epoch of the partition, the transaction version the cluster's feature level.
        """
        self.state = CoordinatorState(
            coordinator_epoch, new_producer_id, settings or TransactionSettings(), transaction_version
        )

    # --- loading, and the world around ---

    def replay(self, record: CoordinatorRecord) -> None:
        """Take in a record of the log, before `loaded`; RecordError if it can't be one of `__transaction_state`."""
        match record.key, record.value:
            case TransactionLogKey(transactional_id=transactional_id), None:
                self.state.transactions.pop(transactional_id, None)
            case TransactionLogKey(transactional_id=transactional_id), TransactionLogValue() as value:
                self.state.transactions[transactional_id] = from_value(transactional_id, value)
            case _:
                raise RecordError(f"a {type(record.key).__name__} in the log of transactions")

    def loaded(self, now_ms: int) -> Decision[None]:
        """The log is read: start the deadlines, and carry out what was decided before."""
        self.state.loaded_at_ms = now_ms
        step = Step(now_ms)
        for transactional_id, metadata in list(self.state.transactions.items()):
            self.state.put(transactional_id, metadata)
            if metadata.state.is_ending:
                send_markers(self.state, step, metadata)
        return self._finish(step, None)

    def set_settings(self, settings: TransactionSettings) -> None:
        """Other settings, from the next request on; deadlines move with them."""
        self.state.settings = settings
        for transactional_id, metadata in list(self.state.transactions.items()):
            if not metadata.state.is_ending:
                self.state.put(transactional_id, metadata)

    def set_transaction_version(self, transaction_version: int) -> None:
        """Another feature level of the cluster, from the next request on."""
        self.state.transaction_version = transaction_version

    # --- producers and their transactions ---

    def init_producer_id(
        self, request: InitProducerIdRequest, api_version: int, now_ms: int
    ) -> Decision[InitProducerIdResponse]:
        """Versions 0 to 6. A producer without transactions may ask any coordinator."""
        step = Step(now_ms)
        return self._decide(
            step,
            lambda: init_producer_id(self.state, step, request),
            lambda code: InitProducerIdResponse(error_code=_told(code, api_version, FIRST_INIT_VERSION_OF_FENCED)),
        )

    def add_partitions_to_txn(
        self, request: AddPartitionsToTxnRequest, api_version: int, now_ms: int
    ) -> Decision[PartitionCodes]:
        """Versions 0 to 5, one transaction of a request; those of a batch are decided one after the other."""
        step = Step(now_ms)
        client_version = TV_2 if api_version >= FIRST_BROKER_VERSION else TV_0

        def decide() -> PartitionCodes:
            if (codes := broker_refusal(request)) is not None:
                return codes
            if request.verify_only:
                return verify_partitions(self.state, request)
            add_partitions(
                self.state,
                step,
                transactional_id=request.transactional_id,
                producer_id=request.producer_id,
                producer_epoch=request.producer_epoch,
                partitions=request.partitions,
                client_version=client_version,
            )
            return dict.fromkeys(request.partitions, NONE)

        return self._decide(
            step,
            decide,
            lambda code: dict.fromkeys(request.partitions, _told(code, api_version, FIRST_VERSION_OF_FENCED)),
        )

    def add_offsets_to_txn(self, request: AddOffsetsToTxnRequest, api_version: int, now_ms: int) -> Decision[ErrorCode]:
        """Versions 0 to 4. Clients at transaction version 2 leave it to TxnOffsetCommit; see `verification`."""
        step = Step(now_ms)

        def decide() -> ErrorCode:
            add_partitions(
                self.state,
                step,
                transactional_id=request.transactional_id,
                producer_id=request.producer_id,
                producer_epoch=request.producer_epoch,
                partitions=(request.offsets_partition,),
                client_version=TV_0,
            )
            return NONE

        return self._decide(step, decide, lambda code: _told(code, api_version, FIRST_VERSION_OF_FENCED))

    def end_txn(self, request: EndTxnRequest, api_version: int, now_ms: int) -> Decision[EndTxnResponse]:
        """Versions 0 to 5; from 5 on the producer gets another epoch for its next transaction."""
        step = Step(now_ms)
        client_version = TV_2 if api_version >= FIRST_END_TXN_VERSION_OF_TV_2 else TV_0
        return self._decide(
            step,
            lambda: end_txn(self.state, step, request, client_version),
            lambda code: EndTxnResponse(error_code=_told(code, api_version, FIRST_VERSION_OF_FENCED)),
        )

    # --- markers ---

    def markers_written(
        self, marker: TxnMarker, outcomes: Mapping[TopicPartition, ErrorCode], now_ms: int
    ) -> Decision[None]:
        """What the leaders of some or all partitions of a marker answered; those that are left out are sent again.

        Markers for several leaders are parts of one: report each with `dataclasses.replace(marker, partitions=...)`.
        """
        step = Step(now_ms)
        settle_markers(self.state, step, marker, outcomes)
        return self._finish(step, None)

    def markers_skipped(self, marker: TxnMarker, gone: Iterable[TopicPartition], now_ms: int) -> Decision[None]:
        """These partitions of a marker are not in the cluster's metadata any more."""
        step = Step(now_ms)
        skip_markers(self.state, step, marker, gone)
        return self._finish(step, None)

    # --- time ---

    def next_deadline(self) -> int | None:
        """When `expire` is to be called, if nothing else happens."""
        return self.state.deadlines.next_deadline()

    def expire(self, now_ms: int) -> Decision[None]:
        """Abort what took too long, forget what was not used for long, send again what could not be written."""
        step = Step(now_ms)
        for _ in range(MAX_EXPIRED_IDS):
            transactional_id = self.state.deadlines.pop_due(now_ms)
            if transactional_id is None:
                break
            self._expire(step, self.state.transactions[transactional_id])
        return self._finish(step, None)

    def _expire(self, step: Step, metadata: TransactionMetadata) -> None:
        if metadata.state.is_ending:
            resend_markers(self.state, step, metadata)
        elif metadata.state is TransactionState.ONGOING:
            try:
                abort_and_fence(self.state, step, metadata)
            except TransactionRefusedError:  # no producer id to be had: at the next sweep
                retry_ms = step.now_ms + self.state.settings.abort_interval_ms
                self.state.deadlines.set(metadata.transactional_id, retry_ms)
        else:
            step.forget(metadata.transactional_id)

    # --- descriptions ---

    def describe_transactions(self, transactional_ids: Iterable[str]) -> list[DescribedTransaction]:
        return [descriptions.describe_transaction(self.state, one) for one in transactional_ids]

    def list_transactions(self, request: ListTransactionsRequest, now_ms: int) -> ListTransactionsResponse:
        """The transactional ids of this partition; a broker's answer is that of all its coordinators."""
        return descriptions.list_transactions((self.state,), request, now_ms)

    # --- steps ---

    def _decide(self, step: Step, decide: Callable[[], R], refuse: Callable[[ErrorCode], R]) -> Decision[R]:
        try:
            response = decide()
        except TransactionRefusedError as refusal:
            return Decision(refuse(refusal.code))
        return self._finish(step, response)

    def _finish(self, step: Step, response: R) -> Decision[R]:
        """Replay what was decided, and say what of it goes to the log."""
        records = []
        for transactional_id, metadata in step.transitions:
            self.state.put(transactional_id, metadata)
            if metadata is None:
                records.append(tombstone(transactional_id))
            else:
                records.append(to_record(metadata, self.state.transaction_version))
        return Decision(response, tuple(records), tuple(step.markers))
