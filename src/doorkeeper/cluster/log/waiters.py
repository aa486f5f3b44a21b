"""Who waits for a log to grow: a long-polling fetch asks to be called, and nobody polls."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

Waiter: TypeAlias = Callable[[], None]

logger = logging.getLogger(__name__)


class Waiters:
    """Callbacks, each called at every change until it is removed."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: dict[Waiter, None] = {}

    def __len__(self) -> int:
        return len(self._waiters)

    def __bool__(self) -> bool:
        return bool(self._waiters)

    def add(self, waiter: Waiter) -> None:
        self._waiters[waiter] = None

    def remove(self, waiter: Waiter) -> None:
        """Removing one that is not there is no error: it may have been removed by its own call."""
        self._waiters.pop(waiter, None)

    def notify(self) -> None:
        """Call everybody; one that fails is logged, for an append that succeeded must not fail with it."""
        for waiter in tuple(self._waiters):
            try:
                waiter()
            except Exception:
                logger.exception("a waiter of a log failed")
