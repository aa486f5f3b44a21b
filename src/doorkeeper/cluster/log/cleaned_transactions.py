"""What the cleaner knows of transactions while it walks through a log.

From org.apache.kafka.storage.internals.log.CleanedTransactionMetadata. Records of aborted transactions go at once; a
marker goes when no record of its transaction is left, after a time in which readers may still need it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from doorkeeper.cluster.log.batch import Marker, MarkerType
from doorkeeper.cluster.log.transactions_index import AbortedTransaction, TransactionsIndex
from doorkeeper.wire.records import BatchHeader


class CleanedTransactions:
    """Feed it every batch in order; it tells which ones may be discarded."""

    def __init__(self) -> None:
        self._committed: set[int] = set()
        self._aborted: dict[int, AbortedTransaction] = {}
        self._seen: set[int] = set()
        """Producers with an ongoing aborted transaction of which a batch was read."""
        self._ahead: list[tuple[int, AbortedTransaction]] = []
        self._known: set[AbortedTransaction] = set()
        self.cleaned_index: TransactionsIndex | None = None

    def add_aborted(self, transactions: Iterable[AbortedTransaction]) -> None:
        """Tell of aborted transactions ahead; the same one may be told for several segments."""
        for transaction in transactions:
            if transaction not in self._known:
                self._known.add(transaction)
                heapq.heappush(self._ahead, (transaction.first_offset, transaction))

    def may_discard(self, view: BatchHeader, marker: Marker | None) -> bool:
        """Whether this batch is of no use to any reader that begins after now."""
        self._advance(view.last_offset)
        if view.is_control:
            return self._end(view.producer_id, marker)
        if not view.is_transactional:
            return False
        if view.producer_id in self._aborted:
            self._seen.add(view.producer_id)
            return True
        self._committed.add(view.producer_id)
        return False

    def _advance(self, offset: int) -> None:
        while self._ahead and self._ahead[0][0] <= offset:
            _, transaction = heapq.heappop(self._ahead)
            self._aborted.setdefault(transaction.producer_id, transaction)

    def _end(self, producer_id: int, marker: Marker | None) -> bool:
        if marker is None:
            return True
        if marker.type is MarkerType.COMMIT:
            was_seen = producer_id in self._committed
            self._committed.discard(producer_id)
            return not was_seen
        transaction = self._aborted.pop(producer_id, None)
        if transaction is None or producer_id not in self._seen:
            return True
        self._seen.discard(producer_id)
        if self.cleaned_index is not None:
            self.cleaned_index.append(transaction)
        return False
