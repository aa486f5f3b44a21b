"""Who is in the cluster, at which kind of door, and who leads."""

from __future__ import annotations

from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.cluster.controller.clusters import CLUSTER_ID, broker, cluster

from doorkeeper.cluster.controller.cluster_description import (
    AskedEndpoint,
    AskedPartition,
    AskedTopic,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    EndpointType,
    QuorumStatus,
    ReplicaState,
    describe_cluster,
    describe_quorum,
)
from doorkeeper.cluster.image.registrations import Listener
from doorkeeper.wire.metadata import types

IMAGE = cluster(
    broker(2, rack="r2"),
    broker(1),
    broker(3, fenced=True),
    types.RegisterControllerRecord(
        controller_id=100, end_points=(types.Endpoint(name="CONTROLLER", host="c", port=9093),)
    ),
)
BROKER_DOOR = AskedEndpoint(EndpointType.BROKER, "PLAINTEXT", CLUSTER_ID, 1)
CONTROLLER_DOOR = AskedEndpoint(EndpointType.CONTROLLER, "CONTROLLER", CLUSTER_ID, 100)


def test_a_brokers_door_shows_live_brokers_and_fenced_ones_if_asked() -> None:
    response = describe_cluster(IMAGE, DescribeClusterRequest(), BROKER_DOOR, api_version=2)
    assert [(one.broker_id, one.port, one.rack) for one in response.brokers] == [(1, 9093, None), (2, 9094, "r2")]
    assert (response.cluster_id, response.controller_id, response.endpoint_type) == (CLUSTER_ID, 1, 1)
    request = DescribeClusterRequest(include_fenced_brokers=True)
    brokers = describe_cluster(IMAGE, request, BROKER_DOOR, api_version=2).brokers
    assert [(one.broker_id, one.is_fenced) for one in brokers] == [(1, False), (2, False), (3, True)]


def test_a_controllers_door_shows_controllers() -> None:
    request = DescribeClusterRequest(endpoint_type=EndpointType.CONTROLLER)
    response = describe_cluster(IMAGE, request, CONTROLLER_DOOR, api_version=1)
    assert [(one.broker_id, one.host, one.port) for one in response.brokers] == [(100, "c", 9093)]
    assert (response.controller_id, response.endpoint_type) == (100, 2)


def test_a_controller_that_the_client_cannot_reach_is_not_named() -> None:
    away = AskedEndpoint(EndpointType.BROKER, "OTHER", CLUSTER_ID, 1)
    response = describe_cluster(IMAGE, DescribeClusterRequest(), away, api_version=2)
    assert (response.controller_id, response.brokers) == (-1, ())


@pytest.mark.parametrize(
    ("wanted", "door", "code", "message"),
    [
        (
            2,
            BROKER_DOOR,
            ErrorCode.mismatched_endpoint_type,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        ),
        (
            1,
            CONTROLLER_DOOR,
            ErrorCode.mismatched_endpoint_type,
            "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER",
        ),
        (0, BROKER_DOOR, ErrorCode.unsupported_endpoint_type, "Unsupported endpoint type 0"),
        (3, BROKER_DOOR, ErrorCode.unsupported_endpoint_type, "Unsupported endpoint type 3"),
    ],
)
def test_says_so_at_the_wrong_door(wanted: int, door: AskedEndpoint, code: ErrorCode, message: str) -> None:
    request = DescribeClusterRequest(endpoint_type=wanted)
    response = describe_cluster(IMAGE, request, door, api_version=1)
    assert (response.error_code, response.error_message) == (code, message)
    oldest = describe_cluster(IMAGE, request, door, api_version=0)
    assert oldest.error_code == ErrorCode.invalid_request


STATUS = QuorumStatus(
    leader=ReplicaState(100, UUID(int=7), 60),
    leader_epoch=3,
    high_watermark=60,
    listeners={"CONTROLLER": Listener("c", 9093, 0)},
    observers=(ReplicaState(1, None, 55, 1000, 900),),
)


def quorum_request(*names: str, index: int = 0) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(tuple(AskedTopic(name, (AskedPartition(index),)) for name in names))


def test_describes_the_metadata_quorum() -> None:
    response = describe_quorum(quorum_request("__cluster_metadata"), STATUS)
    ((partition,),) = (one.partitions for one in response.topics)
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (100, 3, 60)
    assert [one.replica_id for one in partition.current_voters] == [100]
    assert [one.replica_id for one in partition.observers] == [1]
    assert [(one.node_id, one.listeners[0].port) for one in response.nodes] == [(100, 9093)]


@pytest.mark.parametrize(
    "request_",
    [
        quorum_request("orders"),
        quorum_request("__cluster_metadata", index=1),
        quorum_request("__cluster_metadata", "orders"),
    ],
)
def test_knows_no_other_quorum(request_: DescribeQuorumRequest) -> None:
    response = describe_quorum(request_, STATUS)
    codes = {partition.error_code for one in response.topics for partition in one.partitions}
    assert codes == {ErrorCode.unknown_topic_or_partition}
    assert response.nodes == ()
