"""Who is in the cluster, and who leads it. From AuthHelper.computeDescribeClusterResponse and
KafkaRaftClient.handleDescribeQuorumRequest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.controller.create_topics import METADATA_TOPIC
from doorkeeper.cluster.controller.decision import NO_MESSAGE
from doorkeeper.cluster.controller.delete_topics import UNKNOWN_TOPIC
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.cluster.image.registrations import Listener

NOBODY: Final = -1


class EndpointType(IntEnum):
    """org.apache.kafka.clients.admin.EndpointType (KIP-919)."""

    UNKNOWN = 0
    BROKER = 1
    CONTROLLER = 2


@dataclass(frozen=True, slots=True)
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool = False
    endpoint_type: int = EndpointType.BROKER
    include_fenced_brokers: bool = False


@dataclass(frozen=True, slots=True)
class DescribeClusterBroker:
    broker_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


@dataclass(frozen=True, slots=True)
class DescribeClusterResponse:
    cluster_id: str = ""
    error_code: int = ErrorCode.none
    error_message: str | None = None
    endpoint_type: int = EndpointType.BROKER
    controller_id: int = NOBODY
    brokers: tuple[DescribeClusterBroker, ...] = ()
    cluster_authorized_operations: int = -(2**31)


@dataclass(frozen=True, slots=True)
class AskedEndpoint:
    """Where a request came in: the kind of door, its listener's name, and whom it calls the controller."""

    type: EndpointType
    listener_name: str
    cluster_id: str
    controller_id: int
    """At a broker's door any live broker will do: clients send to it what a controller must hear, and it forwards."""


def describe_cluster(
    image: MetadataImage, request: DescribeClusterRequest, endpoint: AskedEndpoint, *, api_version: int
) -> DescribeClusterResponse:
    """The nodes behind a door of this kind, reached through the listener that was asked."""
    if request.endpoint_type != endpoint.type:
        return _wrong_door(request.endpoint_type, endpoint.type, api_version)
    nodes = (
        _controllers(image, endpoint.listener_name)
        if endpoint.type is EndpointType.CONTROLLER
        else _brokers(image, endpoint.listener_name, request.include_fenced_brokers)
    )
    known = {one.broker_id for one in nodes}
    return DescribeClusterResponse(
        cluster_id=endpoint.cluster_id,
        endpoint_type=endpoint.type,
        controller_id=endpoint.controller_id if endpoint.controller_id in known else NOBODY,
        brokers=nodes,
    )


def _wrong_door(wanted: int, here: EndpointType, api_version: int) -> DescribeClusterResponse:
    if wanted not in (EndpointType.BROKER, EndpointType.CONTROLLER):
        code, message = ErrorCode.unsupported_endpoint_type, f"Unsupported endpoint type {wanted}"
    else:
        code = ErrorCode.mismatched_endpoint_type
        message = (
            f"The request was sent to an endpoint of type {here.name}, but we wanted an endpoint of type "
            f"{EndpointType(wanted).name}"
        )
    return DescribeClusterResponse(
        error_code=code if api_version > 0 else ErrorCode.invalid_request, error_message=message
    )


def _brokers(image: MetadataImage, listener_name: str, with_fenced: bool) -> tuple[DescribeClusterBroker, ...]:
    return tuple(
        DescribeClusterBroker(broker.id, listener.host, listener.port, broker.rack, broker.fenced)
        for _, broker in sorted(image.cluster.brokers.items())
        if (with_fenced or not broker.fenced) and (listener := broker.listeners.get(listener_name)) is not None
    )


def _controllers(image: MetadataImage, listener_name: str) -> tuple[DescribeClusterBroker, ...]:
    return tuple(
        DescribeClusterBroker(controller.id, listener.host, listener.port)
        for _, controller in sorted(image.cluster.controllers.items())
        if (listener := controller.listeners.get(listener_name)) is not None
    )


@dataclass(frozen=True, slots=True)
class ReplicaState:
    replica_id: int
    replica_directory_id: UUID | None
    log_end_offset: int
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1


@dataclass(frozen=True, slots=True)
class QuorumPartition:
    partition_index: int
    error_code: int = ErrorCode.none
    error_message: str | None = None
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: tuple[ReplicaState, ...] = ()
    observers: tuple[ReplicaState, ...] = ()


@dataclass(frozen=True, slots=True)
class QuorumTopic:
    topic_name: str
    partitions: tuple[QuorumPartition, ...]


@dataclass(frozen=True, slots=True)
class QuorumListener:
    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class QuorumNode:
    node_id: int
    listeners: tuple[QuorumListener, ...]


@dataclass(frozen=True, slots=True)
class DescribeQuorumResponse:
    error_code: int = ErrorCode.none
    error_message: str | None = NO_MESSAGE
    topics: tuple[QuorumTopic, ...] = ()
    nodes: tuple[QuorumNode, ...] = ()


@dataclass(frozen=True, slots=True)
class QuorumStatus:
    """What the leader of the metadata log knows: itself as the only voter, and those that follow."""

    leader: ReplicaState
    leader_epoch: int
    high_watermark: int
    listeners: Mapping[str, Listener]
    observers: tuple[ReplicaState, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedPartition:
    partition_index: int


@dataclass(frozen=True, slots=True)
class AskedTopic:
    topic_name: str
    partitions: tuple[AskedPartition, ...]


@dataclass(frozen=True, slots=True)
class DescribeQuorumRequest:
    topics: tuple[AskedTopic, ...]


def describe_quorum(request: DescribeQuorumRequest, status: QuorumStatus) -> DescribeQuorumResponse:
    """The state of the metadata log's quorum; any other partition is not known here."""
    asked = [(topic.topic_name, one.partition_index) for topic in request.topics for one in topic.partitions]
    if asked != [(METADATA_TOPIC, 0)]:
        unknown = tuple(
            QuorumTopic(
                topic.topic_name,
                tuple(
                    QuorumPartition(one.partition_index, UNKNOWN_TOPIC.code, UNKNOWN_TOPIC.message)
                    for one in topic.partitions
                ),
            )
            for topic in request.topics
        )
        return DescribeQuorumResponse(topics=unknown)
    partition = QuorumPartition(
        partition_index=0,
        leader_id=status.leader.replica_id,
        leader_epoch=status.leader_epoch,
        high_watermark=status.high_watermark,
        current_voters=(status.leader,),
        observers=status.observers,
    )
    listeners = tuple(QuorumListener(name, one.host, one.port) for name, one in status.listeners.items())
    return DescribeQuorumResponse(
        topics=(QuorumTopic(METADATA_TOPIC, (partition,)),),
        nodes=(QuorumNode(status.leader.replica_id, listeners),),
    )
