"""The gateway's own questions to the cluster, on connections of its own."""

from __future__ import annotations

from typing import Final

from doorkeeper import __version__
from doorkeeper.errors import NetworkError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.addresses import CONTROLLERS
from doorkeeper.gateway.settings import Login, UpstreamSecurity
from doorkeeper.net.requester import Requester
from doorkeeper.wire.defaults import build
from doorkeeper.wire.messages import (
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    message_classes,
    newest_stable_version,
    oldest_version,
)
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

    def __init__(self, client_id: str, security: UpstreamSecurity) -> None:
        self._client_id = client_id
        self._security = security

    async def __call__(self, host: str, port: int) -> Requester:
        """A connection that knows what the node serves, and is logged in if it is to be.

        :raises NetworkError: when there is none to be had.
        """
        requester = await Requester.connect(
            host, port, client_id=self._client_id, timeout=ASK_SECONDS, tls=self._security.tls
        )
        try:
            await requester.negotiate(SOFTWARE_NAME, __version__, timeout=ASK_SECONDS)
            if self._security.login is not None:
                await _log_in(requester, self._security.login)
        except BaseException:
            await requester.close()
            raise
        return requester


async def _log_in(requester: Requester, login: Login) -> None:
    asked = message_classes(SASL_HANDSHAKE, 1).request(mechanism=login.mechanism)
    answer = await requester.send(asked, timeout=ASK_SECONDS)
    if answer.error_code:
        offered = ", ".join(answer.mechanisms)
        raise NetworkError(f"{requester.address} offers {offered}, not {login.mechanism}")
    dialogue = login.begin()
    message = next(dialogue)
    while True:
        request = message_classes(SASL_AUTHENTICATE, 2).request(auth_bytes=message)
        answer = await requester.send(request, timeout=ASK_SECONDS)
        if answer.error_code:
            raise NetworkError(f"{requester.address} refuses the gateway's own login: {answer.error_message}")
        try:
            message = dialogue.send(answer.auth_bytes)
        except StopIteration:
            return


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
