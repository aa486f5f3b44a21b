"""Metrics as they are told: values under an object name of Kafka's, and the same for Prometheus.

`kafka.server:type=Produce,client-id=a%20b` with `byte-rate` is `kafka_server_produce_byte_rate{client_id="a%20b"}`.
A tag without a value is left out of the object name, as Kafka's JmxReporter does, and an empty label for Prometheus.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from doorkeeper.metering.exposition import Family
from doorkeeper.metering.histogram import Histogram

NAME: Final = "name"
"""The tag that is part of a metric's name, in what Kafka calls Yammer metrics."""
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")

Tags = tuple[tuple[str, str], ...]


class Buckets(NamedTuple):
    """A histogram for Prometheus, where JSON has percentiles."""

    name: str
    histogram: Histogram
    unit: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One object: some attributes under one name."""

    domain: str
    kind: str
    tags: Tags
    attributes: Mapping[str, float | str]
    """Texts are for people, and not told to Prometheus."""
    counters: frozenset[str] = field(default_factory=frozenset)
    """Attributes that only grow."""
    buckets: Buckets | None = None
    """Told to Prometheus in place of the attributes."""

    @property
    def object_name(self) -> str:
        tags = "".join(f",{name}={value}" for name, value in self.tags if value)
        return f"{self.domain}:type={self.kind}{tags}"


def snake(text: str) -> str:
    """`kafka.server`, `RequestsPerSec` and `byte-rate` as Prometheus has names."""
    return _WORDS.sub("_", text).lower()


def families(measured: Iterable[Measured]) -> Iterator[Family]:
    """All samples, gathered by metric."""
    found: dict[str, Family] = {}
    for one in measured:
        _add(found, one)
    return iter(found.values())


def _add(found: dict[str, Family], one: Measured) -> None:
    tags = dict(one.tags)
    lead = f"{snake(one.domain)}_{snake(one.kind)}"
    if NAME in tags:
        lead += f"_{snake(tags.pop(NAME))}"
    labels = [(snake(name), value) for name, value in tags.items()]
    if one.buckets is not None:
        name = f"{snake(one.domain)}_{snake(one.kind)}_{one.buckets.name}"
        family = found.setdefault(name, Family(name, "histogram", f"{one.domain} {one.kind}"))
        family.add_histogram(labels, one.buckets.histogram, one.buckets.unit)
        return
    for attribute, value in one.attributes.items():
        if isinstance(value, str):
            continue
        is_counter = attribute in one.counters
        name = lead if attribute in ("Count", "Value") else f"{lead}_{snake(attribute)}"
        family = found.get(name) or Family(
            name, "counter" if is_counter else "gauge", f"{attribute} of {one.domain} {one.kind}"
        )
        found[name] = family
        family.add(labels, value)


def by_object_name(measured: Iterable[Measured]) -> dict[str, dict[str, float | str]]:
    """Attributes by object name; an object that is told in parts is put together."""
    found: dict[str, dict[str, float | str]] = {}
    for one in measured:
        found.setdefault(one.object_name, {}).update(one.attributes)
    return found
