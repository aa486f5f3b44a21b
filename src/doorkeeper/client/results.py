"""What a call about many things returns: a value or an error for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.client.errors import KafkaError

K = TypeVar("K")
V = TypeVar("V")


class Results(Generic[K, V]):
    """Verdicts belong to items: `results[key]` is the item's value, or raises the item's own error."""

    def __init__(self, outcomes: Iterable[tuple[K, V, KafkaError | None]]) -> None:
        self.values: dict[K, V] = {}
        """Of the items that went well."""
        self.errors: dict[K, KafkaError] = {}
        """Of the items that did not."""
        for key, value, error in outcomes:
            if error is None:
                self.values[key] = value
            else:
                self.errors[key] = error

    def __getitem__(self, key: K) -> V:
        if key in self.errors:
            raise self.errors[key]
        return self.values[key]

    def __len__(self) -> int:
        return len(self.values) + len(self.errors)

    def __iter__(self) -> Iterator[K]:
        yield from self.values
        yield from self.errors

    def __repr__(self) -> str:
        return f"Results({len(self.values)} well, {len(self.errors)} failed)"

    def require(self) -> dict[K, V]:
        """All values. Raises the first error if there is any; the others are its notes."""
        for key, error in self.errors.items():
            for other, reason in self.errors.items():
                if other != key:
                    error.add_note(f"also failed: {other}: {reason}")
            raise error
        return self.values
