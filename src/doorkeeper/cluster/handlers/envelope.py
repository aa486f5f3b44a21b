"""Envelope (58): a client's request that a broker sends on (KIP-590). From EnvelopeUtils and ControllerApis."""

from __future__ import annotations

import inspect
from ipaddress import ip_address
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from doorkeeper.cluster.exchange import Exchange
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.cluster.principals import read_principal
from doorkeeper.cluster.throttled_answers import read_throttle_ms
from doorkeeper.errors import RemoteProtocolError
from doorkeeper.wire.answers import error_response, fault_code
from doorkeeper.wire.codec import Request, decode_request, encode_response, read_request_header, response_header
from doorkeeper.wire.registry import Door, Served

if TYPE_CHECKING:
    from doorkeeper.cluster.controller_role import ControllerRole

SERVED: Final = Served(58, 0, 0, frozenset((Door.CONTROLLER,)))
FORWARDABLE: Final = frozenset((19, 20, 30, 31, 33, 37, 38, 39, 40, 43, 44, 45, 46, 49, 51, 55, 57, 64, 80, 81))
"""The APIs that a broker may send on (ApiKeys.forwardable)."""
ADDRESS_LENGTHS: Final = (4, 16)


async def at_controller(controller: ControllerRole, call: Call) -> Any:
    envelope = call.body
    try:
        principal = read_principal(bytes(envelope.request_principal or b""))
    except RemoteProtocolError:
        return call.answer({"error_code": ErrorCode.principal_deserialization_failure})
    if len(envelope.client_host_address) not in ADDRESS_LENGTHS:
        return call.answer({"error_code": ErrorCode.invalid_request})
    frame = bytes(envelope.request_data)
    try:
        header = read_request_header(frame)
        if header.api_key not in FORWARDABLE:
            return call.answer({"error_code": ErrorCode.invalid_request})
        if not controller.registry.serves(header.api_key, header.api_version):
            return call.answer({"error_code": ErrorCode.unsupported_version})
        request = decode_request(frame, header)
    except RemoteProtocolError:
        return call.answer({"error_code": ErrorCode.unsupported_version})
    exchange = Exchange(request, frame, call.peer, monotonic_ns())
    address = str(ip_address(bytes(envelope.client_host_address)))
    answer = await _answered(controller, Call(request, call.peer, principal, is_forwarded=True, forwarded_from=address))
    if answer is None:
        return call.answer({"error_code": ErrorCode.unknown_server_error})
    watcher = controller.watchers.get(call.peer.listener)
    if watcher is not None:
        exchange.principal, exchange.is_forwarded = principal, True
        exchange.total_ns = monotonic_ns() - exchange.started_ns
        exchange.throttle_ms = read_throttle_ms(request.api_key, request.api_version, answer)
        watcher(exchange, answer)
    return call.answer({"error_code": ErrorCode.none, "response_data": _encoded(request, answer)})


async def _answered(controller: ControllerRole, call: Call) -> Any:
    try:
        answer = controller.door.dispatch(call)
        return await answer if inspect.isawaitable(answer) else answer
    except RemoteProtocolError as error:
        return error_response(call.request.api_key, call.version, call.body, fault_code(error), error.reason)


def _encoded(request: Request, answer: Any) -> bytes:
    if isinstance(answer, bytes | memoryview):
        return response_header(request.api_key, request.api_version, request.correlation_id) + bytes(answer)
    return encode_response(request.api_key, request.api_version, request.correlation_id, answer)
