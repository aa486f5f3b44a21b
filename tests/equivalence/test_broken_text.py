"""Strings that are no UTF-8, sent to a real Kafka and to us: in the header, and wherever a body has one."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

import pytest
from tests.cluster.records import batch
from tests.equivalence.both import PLACES, Both, masked
from tests.equivalence.data_plane_cases import GROUP, SECONDS, listing, produced, topics
from tests.kafka.requests import Connection

from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.messages import api_name
from doorkeeper.wire.registry import Door

pytestmark = pytest.mark.kafka

MARK: Final = "~~~"
BROKEN: Final = (b"\xed\xa0\x80", b"\xff\xfe\xff", b"a\xe2\x82")
"""As long as the mark: a surrogate, bytes that begin nothing, a character that is cut off."""
NAMED: Final = {"resource_type": 2, "resource_name": MARK, "configuration_keys": None, "configs": []}
CHANGE: Final = {"name": "retention.ms", "config_operation": 0, "value": MARK}
SESSION: Final = {"session_timeout": timedelta(seconds=10), "rebalance_timeout": SECONDS}
CASES: Final[list[tuple[int, tuple[int, ...], dict[str, Any]]]] = [
    (0, (3, 9, 12), produced(batch(b"a"), name=MARK)),
    (2, (1, 8), listing(-1, MARK)),
    (3, (4, 9, 12), {"topics": [{"name": MARK, "topic_id": None}], "allow_auto_topic_creation": True}),
    (8, (2, 9), {**GROUP, "group_id": MARK, **topics({"partition_index": 0, "committed_offset": 5})}),
    (9, (1, 7), {"group_id": MARK, "topics": [{"name": MARK, "partition_indexes": [0]}]}),
    (10, (0, 3), {"key": MARK, "key_type": 0}),
    (10, (4, 6), {"key_type": 0, "coordinator_keys": [MARK, "g"]}),
    (11, (0, 5, 9), {"group_id": MARK, "member_id": MARK, "protocol_type": MARK, "protocols": [], **SESSION}),
    (12, (0, 4), {**GROUP, "group_id": MARK, "member_id": MARK}),
    (15, (0, 5), {"groups": [MARK]}),
    (16, (4, 5), {"states_filter": [MARK]}),
    (18, (3, 4), {"client_software_name": MARK, "client_software_version": MARK}),
    (19, (2, 7), {"topics": [{"name": MARK, "num_partitions": 1, "replication_factor": 1}], "timeout": SECONDS}),
    (20, (1, 5), {"topic_names": [MARK], "timeout": SECONDS}),
    (32, (1, 4), {"resources": [NAMED]}),
    (42, (0, 2), {"groups_names": [MARK]}),
    (44, (0, 1), {"resources": [NAMED | {"resource_name": "tuned", "configs": [CHANGE]}], "validate_only": False}),
]


class Speaker:
    """Sends a request with broken strings over a connection of its own."""

    def __init__(self, connection: Connection) -> None:
        self._address = connection.address

    def answer(self, api_key: int, version: int, values: dict[str, Any], broken: bytes, client_id: str) -> Any:
        request = make_request(api_key, version, values)
        with Connection(self._address, client_id) as connection:
            connection.send_bytes(connection.frame(request).replace(MARK.encode(), broken))
            return masked(asdict(connection.receive(request)), PLACES)


@pytest.mark.parametrize("broken", BROKEN, ids=bytes.hex)
@pytest.mark.parametrize(
    ("api_key", "version", "values"),
    [
        pytest.param(api_key, version, values, id=f"{api_name(api_key)}-v{version}")
        for api_key, versions, values in CASES
        for version in versions
    ],
)
def test_answers_alike(both: Both, api_key: int, version: int, values: dict[str, Any], broken: bytes) -> None:
    theirs, ours = (
        Speaker(side.connection).answer(api_key, version, values, broken, client_id="test")
        for side in both[Door.BROKER]
    )
    assert ours == theirs


@pytest.mark.parametrize("broken", BROKEN, ids=bytes.hex)
@pytest.mark.parametrize("version", [0, 4])
def test_a_client_id_of_any_bytes_is_served(both: Both, version: int, broken: bytes) -> None:
    values = {**GROUP, "group_id": "g"}
    theirs, ours = (
        Speaker(side.connection).answer(12, version, values, broken, client_id=MARK) for side in both[Door.BROKER]
    )
    assert ours == theirs
