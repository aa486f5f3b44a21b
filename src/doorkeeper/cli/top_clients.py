"""The clients of a cluster as its metrics port tells of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

OBJECT: Final = re.compile(r"(?P<domain>[^:]*):type=(?P<kind>[^,]*)(?P<tags>.*)", re.DOTALL)
TAG: Final = re.compile(r',([\w-]+)=("(?:\\.|[^"\\])*"|[^,]*)', re.DOTALL)
QUOTAS: Final = ("Produce", "Fetch", "Request", "ControllerMutation")
SORTS: Final = ("bytes", "requests", "throttle", "connections", "name")

Objects = Mapping[str, Mapping[str, Any]]
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit, and where it is set."""

    limit: float
    entity: str


@dataclass(frozen=True, slots=True)
class Client:
    """One client, under the names that metrics have; totals since it was first seen."""

    node: str
    user: str
    client_id: str
    requests: float
    bytes_in: float
    bytes_out: float
    throttles: float
    throttle_time_ms: float
    connections: float
    quotas: Mapping[str, Quota] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.node, self.user, self.client_id


def parse_tags(name: str) -> tuple[str, str, dict[str, str]]:
    """Domain, type and tags of an object name; quoted values keep their quotes."""
    match = OBJECT.fullmatch(name)
    if match is None:
        return "", "", {}
    return match["domain"], match["kind"], dict(TAG.findall(match["tags"]))


def read_clients(objects: Objects) -> list[Client]:
    """All clients in a document of `/kafka-metrics`."""
    found = []
    for name, attributes in objects.items():
        domain, kind, tags = parse_tags(name)
        if (domain, kind) != ("doorkeeper", "Client"):
            continue
        quotas = {
            one: Quota(attributes[f"{one}-quota"], attributes[f"{one}-quota-entity"])
            for one in QUOTAS
            if f"{one}-quota" in attributes
        }
        found.append(
            Client(
                node=tags.get("node", ""),
                user=tags.get("user", ""),
                client_id=tags.get("client-id", ""),
                requests=attributes["requests"],
                bytes_in=attributes["bytes-in"],
                bytes_out=attributes["bytes-out"],
                throttles=attributes["throttles"],
                throttle_time_ms=attributes["throttle-time-ms"],
                connections=attributes["connections"],
                quotas=quotas,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """A client and how much it does per second."""

    client: Client
    in_per_second: float
    out_per_second: float
    requests_per_second: float
    throttled_share: float
    """Of the time, how much it was told to wait."""


def rows(now: Iterable[Client], before: Mapping[Key, Client], seconds: float, sort: str) -> list[Row]:
    """Rates since the last look; who was not there then has none yet. The busiest come first."""
    found = []
    for one in now:
        last = before.get(one.key, one)
        found.append(
            Row(
                one,
                _rate(one.bytes_in, last.bytes_in, seconds),
                _rate(one.bytes_out, last.bytes_out, seconds),
                _rate(one.requests, last.requests, seconds),
                _rate(one.throttle_time_ms, last.throttle_time_ms, seconds) / 1000,
            )
        )
    return sorted(found, key=lambda row: _order(row, sort))


def _rate(now: float, before: float, seconds: float) -> float:
    # A counter that went back belongs to a cluster that was started anew.
    return max(0.0, now - before) / seconds if seconds > 0 else 0.0


def _order(row: Row, sort: str) -> tuple[float, float, str]:
    one = row.client
    by: dict[str, tuple[float, float]] = {
        "bytes": (row.in_per_second + row.out_per_second, one.bytes_in + one.bytes_out),
        "requests": (row.requests_per_second, one.requests),
        "throttle": (row.throttled_share, one.throttle_time_ms),
        "connections": (one.connections, 0.0),
        "name": (0.0, 0.0),
    }
    rate, total = by[sort]
    return -rate, -total, one.client_id


def to_json(row: Row) -> dict[str, Any]:
    """A row for `--format json`."""
    document = asdict(row.client)
    return document | {
        "in_per_second": row.in_per_second,
        "out_per_second": row.out_per_second,
        "requests_per_second": row.requests_per_second,
        "throttled_share": row.throttled_share,
    }


def show_bytes(count: float) -> str:
    """`1.2 MB`, in powers of ten as quotas are."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def show_quotas(quotas: Mapping[str, Quota]) -> str:
    """Every limit of a client, and where it is set."""
    units = {"Produce": "/s in", "Fetch": "/s out"}
    shown = []
    for kind, quota in quotas.items():
        if kind in units:
            amount = show_bytes(quota.limit) + units[kind]
        elif kind == "Request":
            amount = f"{quota.limit:g} % of the time"
        else:
            amount = f"{quota.limit:g} mutations/s"
        shown.append(f"{amount} ({quota.entity})")
    return ", ".join(shown)
