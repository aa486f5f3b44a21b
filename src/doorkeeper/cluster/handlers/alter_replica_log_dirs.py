"""AlterReplicaLogDirs (34): another directory for a partition (KIP-113). From ReplicaManager.alterReplicaLogDirs.

A partition stays in the directory that it was made in: to be asked for that one is granted, as by Kafka, and another is
refused as one is that takes no partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole

SERVED: Final = Served(34, 1, 2, frozenset((Door.BROKER,)))
MAX_NAME: Final = 255
"""Bytes of a file name; Kafka's copy on the way is called `<topic>.<uniqueId>-future` (UnifiedLog.logFutureDirName)."""
FUTURE_SUFFIX: Final = len("-0.") + 32 + len("-future")


def at_broker(broker: BrokerRole, call: Call) -> Any:
    answers: dict[str, list[dict[str, Any]]] = {}
    for place in call.body.dirs:
        for topic in place.topics:
            for index in topic.partitions:
                code = _judge(broker, place.path, str(topic.name), index)
                answers.setdefault(str(topic.name), []).append({"partition_index": index, "error_code": code})
    return call.answer({"results": [{"topic_name": name, "partitions": told} for name, told in answers.items()]})


def _judge(broker: BrokerRole, path: str, topic: str, index: int) -> ErrorCode:
    logs = broker.data.logs
    if len(topic) + FUTURE_SUFFIX > MAX_NAME:
        return ErrorCode.invalid_topic_exception
    if path not in {str(store.path.absolute()) for store in logs.stores}:
        return ErrorCode.log_dir_not_found
    if logs.registration(topic, index) is None:
        return ErrorCode.unknown_topic_or_partition
    log = logs.get(topic, index)
    if log is None:
        return ErrorCode.replica_not_available
    is_there = str(log.directory.parent.absolute()) == path
    return ErrorCode.none if is_there else ErrorCode.invalid_replica_assignment
