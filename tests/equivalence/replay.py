"""Put a case to the rulebook, and compare its answers with Kafka's."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from tests.equivalence.configurations import CONFIGURATIONS, PLACES, context_of, fill

from doorkeeper.rules.config_change import ConfigEntry, ResourceChange, ResourceType, judge_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.equivalence.cases import Answer, Case

    from doorkeeper.rules.config_change import Context, ResourceVerdict

_SETS = re.compile(r"(?:Set\(|\[)([^\[\]()]*(?:\([^()]*\)[^\[\]()]*)*)(?:\)|\])")


def replay(case: Case) -> tuple[tuple[Answer, ...], ...]:
    """The rulebook's answers to each request of a case."""
    return tuple(
        tuple((int(verdict.code), _without_places(verdict)) for verdict in verdicts) for verdicts in verdicts_on(case)
    )


def verdicts_on(case: Case) -> Iterator[list[ResourceVerdict]]:
    """The rulebook's verdicts on each request of a case; what is accepted is stored for the next."""
    configuration = CONFIGURATIONS[case.configuration]
    dynamic = configuration.dynamic
    if case.poison is not None:
        poison = case.poison
        stored = {entry.name: entry.value for entry in _filled(poison).entries if entry.value is not None}
        resource = ResourceType(poison.type), poison.name
        dynamic[resource] = {**dynamic.get(resource, {}), **stored}
    for request in case.requests:
        context = context_of(configuration, dynamic) if len(case.requests) > 1 else _context(case.configuration)
        verdicts = judge_changes([_filled(change) for change in request], context)
        yield verdicts
        for verdict in verdicts:
            if case.is_sequence and verdict.proposed is not None:
                dynamic[ResourceType(verdict.type), verdict.name] = verdict.proposed


@cache
def _context(configuration: str) -> Context:
    return context_of(CONFIGURATIONS[configuration])


def _filled(change: ResourceChange) -> ResourceChange:
    entries = tuple(
        ConfigEntry(each.name, each.operation, None if each.value is None else fill(each.value, PLACES))
        for each in change.entries
    )
    return ResourceChange(change.type, change.name, entries, legacy=change.legacy)


def _without_places(verdict: ResourceVerdict) -> str | None:
    message = verdict.message
    if message is None:
        return None
    for place, thing in PLACES.items():
        message = message.replace(thing, place)
    return message


def normalise(message: str | None) -> str | None:
    """A message with its sets in one order: Java's and Scala's sets have none."""
    if message is None:
        return None
    return _SETS.sub(lambda match: "{" + ", ".join(sorted(match[1].split(", "))) + "}", message)
