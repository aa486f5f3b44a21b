"""The node's own loggers, as Kafka's tools see them: names, levels, and levels changed while it runs (KIP-412).

From org.apache.kafka.server.logger.LoggingController. Python's loggers form the same kind of tree; its root is `root`.
Levels are not stored: a restart forgets them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from doorkeeper.rules.config_request import ConfigEntry, Operation
from doorkeeper.rules.logger_config import ROOT_LOGGER

OURS: Final = "doorkeeper"
TRACE: Final = 5
_LEVELS: Final[Mapping[str, int]] = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_NAMES: Final = {number: name for name, number in _LEVELS.items()}


class NodeLoggers:
    """All loggers of this package and the root; nodes of one process share them, as they share the process."""

    def levels(self) -> dict[str, str]:
        """The level in effect for each logger."""
        names = sorted(name for name in logging.root.manager.loggerDict if name.split(".")[0] == OURS)
        loggers = {ROOT_LOGGER: logging.getLogger()} | {name: logging.getLogger(name) for name in names}
        return {name: _name_of(logger.getEffectiveLevel()) for name, logger in loggers.items()}

    def __contains__(self, name: object) -> bool:
        return name in self.levels()

    def apply(self, entries: Iterable[ConfigEntry]) -> None:
        """Carry out a change that has been judged lawful."""
        for entry in entries:
            logger = logging.getLogger(None if entry.name == ROOT_LOGGER else entry.name)
            if entry.operation == Operation.DELETE:
                logger.setLevel(logging.NOTSET)
            else:
                assert entry.value is not None
                logger.setLevel(_LEVELS[entry.value])


def _name_of(level: int) -> str:
    return _NAMES.get(level) or next((name for number, name in sorted(_NAMES.items()) if number >= level), "FATAL")
