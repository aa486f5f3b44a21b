"""The judgement of a BROKER_LOGGER change: levels of the node's own loggers.

Sources: `RuntimeLoggerManager.java`, `LogLevelConfig.java`. Kafka crashes on an unknown operation; we refuse it with
the sentence that its source has for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.codes import ErrorCode
from doorkeeper.rules.config_request import Operation, Refusal
from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.verdict import RuleId

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from doorkeeper.rules.config_request import ConfigEntry

LEVELS: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
ROOT_LOGGER: Final = "root"
_RESOURCE: Final = "the BROKER_LOGGER resource"


def refusal_of_loggers(
    name: str, entries: Iterable[ConfigEntry], node_id: int | None, loggers: Container[str] | None
) -> Refusal | None:
    """Judge a change of log levels at the door of one node; a node without an id takes any."""
    requested = parse_int(name)
    if requested is None:
        return _request(RuleId.CONFIG_RESOURCE_NAME, f"Node id must be an integer, but it is: {name}")
    if node_id not in (None, requested):
        text = f"Unexpected node id. Expected {node_id}, but received {requested}"
        return _request(RuleId.CONFIG_OTHER_NODE, text)
    for entry in entries:
        refusal = _refusal_of_entry(entry, loggers)
        if refusal is not None:
            return refusal
    return None


def _request(rule: RuleId, message: str) -> Refusal:
    return Refusal(rule, ErrorCode.INVALID_REQUEST, message)


def _refusal_of_entry(entry: ConfigEntry, loggers: Container[str] | None) -> Refusal | None:
    if entry.operation in (Operation.APPEND, Operation.SUBTRACT):
        verb = Operation(entry.operation).name
        return _request(RuleId.CONFIG_LOGGER_OPERATION, f"{verb} operation is not allowed for {_RESOURCE}")
    if entry.operation not in (Operation.SET, Operation.DELETE):
        text = f"Unknown operation type {entry.operation} is not allowed for {_RESOURCE}"
        return _request(RuleId.CONFIG_OPERATION_UNKNOWN, text)
    if loggers is not None and entry.name not in loggers:
        return Refusal(RuleId.CONFIG_LOGGER_UNKNOWN, ErrorCode.INVALID_CONFIG, f"Logger {entry.name} does not exist!")
    if entry.operation == Operation.DELETE:
        if entry.name != ROOT_LOGGER:
            return None
        text = f"Removing the log level of the {ROOT_LOGGER} logger is not allowed"
        return _request(RuleId.CONFIG_LOGGER_OPERATION, text)
    if entry.value in LEVELS:
        return None
    text = (
        f"Cannot set the log level of {entry.name} to {entry.value} as it is not a supported log level. "
        f"Valid log levels are {', '.join(LEVELS)}"
    )
    return Refusal(RuleId.CONFIG_LOGGER_LEVEL, ErrorCode.INVALID_CONFIG, text)
