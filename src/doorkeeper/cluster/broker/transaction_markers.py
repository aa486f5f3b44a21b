"""Markers on their way: from the coordinator of a transaction into the partitions that it wrote to.

From TransactionMarkerChannelManager and KafkaApis.handleWriteTxnMarkersRequest. What this broker leads is written at
once; the leaders of the rest are asked with WriteTxnMarkers, and asked again until they have done it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.internal_topics import GROUPS
from doorkeeper.cluster.broker.logs import BrokerLogs, now_ms
from doorkeeper.cluster.broker.peers import BrokerPeers
from doorkeeper.cluster.log.batch import Marker, MarkerType
from doorkeeper.cluster.log.refusals import Refusal
from doorkeeper.errors import NetworkError, ProtocolError
from doorkeeper.wire.registry import VersionRange

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.groups import BrokerGroups
    from doorkeeper.cluster.broker.transaction_partition import TransactionPartition
    from doorkeeper.cluster.transactions.messages import PartitionCodes, TopicPartition, TxnMarker

LOGGER: Final = logging.getLogger("doorkeeper.transactions")

WRITE_TXN_MARKERS: Final = 27
WRITE_TXN_MARKERS_VERSIONS: Final = VersionRange(1, 2)


class MarkerWriter:
    """Writes markers into the partitions that this broker leads."""

    def __init__(self, logs: BrokerLogs, groups: BrokerGroups) -> None:
        self._logs = logs
        self._groups = groups

    def write(self, marker: TxnMarker) -> PartitionCodes:
        return {one: self._write(marker, one) for one in marker.partitions}

    def _write(self, marker: TxnMarker, one: TopicPartition) -> ErrorCode:
        led = self._logs.find(one.topic, one.partition)
        if isinstance(led, ErrorCode):
            return ErrorCode.unknown_topic_or_partition
        kind = MarkerType.COMMIT if marker.committed else MarkerType.ABORT
        now = now_ms()
        end = Marker(kind, marker.coordinator_epoch, now)
        version = marker.transaction_version
        if one.topic == GROUPS:
            partition = self._groups.get(one.partition)
            if partition is None:
                return ErrorCode.not_leader_or_follower
            return partition.complete_transaction(marker.producer_id, marker.producer_epoch, end, version)
        outcome = led.log.append_marker(
            marker.producer_id,
            marker.producer_epoch,
            end,
            leader_epoch=led.leader_epoch,
            now=now,
            transaction_version=version,
        )
        return ErrorCode(outcome.code) if isinstance(outcome, Refusal) else ErrorCode.none


class MarkerSender:
    """Brings markers to the leaders of their partitions."""

    def __init__(self, node_id: int, logs: BrokerLogs, writer: MarkerWriter, peers: BrokerPeers) -> None:
        self._node_id = node_id
        self._logs = logs
        self._writer = writer
        self._peers = peers
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, source: TransactionPartition, marker: TxnMarker) -> None:
        """Send a marker of a partition's coordinator, which is told what becomes of each part."""
        gone, by_leader = self._by_leader(marker.partitions)
        if gone:
            source.markers_skipped(marker, gone)
        for leader, partitions in by_leader.items():
            part = replace(marker, partitions=tuple(partitions))
            if leader == self._node_id:
                source.markers_written(part, self._writer.write(part))
            else:
                self._start(source, leader, part)

    def _by_leader(
        self, partitions: Iterable[TopicPartition]
    ) -> tuple[list[TopicPartition], dict[int, list[TopicPartition]]]:
        gone: list[TopicPartition] = []
        by_leader: dict[int, list[TopicPartition]] = {}
        for one in partitions:
            registration = self._logs.registration(one.topic, one.partition)
            if registration is None:
                gone.append(one)
            else:
                by_leader.setdefault(registration.leader, []).append(one)
        return gone, by_leader

    def _start(self, source: TransactionPartition, leader: int, marker: TxnMarker) -> None:
        task = asyncio.get_running_loop().create_task(self._ask(source, leader, marker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, source: TransactionPartition, leader: int, marker: TxnMarker) -> None:
        from doorkeeper.cluster.transactions.translation import marker_values, read_marker_outcomes

        outcomes: PartitionCodes = {}
        try:
            response = await self._peers.ask(
                leader, WRITE_TXN_MARKERS, WRITE_TXN_MARKERS_VERSIONS, marker_values((marker,))
            )
            outcomes = dict(read_marker_outcomes(response).get(marker.producer_id, {}))
        except (NetworkError, ProtocolError) as error:
            LOGGER.info("a marker did not reach broker %d, and goes out again: %s", leader, error)
        source.markers_written(marker, outcomes)

    def close(self) -> None:
        """Send nothing more: the coordinator that comes next sends what is missing."""
        for task in self._tasks:
            task.cancel()


Send = Callable[["TransactionPartition", "TxnMarker"], None]
