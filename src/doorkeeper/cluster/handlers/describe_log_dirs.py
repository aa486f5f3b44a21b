"""DescribeLogDirs (35): the directories of this broker, and how much each partition takes. From ReplicaManager."""

from __future__ import annotations

import os
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.log.partition_log import PartitionLog
    from doorkeeper.cluster.log.store import LogStore

SERVED: Final = Served(35, 1, 5, frozenset((Door.BROKER,)))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    asked = None
    if call.body.topics is not None:
        asked = {(str(topic.topic), index) for topic in call.body.topics for index in topic.partitions}
    results = [
        _describe(store, asked) | {"is_cordoned": broker.data.logs.is_cordoned(store)}
        for store in broker.data.logs.stores
    ]
    return call.answer({"error_code": ErrorCode.none, "results": results})


def _describe(store: LogStore, asked: set[tuple[str, int]] | None) -> dict[str, Any]:
    values: dict[str, Any] = {"log_dir": str(store.path.absolute()), "topics": ()}
    try:
        space = os.statvfs(store.path)
    except OSError:
        return values | {"error_code": ErrorCode.kafka_storage_error}
    logs = sorted(
        (log for log in store if log.offline is None and (asked is None or (log.topic, log.partition) in asked)),
        key=attrgetter("topic", "partition"),
    )
    return values | {
        "error_code": ErrorCode.none,
        "topics": [
            {"name": topic, "partitions": [_partition(log) for log in members]}
            for topic, members in groupby(logs, key=attrgetter("topic"))
        ],
        "total_bytes": space.f_blocks * space.f_frsize,
        "usable_bytes": space.f_bavail * space.f_frsize,
    }


def _partition(log: PartitionLog) -> dict[str, Any]:
    return {"partition_index": log.partition, "partition_size": log.size, "offset_lag": 0, "is_future_key": False}
