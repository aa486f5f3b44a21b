"""What both are asked about records and groups: API key, versions, values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from tests.cluster.records import TIME, batch

SECONDS: Final = timedelta(seconds=5)
GROUP = {"group_id": "g", "member_id": "m", "generation_id": 1, "generation_id_or_member_epoch": 1}


def topics(partition: dict[str, Any], name: str = "three") -> dict[str, Any]:
    return {"topics": [{"name": name, "topic": name, "partitions": [partition]}]}


def produced(records: bytes | None, name: str = "sink", index: int = 0, acks: int = -1) -> dict[str, Any]:
    data = [{"name": name, "topic_id": UUID(int=9), "partition_data": [{"index": index, "records": records}]}]
    return {"acks": acks, "timeout": SECONDS, "topic_data": data}


def produced_often(*batches: tuple[str, int, bytes], together: bool = False) -> dict[str, Any]:
    """Batches for partitions of topics, each under its topic's name again, or all under the first one's."""
    parts = [produced(records, name, index) for name, index, records in batches]
    data = [topic for part in parts for topic in part["topic_data"]]
    if together:
        data = [data[0] | {"partition_data": [one for topic in data for one in topic["partition_data"]]}]
    return parts[0] | {"topic_data": data}


def fetching(offset: int, name: str = "three", **values: Any) -> dict[str, Any]:
    one = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1}
    usual = {"max_bytes": 1 << 20, "min_bytes": 1, "session_epoch": -1, "replica_id": -1}
    return {"topics": [{"topic": name, "topic_id": UUID(int=9), "partitions": [one]}], **usual, **values}


def listing(timestamp: int, name: str = "three") -> dict[str, Any]:
    one = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
    return {"replica_id": -1, **topics(one, name)}


BY_ID: Final = [{"topic_id": UUID(int=9), "partition_indexes": [0]}]
BROKEN: Final = batch(b"a")[:-1] + b"\xff"
CASES: Final[list[tuple[int, range, dict[str, Any]]]] = [
    (0, range(3, 14), produced(batch(b"a"))),
    (0, range(3, 14), produced(batch(b"a") + batch(b"b"))),
    (0, range(3, 14), produced(BROKEN)),
    (0, range(3, 14), produced(batch(b"x" * 1_100_000))),
    (0, range(3, 14), produced(batch(b"a", time=TIME * 2))),
    # Null records to a partition that is there are not asked for: Kafka fails at them, and never answers.
    (0, range(3, 14), produced(b"")),
    (0, range(3, 14), produced(None, name="missing")),
    (0, range(3, 14), produced(batch(b"a"), name="missing")),
    (0, range(3, 14), produced(batch(b"a"), index=7)),
    (0, range(3, 14), produced(batch(b"a"), acks=5)),
    (0, range(3, 14), produced(batch(b"a", key=None), name="compacted")),
    (0, range(3, 14), produced(batch(b"a", producer_id=5, producer_epoch=0, base_sequence=3))),
    *(
        (0, range(3, 14), produced_often(*batches, together=together))
        for together in (False, True)
        for batches in (
            [("sink", 0, batch(b"first")), ("sink", 0, batch(b"second", b"third"))],
            [("sink", 0, batch(b"first")), ("sink", 7, batch(b"second"))],
            [("sink", 0, BROKEN), ("sink", 0, batch(b"second"))],
            [("sink", 0, batch(b"first")), ("sink", 0, BROKEN)],
            [("sink", 0, batch(b"first") + batch(b"second")), ("sink", 0, batch(b"third"))],
            [("sink", 0, batch(b"first")), ("sink", 0, batch(b"second") + batch(b"third"))],
            [("missing", 0, batch(b"first")), ("missing", 0, batch(b"second"))],
        )
    ),
    (1, range(4, 19), fetching(0)),
    (1, range(4, 19), fetching(2)),
    (1, range(4, 19), fetching(0, isolation_level=1)),
    (1, range(4, 19), fetching(3)),
    (1, range(4, 19), fetching(9)),
    (1, range(4, 19), fetching(0, name="missing")),
    (1, range(7, 19), fetching(0, session_id=77, session_epoch=5)),
    *((2, range(1, 12), listing(time)) for time in (-1, -2, -3, -4, -5, -6, -7, 0, TIME + 1, TIME * 2)),
    (2, range(1, 12), listing(-1, "missing")),
    (23, range(2, 5), topics({"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0})),
    (23, range(2, 5), topics({"partition": 0, "current_leader_epoch": -1, "leader_epoch": 5})),
    (21, range(3), topics({"partition_index": 0, "offset": 99})),
    (21, range(3), topics({"partition_index": 0, "offset": 0}, "missing")),
    (21, range(3), topics({"partition_index": 0, "offset": 1}, "compacted")),
    (10, range(4), {"key": "g", "key_type": 0}),
    (10, range(4, 7), {"key_type": 0, "coordinator_keys": ["g", "h"]}),
    (12, range(5), GROUP),
    (14, range(6), {**GROUP, "protocol_type": "consumer", "protocol_name": "range"}),
    (13, range(6), {**GROUP, "members": [{"member_id": "m"}]}),
    (11, range(10), {"group_id": "", "session_timeout": SECONDS, "protocols": []}),
    (11, range(10), {"group_id": "g", "session_timeout": timedelta(seconds=1), "protocols": [{"name": "range"}]}),
    (8, range(2, 10), {**GROUP, **topics({"partition_index": 0, "committed_offset": 5})}),
    (9, range(1, 8), {"group_id": "g", "topics": [{"name": "three", "partition_indexes": [0]}]}),
    (9, range(8, 10), {"groups": [{"group_id": "g", "member_epoch": -1, "topics": None}]}),
    (8, range(10, 11), {**GROUP, "topics": [{"topic_id": UUID(int=9), "partitions": [{"partition_index": 0}]}]}),
    (9, range(10, 11), {"groups": [{"group_id": "g", "member_epoch": -1, "topics": None}]}),
    (9, range(10, 11), {"groups": [{"group_id": "g", "member_epoch": -1, "topics": BY_ID}]}),
    (9, range(8, 11), {"groups": [{"group_id": "g", "member_epoch": -1, "topics": []}]}),
    (9, range(2, 8), {"group_id": "g", "topics": None}),
    # nothing asked for: null and empty arrays are where clients and servers part first
    (0, range(3, 14), {"acks": -1, "timeout": SECONDS, "topic_data": []}),
    (1, range(4, 19), fetching(0) | {"topics": []}),
    (2, range(1, 12), {"replica_id": -1, "topics": []}),
    (8, range(2, 11), {**GROUP, "topics": []}),
    (9, range(8, 11), {"groups": []}),
    (10, range(4, 7), {"key_type": 0, "coordinator_keys": []}),
    (13, range(3, 6), {**GROUP, "members": []}),
    (15, range(7), {"groups": []}),
    (16, range(4, 6), {"states_filter": ["NoSuchState"]}),
    (16, range(5, 6), {"types_filter": ["nonsense"]}),
    (21, range(3), {"topics": []}),
    (23, range(2, 5), {"topics": []}),
    (42, range(3), {"groups_names": []}),
    (47, range(1), {"group_id": "g", "topics": []}),
    (69, range(2), {"group_ids": []}),
    (15, range(7), {"groups": ["g"], "include_authorized_operations": True}),
    (16, range(6), {}),
    (42, range(3), {"groups_names": ["g"]}),
    (47, range(1), {"group_id": "g", **topics({"partition_index": 0})}),
    (69, range(2), {"group_ids": ["g"], "include_authorized_operations": True}),
    (68, range(2), {"group_id": "g", "member_id": "", "member_epoch": 5}),
]
