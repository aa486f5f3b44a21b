"""DescribeCluster (60): the nodes behind this kind of door (KIP-700, KIP-919)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cluster.controller.reshape import reshape
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.handlers.partitions import CLUSTER_OPERATIONS, ListenerView
from doorkeeper.cluster.image.metadata import MetadataImage
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.broker.role import BrokerRole
    from doorkeeper.cluster.controller.cluster_description import AskedEndpoint
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(60, 0, 2, frozenset(Door))


def at_broker(broker: BrokerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.cluster_description import AskedEndpoint, EndpointType

    anyone = ListenerView(broker.image, call.peer.listener).any_broker()
    endpoint = AskedEndpoint(EndpointType.BROKER, call.peer.listener, broker.cluster_id, anyone)
    return _answer(call, broker.image, endpoint)


def at_controller(controller: ControllerRole, call: Call) -> Any:
    from doorkeeper.cluster.controller.cluster_description import AskedEndpoint, EndpointType

    endpoint = AskedEndpoint(EndpointType.CONTROLLER, call.peer.listener, controller.cluster_id, controller.node_id)
    return _answer(call, controller.image, endpoint)


def _answer(call: Call, image: MetadataImage, endpoint: AskedEndpoint) -> Any:
    from doorkeeper.cluster.controller.cluster_description import DescribeClusterRequest, describe_cluster

    request = reshape(call.body, DescribeClusterRequest)
    response = describe_cluster(image, request, endpoint, api_version=call.version)
    if request.include_cluster_authorized_operations and not response.error_code:
        response = replace(response, cluster_authorized_operations=CLUSTER_OPERATIONS)
    return call.reshaped(response)
