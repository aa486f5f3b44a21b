"""All that one coordinator holds in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.transactions.deadlines import Deadlines, next_sweep
from doorkeeper.cluster.transactions.messages import TV_0, TV_2, TopicPartition
from doorkeeper.cluster.transactions.settings import TransactionSettings
from doorkeeper.cluster.transactions.states import TransactionState
from doorkeeper.cluster.transactions.step import TransactionRefusedError

if TYPE_CHECKING:
    from doorkeeper.cluster.transactions.metadata import TransactionMetadata


@dataclass(slots=True)
class CoordinatorState:
    """Transactional ids, which the log brings back, and deadlines, which it does not."""

    coordinator_epoch: int
    new_producer_id: Callable[[], int | None]
    settings: TransactionSettings
    transaction_version: int
    transactions: dict[str, TransactionMetadata] = field(default_factory=dict)
    deadlines: Deadlines = field(default_factory=Deadlines)
    markers_to_retry: dict[str, set[TopicPartition]] = field(default_factory=dict)
    """Partitions whose markers could not be written, and are to be sent again."""
    loaded_at_ms: int = 0

    def require_producer_id(self) -> int:
        """A producer id that nobody had before; refused while the broker waits for its next block of ids."""
        producer_id = self.new_producer_id()
        if producer_id is None:
            raise TransactionRefusedError(ErrorCode.coordinator_load_in_progress)
        return producer_id

    def require_transaction(self, transactional_id: str) -> TransactionMetadata:
        """What is known of an id that a request names as its own."""
        if not transactional_id:
            raise TransactionRefusedError(ErrorCode.invalid_request)
        metadata = self.transactions.get(transactional_id)
        if metadata is None:
            raise TransactionRefusedError(ErrorCode.invalid_producer_id_mapping)
        return metadata

    def require_writable(self, client_version: int) -> None:
        """Refuse what version 0 of the log's record has no field for; Kafka's coordinator gets stuck there."""
        if client_version >= TV_2 and self.transaction_version == TV_0:
            raise TransactionRefusedError(ErrorCode.unsupported_version)

    def put(self, transactional_id: str, metadata: TransactionMetadata | None) -> None:
        """Remember the next state of an id, or forget it, and set its deadline."""
        if metadata is None:
            self.transactions.pop(transactional_id, None)
            self.deadlines.set(transactional_id, None)
            return
        self.transactions[transactional_id] = metadata
        if not metadata.state.is_ending:
            self.markers_to_retry.pop(transactional_id, None)
        self.deadlines.set(transactional_id, self._deadline(metadata))

    def _deadline(self, metadata: TransactionMetadata) -> int | None:
        """When this id is to be looked at, if nothing happens: at the sweep in which Kafka would find it."""
        settings = self.settings
        if metadata.state is TransactionState.ONGOING and metadata.has_timeout:
            late_ms = metadata.start_ms + metadata.timeout_ms + 1
            return next_sweep(self.loaded_at_ms, settings.abort_interval_ms, late_ms)
        if metadata.state.may_expire:
            late_ms = metadata.last_update_ms + settings.id_expiration_ms
            return next_sweep(self.loaded_at_ms, settings.expiration_interval_ms, late_ms)
        return None
