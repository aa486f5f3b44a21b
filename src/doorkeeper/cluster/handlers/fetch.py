"""Fetch (1): records of topics at a broker's door (see `fetch_records`), the metadata log at the controller's.

The latter is from KafkaRaftClient.handleFetchRequest.

The log is kept by one voter, and only what is on disk is ever served: the end of the log is the high watermark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.fetch_records import fetch_records as at_broker
from doorkeeper.cluster.metadata_log import METADATA_TOPIC_ID, READ_BYTES
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

__all__ = ["SERVED", "at_broker", "at_controller"]

SERVED: Final = Served(1, 4, 18, frozenset((Door.BROKER, Door.CONTROLLER)))
METADATA_TOPIC: Final = "__cluster_metadata"
LONGEST_WAIT_SECONDS: Final = 30.0


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    body = call.body
    topics = body.topics
    cluster_id = getattr(body, "cluster_id", None)
    if cluster_id is not None and cluster_id != controller.cluster_id:
        return call.answer({"error_code": ErrorCode.inconsistent_cluster_id})
    is_ours = len(topics) == 1 and _is_metadata(topics[0]) and len(topics[0].partitions) == 1
    if not is_ours or topics[0].partitions[0].partition != 0:
        return call.answer({"error_code": ErrorCode.invalid_request})
    asked = topics[0].partitions[0]
    _note_observer(controller, call, asked.fetch_offset)
    partition = _check_place(controller, asked)
    if partition is None:
        wait = min(body.max_wait.total_seconds(), LONGEST_WAIT_SECONDS) if body.min_bytes > 0 else 0.0
        await controller.quorum.wait_beyond(asked.fetch_offset, wait)
        records = controller.quorum.log.read(asked.fetch_offset, max(0, min(asked.partition_max_bytes, READ_BYTES)))
        partition = {"records": records}
    log = controller.quorum.log
    answered = {
        "partition_index": 0,
        "high_watermark": log.end_offset,
        "last_stable_offset": log.end_offset,
        "log_start_offset": log.start_offset,
        "current_leader": {"leader_id": controller.node_id, "leader_epoch": log.epoch},
        "records": b"",
    }
    topic = {"topic": METADATA_TOPIC, "topic_id": METADATA_TOPIC_ID, "partitions": [answered | partition]}
    return call.answer({"responses": [topic]})


def _is_metadata(topic: Any) -> bool:
    """From version 13 on topics go by id, as followers of the metadata log have it since Kafka 3.9."""
    if hasattr(topic, "topic_id"):
        return bool(topic.topic_id == METADATA_TOPIC_ID)
    return bool(topic.topic == METADATA_TOPIC)


def _note_observer(controller: ControllerRole, call: Call, fetch_offset: int) -> None:
    state = getattr(call.body, "replica_state", None)
    replica_id = call.body.replica_id if state is None else state.replica_id
    if replica_id >= 0 and replica_id != controller.node_id:
        controller.observers[replica_id] = (fetch_offset, controller.now_ms())


def _check_place(controller: ControllerRole, asked: Any) -> dict[str, Any] | None:
    """What to answer to a follower that can't just read on; None if it can."""
    log = controller.quorum.log
    if asked.current_leader_epoch > log.epoch:
        return {"error_code": ErrorCode.unknown_leader_epoch}
    if 0 <= asked.current_leader_epoch < log.epoch:
        return {"error_code": ErrorCode.fenced_leader_epoch}
    if asked.fetch_offset > log.end_offset:
        return {"diverging_epoch": {"epoch": log.epoch, "end_offset": log.end_offset}}
    if asked.fetch_offset < log.start_offset:
        newest = log.snapshots[0]
        return {"snapshot_id": {"end_offset": newest.offset, "epoch": newest.epoch}}
    return None
