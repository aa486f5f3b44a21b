"""The aborted transactions that end in a segment (`.txnindex`).

From org.apache.kafka.storage.internals.log.TransactionIndex and AbortedTxn. The file exists only where one was
aborted; an entry is written when its marker is, because read_committed consumers need it from then on.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final, NamedTuple

from doorkeeper.cluster.durable import storage_errors, write_all
from doorkeeper.cluster.log.files import Disk
from doorkeeper.errors import StorageError

_ENTRY: Final = struct.Struct(">hqqqq")
_VERSION: Final = 0


class AbortedTransaction(NamedTuple):
    """From the transaction's first record to its marker, and the last stable offset once the marker was there."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionsIndex:
    """Entries in the order of their markers; read when first asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: list[AbortedTransaction] | None = None

    @property
    def entries(self) -> list[AbortedTransaction]:
        if self._entries is None:
            self._entries = self._load()
        return self._entries

    def _load(self) -> list[AbortedTransaction]:
        if not self.path.exists():
            return []
        with storage_errors("read", self.path):
            data = self.path.read_bytes()
        whole = len(data) - len(data) % _ENTRY.size
        rows = list(_ENTRY.iter_unpack(data[:whole]))
        if any(version > _VERSION for version, *_ in rows):
            raise StorageError(f"{self.path} has an entry of an unknown version")
        return [AbortedTransaction(*row) for _, *row in rows]

    def append(self, transaction: AbortedTransaction) -> None:
        entries = self.entries
        data = _ENTRY.pack(_VERSION, *transaction)
        with storage_errors("write", self.path):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                write_all(descriptor, data)
            finally:
                os.close(descriptor)
        entries.append(transaction)

    def collect(self, start: int, end: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that touch the offsets [start, end), and whether later segments can have no more of them."""
        found = []
        for transaction in self.entries:
            if transaction.last_offset >= start and transaction.first_offset < end:
                found.append(transaction)
            if transaction.last_stable_offset >= end:
                return found, True
        return found, False

    def clear(self) -> None:
        """Forget all entries, and the file with them."""
        with storage_errors("remove", self.path):
            self.path.unlink(missing_ok=True)
        self._entries = []

    def sync(self, disk: Disk) -> None:
        if not self.path.exists():
            return
        with storage_errors("flush", self.path):
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                disk.sync(descriptor)
            finally:
                os.close(descriptor)
