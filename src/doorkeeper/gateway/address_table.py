"""Which fields of responses carry a node's address: data, with a test that walks all schemas.

The paths are kio's. A row names the address's node, so that every address can be given the gateway's own instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple


class NodeKind(StrEnum):
    """Whose address it is: a node may have one as a broker and one as a controller."""

    BROKER = "broker"
    CONTROLLER = "controller"


class Place(StrEnum):
    """Where in the response the addresses stand, which says how they are found."""

    ANYWHERE = "anywhere"
    """The response is gathered and searched from its beginning."""
    LAST = "last"
    """An array at the end of a response that may be long: what is before it passes as it comes."""
    LAST_TAG = "last tag"
    """The same, in the tagged fields of the root."""
    DECODED = "decoded"
    """Rare, small, tagged: decoded and encoded again."""


class AddressRow(NamedTuple):
    """One array or struct of one response that holds addresses."""

    array: str
    """The path of what holds the address; empty for the root itself."""
    node_id: str
    """The path of the node's id."""
    place: Place
    first_version: int = 0
    last_version: int = 32767
    kind: NodeKind | None = None
    """None: that of the door, or what the response itself says (`endpoint_type`)."""


_ENDPOINTS: Final = "node_endpoints"
_NODE_ENDPOINTS: Final = AddressRow(_ENDPOINTS, f"{_ENDPOINTS}.node_id", Place.LAST_TAG)
_SHARED: Final = AddressRow(_ENDPOINTS, f"{_ENDPOINTS}.node_id", Place.LAST, kind=NodeKind.BROKER)
_VOTERS: Final = AddressRow(_ENDPOINTS, f"{_ENDPOINTS}.node_id", Place.DECODED, 1, kind=NodeKind.CONTROLLER)

ADDRESSES: Final[Mapping[int, tuple[AddressRow, ...]]] = MappingProxyType(
    {
        0: (_NODE_ENDPOINTS._replace(first_version=10, kind=NodeKind.BROKER),),  # Produce (KIP-951)
        1: (_NODE_ENDPOINTS._replace(first_version=16),),  # Fetch (KIP-951); controllers fetch metadata with it
        3: (AddressRow("brokers", "brokers.node_id", Place.ANYWHERE, kind=NodeKind.BROKER),),  # Metadata
        10: (  # FindCoordinator
            AddressRow("", "node_id", Place.ANYWHERE, 0, 3, NodeKind.BROKER),
            AddressRow("coordinators", "coordinators.node_id", Place.ANYWHERE, 4, kind=NodeKind.BROKER),
        ),
        52: (_VOTERS,),  # Vote
        53: (_VOTERS,),  # BeginQuorumEpoch
        54: (_VOTERS,),  # EndQuorumEpoch
        55: (AddressRow("nodes.listeners", "nodes.node_id", Place.ANYWHERE, 2, kind=NodeKind.CONTROLLER),),
        59: (_VOTERS,),  # FetchSnapshot
        60: (AddressRow("brokers", "brokers.broker_id", Place.ANYWHERE),),  # DescribeCluster
        78: (_SHARED,),  # ShareFetch
        79: (_SHARED,),  # ShareAcknowledge
        82: (  # UpdateRaftVoter
            AddressRow("current_leader", "current_leader.leader_id", Place.DECODED, kind=NodeKind.CONTROLLER),
        ),
    }
)
"""API key to its rows; at most one row counts for a version."""

NO_ADDRESSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "client_host": "where a group member connects from, as the broker sees it",
        "acls.host": "a name in an ACL",
        "matching_acls.host": "a name in an ACL",
        "user_endpoint.host": "where a Kafka Streams application serves its own queries",
        "user_endpoint.port": "where a Kafka Streams application serves its own queries",
    }
)
"""Ends of paths that look like addresses, and why they are none."""


def address_row(api_key: int, version: int) -> AddressRow | None:
    """The row that counts for a version of an API."""
    for row in ADDRESSES.get(api_key, ()):
        if row.first_version <= version <= row.last_version:
            return row
    return None
