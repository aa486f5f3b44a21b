"""What a door serves: API keys, version ranges and doors, declared by the handlers themselves.

ApiVersions is computed from here, and a request is let in by the same table, so that nothing is advertised which is
not served.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from doorkeeper.errors import LocalProtocolError
from doorkeeper.rules.fields import identifier_version
from doorkeeper.wire.messages import PRODUCE, api_name, is_known, newest_stable_version

ADVERTISED_FROM: Final[Mapping[int, int]] = MappingProxyType({PRODUCE: 0})
"""Kafka says that it speaks Produce from version 0, because librdkafka derives features from it (KAFKA-18659); the
versions below 3 are refused all the same."""


class Door(StrEnum):
    """Which kind of listener an API is served on (`listeners` in Kafka's schemas)."""

    BROKER = "broker"
    CONTROLLER = "controller"


class VersionRange(NamedTuple):
    """Lowest and highest version, both included."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Served:
    """One API as one handler serves it."""

    api_key: int
    lowest: int
    highest: int
    """Where it is the newest that Kafka offers, the proposal's version comes on top of it: see `offered`."""
    doors: frozenset[Door]

    def __post_init__(self) -> None:
        if not 0 <= self.lowest <= self.highest:
            raise LocalProtocolError(f"{api_name(self.api_key)}: no versions from {self.lowest} to {self.highest}")
        for version in (self.lowest, self.highest):
            if not is_known(self.api_key, version):
                raise LocalProtocolError(f"there is no version {version} of {api_name(self.api_key)}")

    def offered(self, *, unstable_versions: bool) -> VersionRange:
        """The versions that clients are told of.

        Whoever serves all that Kafka 4.3.1 offers serves KIP-1233's version too, which has the same fields (and for
        InitProducerId the one between them, which Kafka knows and does not offer).
        """
        newest = newest_stable_version(self.api_key)
        if not unstable_versions:
            return VersionRange(self.lowest, min(self.highest, newest))
        added = identifier_version(self.api_key) if self.highest >= newest else None
        return VersionRange(self.lowest, max(self.highest, added or 0))


class Registry(Mapping[int, VersionRange]):
    """The APIs of one door: API key to versions, in the order of keys."""

    def __init__(self, served: Iterable[Served], door: Door, *, unstable_versions: bool = True) -> None:
        """:param unstable_versions: Kafka's `unstable.api.versions.enable`; false withdraws whatever Kafka 4.3.1 does
        not offer by itself: the versions that the proposals add, and InitProducerId's sixth."""
        self._ranges: dict[int, VersionRange] = {}
        for one in sorted(served, key=lambda one: one.api_key):
            if door not in one.doors:
                continue
            if one.api_key in self._ranges:
                raise LocalProtocolError(f"{api_name(one.api_key)} is declared twice for the {door} door")
            offered = one.offered(unstable_versions=unstable_versions)
            if offered.highest >= offered.lowest:
                self._ranges[one.api_key] = offered

    def __getitem__(self, api_key: int) -> VersionRange:
        return self._ranges[api_key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def serves(self, api_key: int, version: int) -> bool:
        """Whether a request of that version is let in."""
        versions = self._ranges.get(api_key)
        return versions is not None and versions[0] <= version <= versions[1]

    def advertised(self) -> Iterator[tuple[int, VersionRange]]:
        """What ApiVersions says, by API key."""
        for api_key, versions in self._ranges.items():
            lowest = ADVERTISED_FROM.get(api_key, versions.lowest)
            yield api_key, VersionRange(lowest, versions.highest)
