"""Who sent what would be refused: principals, clients and software, counted over all buckets.

A name's findings are in as many buckets as it has values, and there may be more names than fit a memory: so names have
buckets of their own, which one task adds up after another, keeping the worst.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from doorkeeper.audit.facts import Worst, iso, weight_of
from doorkeeper.audit.merging import Row, greatest
from doorkeeper.audit.packing import bucket_of
from doorkeeper.audit.summary import Owner, Weight

PRINCIPALS: Final = "principals"
CLIENTS: Final = "clients"
SOFTWARE: Final = "software"


class Named(NamedTuple):
    """A name, and as what it was seen."""

    facet: str
    name: str


class Share(msgspec.Struct, array_like=True):
    """What a name has sent, as far as one bucket knows; all of it can be added up, for no value is in two buckets."""

    facet: str
    name: str
    values: int
    count: int
    kinds: list[str]
    last_seen: int | None


def clients_of(kind: str, weight: Weight) -> str:
    """The facet whose names are the clients that sent a kind."""
    return f"{kind} {weight.value}"


def shares_of(findings: Iterable[Row], enforced: frozenset[str], buckets: int) -> dict[int, list[Share]]:
    """The names in a bucket's findings, by their own buckets."""
    seen: dict[Named, _Seen] = {}
    for row in findings:
        weight = weight_of(row, enforced)
        for named in _names(row, weight):
            seen.setdefault(named, _Seen()).add(row)
    shares: dict[int, list[Share]] = {}
    for named, one in seen.items():
        share = Share(*named, len(one.values), one.count, sorted(one.kinds), one.last_seen)
        shares.setdefault(bucket_of(named.name, buckets), []).append(share)
    return shares


def _names(row: Row, weight: Weight) -> Iterable[Named]:
    if row["client_id"] is not None:
        yield Named(clients_of(row["kind"], weight), row["client_id"])
    if weight is Weight.REFUSED:
        software = " ".join(part for part in (row["software_name"], row["software_version"]) if part is not None)
        yield Named(PRINCIPALS, row["principal"] or "")
        yield Named(CLIENTS, row["client_id"] or "")
        yield Named(SOFTWARE, software)


class _Seen:
    __slots__ = ("count", "kinds", "last_seen", "values")

    def __init__(self) -> None:
        self.values: set[tuple[str, str, str]] = set()
        self.count = 0
        self.kinds: set[str] = set()
        self.last_seen: int | None = None

    def add(self, row: Row) -> None:
        self.values.add((row["kind"], row["value"], row["value_hex"] or ""))
        self.count += row["count"]
        self.kinds.add(row["kind"])
        self.last_seen = greatest(self.last_seen, row["last_seen"])


class Owners:
    """Adds up the shares of one bucket of names after the other."""

    def __init__(self) -> None:
        self._bucket: int | None = None
        self._shares: dict[Named, Share] = {}
        self._worst: dict[str, Worst[Owner]] = {}

    def add(self, bucket: int, shares: Iterable[Share]) -> None:
        """Take in some shares; those of one bucket come one after the other."""
        if bucket != self._bucket:
            self._close()
            self._bucket = bucket
        for share in shares:
            known = self._shares.setdefault(Named(share.facet, share.name), share)
            if known is not share:
                known.values += share.values
                known.count += share.count
                known.kinds = sorted({*known.kinds, *share.kinds})
                known.last_seen = greatest(known.last_seen, share.last_seen)

    def result(self) -> dict[str, Worst[Owner]]:
        """The worst names by facet."""
        self._close()
        return self._worst

    def _close(self) -> None:
        by_facet: dict[str, list[Share]] = {}
        for share in self._shares.values():
            by_facet.setdefault(share.facet, []).append(share)
        for facet, shares in by_facet.items():
            self._worst.setdefault(facet, Worst()).add(map(_owner, shares), lambda one: (-one.count, one.name))
        self._shares = {}


def _owner(share: Share) -> Owner:
    return Owner(
        name=share.name,
        values=share.values,
        count=share.count,
        kinds=tuple(share.kinds),
        last_seen=iso(share.last_seen),
    )
