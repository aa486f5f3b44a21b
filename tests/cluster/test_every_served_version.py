"""Every API at every version and door that ApiVersions names is answered, in its own shape, without a fault of ours."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.cluster.running import RunningCluster

from doorkeeper.cluster.handlers.table import registry_for
from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.codec import decode_response, encode_request
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

UNKNOWN_SERVER_ERROR = -1
SECONDS = timedelta(seconds=5)
BODIES: dict[int, dict[str, Any]] = {
    0: {"acks": -1, "topic_data": [{"name": "orders", "topic_id": UUID(int=1), "partition_data": [{"records": b""}]}]},
    1: {"topics": [{"topic": "orders", "topic_id": UUID(int=1), "partitions": [{"partition_max_bytes": 1000}]}]},
    2: {"replica_id": -1, "topics": [{"name": "orders", "partitions": [{"timestamp": -1}]}]},
    3: {"topics": [{"name": "orders"}]},
    8: {"group_id": "g", "topics": [{"name": "orders", "topic_id": UUID(int=1), "partitions": [{}]}]},
    9: {"group_id": "g", "groups": [{"group_id": "g", "topics": None}], "topics": [{"name": "orders"}]},
    10: {"key": "g", "coordinator_keys": ["g", "h"]},
    11: {"group_id": "g", "session_timeout": SECONDS, "protocol_type": "consumer", "protocols": [{"name": "range"}]},
    12: {"group_id": "g", "member_id": "m"},
    13: {"group_id": "g", "member_id": "m", "members": [{"member_id": "m"}]},
    14: {"group_id": "g", "member_id": "m"},
    15: {"groups": ["g"]},
    16: {},
    18: {"client_software_name": "test", "client_software_version": "1"},
    19: {"topics": [{"name": "made", "num_partitions": 1, "replication_factor": 1}], "timeout": SECONDS},
    20: {"topics": [{"name": "absent"}], "topic_names": ["absent"], "timeout": SECONDS},
    21: {"topics": [{"name": "orders", "partitions": [{"offset": -1}]}]},
    22: {"transactional_id": None, "producer_id": -1, "producer_epoch": -1},
    23: {"topics": [{"topic": "orders", "partitions": [{"leader_epoch": 0}]}]},
    24: {
        "v3_and_below_transactional_id": "t",
        "v3_and_below_topics": [{"name": "orders", "partitions": [0]}],
        "transactions": [{"transactional_id": "t", "topics": [{"name": "orders", "partitions": [0]}]}],
    },
    25: {"transactional_id": "t", "group_id": "g"},
    26: {"transactional_id": "t"},
    27: {"markers": [{"producer_id": 5, "topics": [{"name": "orders", "partition_indexes": [0]}]}]},
    28: {"transactional_id": "t", "group_id": "g", "topics": [{"name": "orders", "partitions": [{}]}]},
    29: {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1},
    30: {
        "creations": [
            {
                "resource_type": 2,
                "resource_name": "orders",
                "resource_pattern_type": 3,
                "principal": "User:a",
                "host": "*",
                "operation": 3,
                "permission_type": 3,
            }
        ]
    },
    31: {
        "filters": [
            {"resource_type_filter": 2, "pattern_type_filter": 3, "operation": 3, "permission_type": 3},
        ]
    },
    32: {"resources": [{"resource_type": 4, "resource_name": "1", "configuration_keys": None}]},
    33: {"resources": [{"resource_type": 32, "resource_name": "g", "configs": []}]},
    35: {"topics": None},
    37: {"topics": [{"name": "orders", "count": 5, "assignments": None}], "timeout": SECONDS},
    42: {"groups_names": ["g"]},
    43: {"topic_partitions": [{"topic": "orders", "partitions": [0]}]},
    45: {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "replicas": [1]}]}]},
    44: {"resources": [{"resource_type": 32, "resource_name": "g", "configs": []}]},
    47: {"group_id": "g", "topics": [{"name": "orders", "partitions": [{}]}]},
    48: {"components": [{"entity_type": "client-id", "match_type": 2, "match": None}]},
    49: {
        "entries": [
            {
                "entity": [{"entity_type": "client-id", "entity_name": 'a b/c:d*é"\n😀'}],
                "ops": [{"key": "producer_byte_rate", "value": 1024.0, "remove": False}],
            }
        ]
    },
    50: {"users": [{"name": "alice"}]},
    51: {"deletions": [{"name": "nobody", "mechanism": 1}]},
    55: {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
    57: {"feature_updates": [{"feature": "group.version", "max_version_level": 1, "upgrade_type": 1}]},
    60: {"endpoint_type": 1},
    61: {"topics": [{"name": "orders", "partition_indexes": [0]}]},
    64: {"broker_id": 99},
    65: {"transactional_ids": ["t"]},
    66: {"state_filters": ["Ongoing"]},
    68: {"group_id": "g", "member_id": "m", "subscribed_topic_names": ["orders"], "topic_partitions": []},
    69: {"group_ids": ["g"]},
    75: {"topics": [{"name": "orders"}], "response_partition_limit": 10},
}
"""What to ask, with the names of the newest schemas; an API that is not here is asked with nothing but defaults."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data")) as running:
        yield running


def served() -> list[Any]:
    return [
        pytest.param(door, api_key, version, id=f"{door}-{api_name(api_key)}-v{version}")
        for door in Door
        for api_key, (lowest, highest) in registry_for(door, unstable_versions=True).items()
        for version in range(lowest, highest + 1)
    ]


def ask(address: tuple[str, int], api_key: int, version: int) -> Any:
    frame = encode_request(make_request(api_key, version, BODIES.get(api_key, {})), 7, "test")
    with socket.create_connection(address, timeout=20) as connection, connection.makefile("rwb") as stream:
        stream.write(struct.pack(">i", len(frame)) + frame)
        stream.flush()
        (size,) = struct.unpack(">i", stream.read(4))
        return decode_response(api_key, version, stream.read(size))


def codes(message: Any) -> Iterator[int]:
    """Every error code of a message, wherever it stands."""
    for one in fields(message):
        value = getattr(message, one.name)
        if one.name.endswith("error_code"):
            yield value
        for nested in value if isinstance(value, tuple) else (value,):
            if is_dataclass(nested):
                yield from codes(nested)


@pytest.mark.parametrize(("door", "api_key", "version"), served())
def test_is_answered_without_a_fault(cluster: RunningCluster, door: Door, api_key: int, version: int) -> None:
    response = ask(cluster.address(door), api_key, version)
    assert UNKNOWN_SERVER_ERROR not in set(codes(response))
