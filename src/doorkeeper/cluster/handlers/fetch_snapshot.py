"""FetchSnapshot (59): a piece of a snapshot of the metadata log. From KafkaRaftClient.handleFetchSnapshotRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.durable import storage_errors
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.metadata_log import READ_BYTES
from doorkeeper.cluster.snapshot import SnapshotId
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(59, 0, 1, frozenset((Door.CONTROLLER,)))
METADATA_TOPIC: Final = "__cluster_metadata"


def at_controller(controller: ControllerRole, call: Call) -> Any:
    body = call.body
    topics = body.topics
    if body.cluster_id is not None and body.cluster_id != controller.cluster_id:
        return call.answer({"error_code": ErrorCode.inconsistent_cluster_id})
    if len(topics) != 1 or topics[0].name != METADATA_TOPIC or len(topics[0].partitions) != 1:
        return call.answer({"error_code": ErrorCode.unknown_topic_or_partition})
    asked = topics[0].partitions[0]
    piece = _piece(controller, asked, max(0, min(body.max_bytes, READ_BYTES)))
    leader = {"leader_id": controller.node_id, "leader_epoch": controller.quorum.log.epoch}
    identity = {"end_offset": asked.snapshot_id.end_offset, "epoch": asked.snapshot_id.epoch}
    partition = {"index": asked.partition, "snapshot_id": identity, "current_leader": leader} | piece
    return call.answer({"topics": [{"name": METADATA_TOPIC, "partitions": [partition]}]})


def _piece(controller: ControllerRole, asked: Any, max_bytes: int) -> dict[str, Any]:
    log = controller.quorum.log
    snapshot_id = SnapshotId(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
    nothing = {"size": 0, "position": asked.position, "unaligned_records": b""}
    if snapshot_id not in log.snapshots or asked.partition != 0:
        return nothing | {"error_code": ErrorCode.snapshot_not_found}
    path = log.snapshot_path(snapshot_id)
    with storage_errors("read", path), path.open("rb") as file:
        size = file.seek(0, 2)
        if not 0 <= asked.position < size:
            return nothing | {"error_code": ErrorCode.position_out_of_range}
        file.seek(asked.position)
        data = file.read(max_bytes)
    return {"size": size, "position": asked.position, "unaligned_records": data, "error_code": ErrorCode.none}
