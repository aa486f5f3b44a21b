"""A case: one request, or several in a row, under one static configuration; and what came of it."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from doorkeeper.rules.config_change import ConfigEntry, Operation, ResourceChange, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

KAFKA_VERSION = "4.3.1"
Answer = tuple[int, str | None]
"""Code and message."""

BROKER, TOPIC, GROUP = ResourceType.BROKER, ResourceType.TOPIC, ResourceType.GROUP
METRICS, LOGGER = ResourceType.CLIENT_METRICS, ResourceType.BROKER_LOGGER


@dataclass(frozen=True, slots=True)
class Case:
    """Requests in a row; a single one, or any after a poison, is only validated, several are carried out."""

    configuration: str
    requests: tuple[tuple[ResourceChange, ...], ...]
    poison: ResourceChange | None = None
    """A change sent to the controller first, which stores it unjudged."""
    final: bool = field(default=False, compare=False)
    """Whether what it changed may stay: nothing is asked of that Kafka afterwards."""

    @property
    def is_sequence(self) -> bool:
        """Whether the requests change something."""
        return len(self.requests) > 1 and self.poison is None

    def key(self) -> str:
        """The case as one line of text: its identity."""
        return json.dumps([self.configuration, *self.to_json()])

    def to_json(self) -> list[Any]:
        """The requests, and the poison if there is one."""
        requests = [[_to_json(change) for change in each] for each in self.requests]
        return [requests, _to_json(self.poison)] if self.poison else [requests]


@dataclass(frozen=True, slots=True)
class Vector:
    """A case and Kafka's answers: per request, per resource."""

    case: Case
    answers: tuple[tuple[Answer, ...], ...]


def change(
    resource_type: int, name: str, *entries: tuple[str, str | None] | tuple[str, str | None, int], legacy: bool = False
) -> ResourceChange:
    """Write a change shortly: `(key, value)` sets, `(key, value, operation)` does what it says."""
    made = tuple(ConfigEntry(each[0], each[2] if len(each) == 3 else Operation.SET, each[1]) for each in entries)
    return ResourceChange(resource_type, name, made, legacy=legacy)


def _to_json(change: ResourceChange) -> list[Any]:
    entries = [[entry.name, int(entry.operation), entry.value] for entry in change.entries]
    return [int(change.type), change.name, entries, int(change.legacy)]


def _from_json(row: list[Any]) -> ResourceChange:
    entries = tuple(ConfigEntry(name, operation, value) for name, operation, value in row[2])
    return ResourceChange(row[0], row[1], entries, legacy=bool(row[3]))


def write_vectors(path: Path, configuration: str, vectors: Iterable[Vector]) -> None:
    """Write one file: a header, then a line per case."""
    header = {"kafka_version": KAFKA_VERSION, "configuration": configuration}
    lines = [json.dumps(header)]
    for vector in vectors:
        lines.append(json.dumps([vector.answers, *vector.case.to_json()], ensure_ascii=True, separators=(",", ":")))
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode("ascii"), mtime=0))


def read_vectors(path: Path) -> Iterator[Vector]:
    """Read one file."""
    first, *lines = gzip.decompress(path.read_bytes()).decode("ascii").splitlines()
    header = json.loads(first)
    if header["kafka_version"] != KAFKA_VERSION:
        raise ValueError(f"{path} is of Kafka {header['kafka_version']}")
    for line in lines:
        answers, requests, *poison = json.loads(line)
        made = tuple(tuple(_from_json(row) for row in each) for each in requests)
        case = Case(header["configuration"], made, _from_json(poison[0]) if poison else None)
        yield Vector(case, tuple(tuple((code, message) for code, message in each) for each in answers))
