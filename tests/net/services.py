"""Services for tests: they answer Heartbeats as they are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.memory import registry_of_everything

from doorkeeper.net.service import DECODE, Decode, Peer
from doorkeeper.wire import api_versions
from doorkeeper.wire.api_versions import Features
from doorkeeper.wire.codec import Request, RequestHeader
from doorkeeper.wire.defaults import build
from doorkeeper.wire.framing import Frame
from doorkeeper.wire.messages import API_VERSIONS, message_classes

HEARTBEAT_KEY = 12
HEARTBEAT = build(message_classes(HEARTBEAT_KEY, 4).request, {"group_id": "g", "member_id": "m"})


def heartbeat(name: str) -> Any:
    return build(type(HEARTBEAT), {"group_id": name, "member_id": "m"})


def heartbeat_response(code: int = 0) -> Any:
    return build(message_classes(HEARTBEAT_KEY, 4).response, {"error_code": code})


class Recorder:
    """Answers at once, or as `respond` says; keeps what it was asked."""

    def __init__(self, respond: Callable[[Request, Peer], Any] | None = None) -> None:
        self.registry = registry_of_everything()
        self.asked: list[Request] = []
        self.peers: list[Peer] = []
        self._respond = respond or (lambda request, peer: heartbeat_response())

    def handle_opaque(self, header: RequestHeader, frame: Frame, peer: Peer) -> bytes | Decode:
        return DECODE

    def handle(self, request: Request, peer: Peer) -> Any:
        self.asked.append(request)
        self.peers.append(peer)
        if request.api_key == API_VERSIONS:
            return api_versions.answer(request.api_version, request.body, self.registry, Features())
        return self._respond(request, peer)


class Gated(Recorder):
    """Answers each group's heartbeat when its gate is opened."""

    def __init__(self) -> None:
        super().__init__(lambda request, peer: self._wait(request))
        self._gates: dict[str, asyncio.Event] = {}
        self.waiting = 0

    def gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    async def _wait(self, request: Request) -> Any:
        self.waiting += 1
        try:
            await self.gate(request.body.group_id).wait()
        finally:
            self.waiting -= 1
        return heartbeat_response()
