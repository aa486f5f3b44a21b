"""The page `docs/reference/protocol.md`, made from the handlers: `python -m doorkeeper.cluster.protocol_reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from doorkeeper.cluster.handlers.table import registry_for
from doorkeeper.rules.fields import Api, load_apis
from doorkeeper.wire.registry import Door, Registry

_SHARE: Final = "of share groups (KIP-932); the embedded cluster has classic and consumer groups"
_STREAMS: Final = "of streams groups (KIP-1071); Kafka Streams goes by the classic protocol as well"
_QUORUM: Final = "there is one controller: nobody to elect, to add or to remove"
_TELEMETRY: Final = (
    "as a Kafka without a metrics reporter that takes clients' telemetry (KIP-714), which does not offer it either; "
    "subscriptions are stored and described all the same"
)
NOT_SERVED: Final[Mapping[int, str]] = {
    52: _QUORUM,
    53: _QUORUM,
    54: _QUORUM,
    56: "one replica deep, the in-sync replicas of a partition change only when its broker comes or goes",
    70: "the one controller writes its registration into its own log",
    71: _TELEMETRY,
    72: _TELEMETRY,
    73: "a partition's directory is its broker's own business",
    **dict.fromkeys((76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92), _SHARE),
    80: _QUORUM,
    81: _QUORUM,
    82: _QUORUM,
    88: _STREAMS,
    89: _STREAMS,
}
"""Why an API of Kafka 4.3.1 is not served, by key."""
NOTES: Final[Mapping[int, str]] = {
    0: "advertised from 0, as by Kafka, for librdkafka's sake; 0-2 are refused",
    34: "grants the log directory that a partition has; refuses another",
    38: "refused: delegation tokens are off, as in a Kafka without `delegation.token.secret.key`",
    39: "as CreateDelegationToken",
    40: "as CreateDelegationToken",
    41: "as CreateDelegationToken",
    43: "one replica deep, the leader is the preferred one already",
    45: "grants the replica that a partition has; refuses to move it",
    46: "there are never any",
    62: "5 and 6 carry what the proposals add to a registration",
}
"""What else to know about an API that is served, by key."""
_INTRODUCTION: Final = """\
# What the embedded cluster speaks

<!-- Made by `python -m doorkeeper.cluster.protocol_reference`; do not edit. -->

Every API of Apache Kafka 4.3.1: its versions there, the versions served at the broker's and at the controller's door of
the embedded cluster, or the reason why it is not served. A version behind a + is one that the proposals add (KIP-1233;
the same fields, a new error code); `unstable.api.versions.enable=false` withdraws it.
`kafka-broker-api-versions` shows the same of a running cluster, for what it serves is computed from the same table.

"""
_HEADER: Final = ("key", "API", "Kafka 4.3.1", "broker", "controller", "note")


class Row(NamedTuple):
    """One line of the page."""

    api: Api
    broker: str
    controller: str
    note: str


def rows() -> Iterator[Row]:
    """Every API of Kafka 4.3.1, by key."""
    doors = {
        door: (registry_for(door, unstable_versions=False), registry_for(door, unstable_versions=True)) for door in Door
    }
    for key, api in sorted(load_apis().items()):
        broker, controller = (_versions(api, door, *doors[door]) for door in (Door.BROKER, Door.CONTROLLER))
        is_served = any(key in all_of_them for _, all_of_them in doors.values())
        yield Row(api, broker, controller, NOTES.get(key, "") if is_served else f"not served: {NOT_SERVED[key]}")


def _versions(api: Api, door: Door, stable: Registry, all_of_them: Registry) -> str:
    if door not in api.listeners:
        return ""
    if api.key not in all_of_them:
        return "-"
    lowest, highest = stable[api.key]
    added = [str(version) for version in range(highest + 1, all_of_them[api.key].highest + 1)]
    return " + ".join([_span(lowest, highest), *added])


def _span(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest}-{highest}"


def to_markdown() -> str:
    """The whole page."""
    lines = ["| " + " | ".join(_HEADER) + " |", "|" + " --- |" * len(_HEADER), *map(_line, rows())]
    return _INTRODUCTION + "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    api = row.api
    offered = _span(api.first_version, api.stable_version)
    cells = (str(api.key), api.name, offered, row.broker, row.controller, row.note)
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(to_markdown())
