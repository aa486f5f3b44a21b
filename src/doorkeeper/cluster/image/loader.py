"""From batches of the log to images, metadata transactions included.

From org.apache.kafka.image.loader.MetadataBatchLoader (KIP-868): what lies between BeginTransactionRecord and
EndTransactionRecord becomes visible at the end, in one step; what AbortTransactionRecord ends never does.
"""

from __future__ import annotations

from collections.abc import Iterable

from doorkeeper.cluster.image.metadata import MetadataDelta, MetadataImage, Provenance
from doorkeeper.errors import ReplayError
from doorkeeper.wire.metadata.serde import VersionedRecord
from doorkeeper.wire.metadata.types import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord


class ImageLoader:
    """Replays batches one after the other; `image` never shows half a batch or half a transaction."""

    def __init__(self, image: MetadataImage = MetadataImage.EMPTY) -> None:
        self.image = image
        self._delta = MetadataDelta(image)
        self._in_transaction = False

    @property
    def in_transaction(self) -> bool:
        return self._in_transaction

    def replay_batch(self, records: Iterable[VersionedRecord], provenance: Provenance) -> MetadataImage:
        """Take in one batch, and return the image after it."""
        for record in records:
            self._replay(record, provenance)
        if not self._in_transaction:
            self._publish(provenance)
        return self.image

    def _replay(self, record: VersionedRecord, provenance: Provenance) -> None:
        message = record.message
        if isinstance(message, BeginTransactionRecord):
            if self._in_transaction:
                raise ReplayError("a metadata transaction begins inside another")
            self._publish(provenance)
            self._in_transaction = True
        elif isinstance(message, EndTransactionRecord | AbortTransactionRecord):
            if not self._in_transaction:
                raise ReplayError("a metadata transaction ends that never began")
            self._in_transaction = False
            if isinstance(message, AbortTransactionRecord):
                self._delta = MetadataDelta(self.image)
            self._publish(provenance)
        else:
            self._delta.replay(message)

    def _publish(self, provenance: Provenance) -> None:
        self.image = self._delta.apply(provenance)
        self._delta = MetadataDelta(self.image)
