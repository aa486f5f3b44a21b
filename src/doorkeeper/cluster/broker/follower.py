"""Following the metadata log: the image of a broker that has no controller in its node.

From org.apache.kafka.raft.KafkaRaftClient, for an observer: Fetch of `__cluster_metadata` from the leader; where its
log no longer has the offset, FetchSnapshot first. What is fetched is committed: the leader is the only voter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.channel import ControllerChannel
from doorkeeper.cluster.image.loader import ImageLoader
from doorkeeper.cluster.image.metadata import MetadataImage, Provenance
from doorkeeper.cluster.metadata_log import METADATA_TOPIC_ID, READ_BYTES
from doorkeeper.cluster.publishing import Publisher
from doorkeeper.cluster.snapshot import read_snapshot
from doorkeeper.errors import NetworkError, RecordError, RemoteProtocolError, ReplayError
from doorkeeper.wire.messages import FETCH
from doorkeeper.wire.metadata.serde import read_metadata_record
from doorkeeper.wire.records import iter_batches
from doorkeeper.wire.registry import VersionRange

LOGGER: Final = logging.getLogger("doorkeeper.broker")

FETCH_VERSIONS: Final = VersionRange(13, 17)
FETCH_SNAPSHOT: Final = 59
FETCH_SNAPSHOT_VERSIONS: Final = VersionRange(0, 1)
METADATA_TOPIC: Final = "__cluster_metadata"
MAX_WAIT: Final = timedelta(milliseconds=500)
"""KafkaRaftClient.MAX_FETCH_WAIT_MS."""
FETCH_SECONDS: Final = 2.0
"""`controller.quorum.fetch.timeout.ms`: when the leader counts as gone, and is looked for again."""
MAX_SNAPSHOT_BYTES: Final = 2**31 - 1
RETRY_SECONDS: Final = 0.2


class MetadataFollower:
    """Keeps `image` up to date; `run` is its task."""

    def __init__(self, node_id: int, cluster_id: str, channel: ControllerChannel) -> None:
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._channel = channel
        self._loader = ImageLoader()
        self._next_offset = 0
        self._last_epoch = -1
        self._publisher = Publisher()

    @property
    def image(self) -> MetadataImage:
        return self._loader.image

    def subscribe(self, publish: Callable[[MetadataImage], None]) -> None:
        """Be told of every image, in order; the present one at once."""
        self._publisher.subscribe(publish, self.image)

    async def run(self) -> None:
        """Follow until cancelled. A controller that is away is waited for; a log that can't be read is read anew."""
        while True:
            try:
                await self._fetch()
            except NetworkError as error:
                LOGGER.warning("the metadata log can't be followed: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
            except (RemoteProtocolError, RecordError, ReplayError) as error:
                LOGGER.warning("the metadata log is read anew from its start: %s", error)
                self._start_anew()
                await asyncio.sleep(RETRY_SECONDS)

    def _start_anew(self) -> None:
        self._loader = ImageLoader()
        self._next_offset = 0
        self._last_epoch = -1

    async def _fetch(self) -> None:
        response = await self._channel.ask(FETCH, FETCH_VERSIONS, self._fetch_values(), timeout=FETCH_SECONDS)
        if response.error_code:
            raise RemoteProtocolError(f"Fetch was answered with error {ErrorCode(response.error_code).name}")
        partition = response.responses[0].partitions[0]
        if partition.error_code:
            raise RemoteProtocolError(f"Fetch was answered with error {ErrorCode(partition.error_code).name}")
        if partition.snapshot_id.end_offset >= 0:
            await self._load_snapshot(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
        elif partition.diverging_epoch.end_offset >= 0:
            LOGGER.warning("the controller's log has other records than those read before: it is read anew")
            self._start_anew()
        elif partition.records:
            self._replay(bytes(partition.records))

    def _fetch_values(self) -> dict[str, Any]:
        partition = {
            "partition": 0,
            "current_leader_epoch": -1,
            "fetch_offset": self._next_offset,
            "last_fetched_epoch": self._last_epoch,
            "log_start_offset": -1,
            "partition_max_bytes": READ_BYTES,
        }
        return {
            "cluster_id": self._cluster_id,
            "replica_id": self._node_id,
            "replica_state": {"replica_id": self._node_id, "replica_epoch": -1},
            "max_wait": MAX_WAIT,
            "min_bytes": 1,
            "max_bytes": READ_BYTES,
            "session_epoch": -1,
            "topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [partition]}],
        }

    def _replay(self, data: bytes) -> None:
        before = self.image
        for _, batch in iter_batches(data):
            header = batch.header
            if header.last_offset >= self._next_offset:
                records = [] if header.is_control else [read_metadata_record(one.value) for one in batch.records]
                where = Provenance(header.last_offset, header.leader_epoch, header.max_timestamp)
                self._loader.replay_batch(records, where)
                self._next_offset = header.next_offset
                self._last_epoch = header.leader_epoch
        if self.image is not before:
            self._publisher.publish(self.image)

    async def _load_snapshot(self, end_offset: int, epoch: int) -> None:
        data = bytearray()
        while True:
            part = await self._fetch_snapshot(end_offset, epoch, len(data))
            data += bytes(part.unaligned_records)
            if len(data) >= part.size:
                break
            if not part.unaligned_records:
                raise RemoteProtocolError("FetchSnapshot was answered without bytes")
        snapshot = read_snapshot(bytes(data))
        self._loader = ImageLoader()
        self._loader.replay_batch(
            snapshot.records, Provenance(end_offset - 1, epoch, snapshot.last_contained_timestamp)
        )
        self._next_offset = end_offset
        self._last_epoch = epoch
        self._publisher.publish(self.image)

    async def _fetch_snapshot(self, end_offset: int, epoch: int, position: int) -> Any:
        partition = {
            "partition": 0,
            "current_leader_epoch": -1,
            "snapshot_id": {"end_offset": end_offset, "epoch": epoch},
            "position": position,
        }
        values = {
            "cluster_id": self._cluster_id,
            "replica_id": self._node_id,
            "max_bytes": READ_BYTES,
            "topics": [{"name": METADATA_TOPIC, "partitions": [partition]}],
        }
        response = await self._channel.ask(FETCH_SNAPSHOT, FETCH_SNAPSHOT_VERSIONS, values, timeout=FETCH_SECONDS)
        code = response.error_code or response.topics[0].partitions[0].error_code
        if code:
            raise RemoteProtocolError(f"FetchSnapshot was answered with error {ErrorCode(code).name}")
        return response.topics[0].partitions[0]
