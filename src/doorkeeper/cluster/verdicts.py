"""Where the verdicts of the doors go: counters for all of them, a line for each offender and hour."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from doorkeeper.door.judge import Header, RequestVerdict
from doorkeeper.door.verdicts import Caller, HourMemory, VerdictBook
from doorkeeper.wire.registry import Door

if TYPE_CHECKING:
    from doorkeeper.net.line_log import LineLog

LOGGER: Final = logging.getLogger("doorkeeper.verdicts")


class Verdicts:
    """What the doors of a node say of identifiers."""

    def __init__(
        self, log: LineLog | None = None, memory: HourMemory | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """:param log: the verdict log; without one, lines go to the process's own log as information."""
        self.book = VerdictBook(memory)
        """What has been counted, for metrics."""
        self.log = log
        self._clock = clock

    def of_node(self) -> Verdicts:
        """For one of several nodes: its own counters, but an offender who knocks at many doors is written down once."""
        return Verdicts(self.log, self.book.memory, self._clock)

    def note(self, verdict: RequestVerdict, header: Header, door: Door, caller: Caller) -> None:
        """Take note of a request with breaches."""
        for record in self.book.note(verdict, header, door, caller, self._clock()):
            if self.log is None:
                LOGGER.info("%s", record.to_json())
            else:
                self.log.write(record.to_json())

    def close(self) -> None:
        """Have every line on the disk."""
        if self.log is not None:
            self.log.close()
