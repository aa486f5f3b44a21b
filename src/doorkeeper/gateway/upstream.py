"""The gateway's own questions to the cluster, on connections of its own."""

from __future__ import annotations

from typing import Final

from doorkeeper import __version__
from doorkeeper.errors import NetworkError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.addresses import CONTROLLERS
from doorkeeper.net.requester import Requester
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import message_classes, newest_stable_version, oldest_version
from doorkeeper.wire.registry import VersionRange

SOFTWARE_NAME: Final = "doorkeeper-gateway"
ASK_SECONDS: Final = 10.0
DESCRIBE_CLUSTER: Final = 60
BROKERS: Final = 1


def known_versions(api_key: int) -> VersionRange:
    """The versions that we know and Kafka 4.3.1 offers."""
    return VersionRange(oldest_version(api_key), newest_stable_version(api_key))


class Opener:
    """Opens connections of the gateway's own to the cluster."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id

    async def __call__(self, host: str, port: int) -> Requester:
        """A connection that knows what the node serves.

        :raises NetworkError: when there is none to be had.
        """
        requester = await Requester.connect(host, port, client_id=self._client_id, timeout=ASK_SECONDS)
        try:
            await requester.negotiate(SOFTWARE_NAME, __version__, timeout=ASK_SECONDS)
        except BaseException:
            await requester.close()
            raise
        return requester


async def describe_nodes(kind: NodeKind, requester: Requester) -> list[tuple[int, str, int]]:
    """The nodes of one kind: id, host and port.

    :raises NetworkError: when the node does not answer, or with an error.
    """
    version = requester.version_for(DESCRIBE_CLUSTER, known_versions(DESCRIBE_CLUSTER))
    wanted = CONTROLLERS if kind is NodeKind.CONTROLLER else BROKERS
    values = {"endpoint_type": wanted} if version >= 1 else {}
    request = build(message_classes(DESCRIBE_CLUSTER, version).request, values)
    response = await requester.send(request, timeout=ASK_SECONDS)
    if response.error_code:
        raise NetworkError(f"{requester.address}: DescribeCluster is answered with error {response.error_code}")
    return [(one.broker_id, one.host, one.port) for one in response.brokers]
