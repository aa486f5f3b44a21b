"""The whole corpus: what is asked of Kafka under each static configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.equivalence import generated, written
from tests.equivalence.random_cases import random_cases, walk
from tests.equivalence.sequences import poisoned, sequences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.equivalence.cases import Case


def cases_of(configuration: str) -> list[Case]:
    """Every case of one configuration, once, in a fixed order."""
    return list({case.key(): case for case in _cases(configuration)}.values())


def _cases(configuration: str) -> Iterator[Case]:
    if configuration == "plain":
        yield from written.once()
        yield from generated.broker_cases()
        yield from generated.stored_cases()
    else:
        yield from generated.bounds_cases(configuration)
    yield from written.everywhere(configuration)
    yield from random_cases(configuration)
    yield from sequences(configuration)
    yield from poisoned(configuration)
    yield walk(configuration)
