"""A real Kafka and an embedded cluster side by side, and their answers made comparable."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import asdict
from itertools import product
from typing import Any, Final

from kio.schema.errors import ErrorCode
from tests.cluster.records import TIME, ask, batch, create_topic
from tests.equivalence.control_plane_cases import EVERYTHING, Values
from tests.equivalence.data_plane_cases import GROUP, produced
from tests.kafka.requests import Connection

from doorkeeper.cluster.messages import make_request
from doorkeeper.wire.messages import is_flexible
from doorkeeper.wire.registry import Door

CONFIGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "connections.max.idle.ms": "86400000",  # both are kept for a whole run, which may come to another file in between
}
PLACES: Final = frozenset(
    (
        "node_id",
        "host",
        "port",
        "leader_epoch",
        "session_id",
        "throttle_time",
        "member_id",
        "log_append_time",
        "batch_index_error_message",
        "topic_id",
        "cluster_id",
        "controller_id",
        "producer_id",
        "finalized_features_epoch",
    )
)
"""Fields that name a place or a moment: they differ as two Kafkas do."""
UNREADABLE: Final = frozenset((38, 39, 40))
"""Kafka answers with times before 1970, which kio does not read: only the error code, which is first, is compared."""
CLOSED: Final = "no answer, or a closed connection"
UNKNOWN_MEMBER: Final = 25
WAKING_SECONDS: Final = 60


class Side:
    """One door of one of both; a connection that was closed is opened again."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self.connection = Connection(address)

    def close(self) -> None:
        self.connection.close()

    def answer(self, api_key: int, version: int, values: Values, differs: Collection[str] = ()) -> Any:
        """What it says, without what may differ."""
        try:
            if api_key in UNREADABLE:
                return self._code(api_key, version, values)
            message = ask(self.connection, api_key, version, **values)
        except OSError:  # a late answer would be taken for the next one's
            self.connection.close()
            self.connection = Connection(self._address)
            return CLOSED
        return None if EVERYTHING in differs else masked(asdict(message), PLACES.union(differs))

    def _code(self, api_key: int, version: int, values: Values) -> int:
        frame = self.connection.exchange(make_request(api_key, version, values))
        start = 5 if is_flexible(api_key, version) else 4
        return int.from_bytes(frame[start : start + 2], "big", signed=True)


Both = dict[Door, tuple[Side, Side]]
"""Kafka's side and ours, at each door."""


def masked(value: Any, hidden: Collection[str]) -> Any:
    """The value without hidden fields; elements of arrays sorted, for Kafka's often come from a hash."""
    if isinstance(value, dict):
        return {key: masked(one, hidden) for key, one in value.items() if key not in hidden}
    if isinstance(value, tuple | list):
        return sorted((masked(one, hidden) for one in value), key=repr)
    return value


def prepare(connection: Connection) -> None:
    """What the questions are about, and a coordinator that has woken up."""
    for name in ("three", "sink", "tuned"):
        create_topic(connection, name)
    create_topic(connection, "compacted", cleanup_policy="compact")
    for kind, door, version in product(("doomed", "grown"), Door, range(8)):
        create_topic(connection, f"{kind}-{door}-v{version}")
    for number in range(3):
        request = produced(batch(b"%d" % number, time=TIME + number), name="three")
        wait_for(0, lambda: ask(connection, 0, 9, **request).responses[0].partition_responses[0].error_code)  # noqa: B023
    wait_for(0, lambda: ask(connection, 10, 4, key_type=0, coordinator_keys=["g"]).coordinators[0].error_code)
    wait_for(UNKNOWN_MEMBER, lambda: ask(connection, 12, 4, **GROUP).error_code)
    wait_for(0, lambda: ask(connection, 22, 1, transactional_id=None).error_code)
    last = {"topics": [{"name": "grown-controller-v7"}], "allow_auto_topic_creation": False}
    wait_for(0, lambda: ask(connection, 3, 9, **last).topics[0].error_code)


def wait_for(code: int, question: Callable[[], int]) -> None:
    """Ask until it is answered as it will be from then on."""
    deadline = time.monotonic() + WAKING_SECONDS
    while (answered := question()) != code:
        assert time.monotonic() < deadline, ErrorCode(answered)
