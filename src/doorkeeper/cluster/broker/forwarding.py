"""Sending a client's request on to the controller, in an Envelope (KIP-590). From ForwardingManagerImpl."""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.broker.channel import ControllerChannel
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.principals import write_principal
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.codec import decode_response, encode_request, response_header
from doorkeeper.wire.registry import VersionRange

ENVELOPE: Final = 58
ENVELOPE_VERSIONS: Final = VersionRange(0, 0)
NOWHERE: Final = bytes(4)
"""For a peer without an internet address."""


class Forwarder:
    """Knows the way to the controller, and how long a request may wait for it."""

    def __init__(self, channel: ControllerChannel, timeout: float) -> None:
        """:param timeout: `request.timeout.ms`, in seconds."""
        self._channel = channel
        self._timeout = timeout

    async def forward(self, call: Call) -> Any:
        """Send a request on as it came, and relay the answer's bytes."""
        request = call.request
        lead = len(response_header(request.api_key, request.api_version, request.correlation_id))
        answered = await self._send(call, bytes(request.frame))
        return call.refuse(ErrorCode.unknown_server_error) if answered is None else memoryview(answered)[lead:]

    async def forward_body(self, call: Call, body: Any) -> Any:
        """Send another body under the request's header, and read the answer; None if the controller failed."""
        request = call.request
        answered = await self._send(call, encode_request(body, request.correlation_id, request.client_id))
        return None if answered is None else decode_response(request.api_key, request.api_version, answered)

    async def _send(self, call: Call, frame: bytes) -> bytes | None:
        values = {
            "request_data": frame,
            "request_principal": write_principal(call.principal),
            "client_host_address": _packed(call.peer.address),
        }
        response = await self._channel.ask(ENVELOPE, ENVELOPE_VERSIONS, values, timeout=self._timeout)
        if response.error_code == ErrorCode.unsupported_version:
            raise RemoteProtocolError("The controller does not speak that version any more: connect again")
        return None if response.error_code or response.response_data is None else bytes(response.response_data)


def _packed(address: str) -> bytes:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).packed
    except ValueError:
        return NOWHERE
