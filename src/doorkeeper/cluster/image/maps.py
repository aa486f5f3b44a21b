"""A map and its pending changes, which most deltas are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class MapDelta(Generic[K, V]):
    """Changes to a frozen map: reads see them, `apply` makes the next map and never touches the first.

    A plain dict is copied on apply: 10,000 entries cost about 50 microseconds, once per decision that touches the map.
    """

    __slots__ = ("_base", "changes")

    def __init__(self, base: Mapping[K, V]) -> None:
        self._base = base
        self.changes: dict[K, V | None] = {}
        """New value by key; None means removed."""

    def get(self, key: K) -> V | None:
        return self.changes[key] if key in self.changes else self._base.get(key)

    def put(self, key: K, value: V) -> None:
        self.changes[key] = value

    def remove(self, key: K) -> None:
        if key in self._base:
            self.changes[key] = None
        else:
            self.changes.pop(key, None)

    def __iter__(self) -> Iterator[K]:
        """Keys present after the changes."""
        yield from (key for key in self._base if key not in self.changes)
        yield from (key for key, value in self.changes.items() if value is not None)

    def apply(self) -> Mapping[K, V]:
        if not self.changes:
            return self._base
        after = dict(self._base)
        for key, value in self.changes.items():
            if value is None:
                after.pop(key, None)
            else:
                after[key] = value
        return after
