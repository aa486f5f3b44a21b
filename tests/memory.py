"""Stand-ins for the network: bytes are carried by hand."""

from __future__ import annotations

import asyncio
from typing import Any

from doorkeeper.wire.codec import Request, decode_request
from doorkeeper.wire.connection import ClientConnection, ServerConnection
from doorkeeper.wire.events import PAUSED, RequestReceived, ResponseReceived
from doorkeeper.wire.framing import NEED_DATA
from doorkeeper.wire.messages import API_KEYS, API_VERSIONS, newest_stable_version, oldest_version
from doorkeeper.wire.registry import Door, Registry, Served

ALL_DOORS = frozenset(Door)


def registry_of_everything(*, unstable_versions: bool = False) -> Registry:
    """Every API of Kafka 4.3.1 at every version that it offers."""
    served = [Served(key, oldest_version(key), newest_stable_version(key), ALL_DOORS) for key in API_KEYS]
    return Registry(served, Door.BROKER, unstable_versions=unstable_versions)


class ConnectionPair:
    """A client's and a server's connection, back to back."""

    def __init__(self, **server_options: Any) -> None:
        self.client = ClientConnection("pair")
        self.server = ServerConnection(registry_of_everything(), **server_options)

    def ask(self, body: Any) -> int:
        """Carry a request to the server; returns its correlation id."""
        correlation_id, encoded = self.client.send_request(body)
        self.server.receive_data(encoded)
        return correlation_id

    def requests(self) -> list[tuple[int, Request]]:
        """(slot, request) of all that the server hands out now."""
        found = []
        while (event := self.server.next_event()) is not NEED_DATA and event is not PAUSED:
            assert isinstance(event, RequestReceived)
            found.append((event.slot, decode_request(event.frame, event.header)))
        return found

    def answer(self, slot: int, *parts: bytes) -> list[ResponseReceived]:
        """Hand the server a response, carry what it lets go, and return what the client gets."""
        for chunk in self.server.send_response(slot, *parts):
            self.client.receive_data(bytes(chunk))
        found = []
        while (event := self.client.next_event()) is not NEED_DATA:
            assert isinstance(event, ResponseReceived)
            found.append(event)
        return found


class MemoryTransport(asyncio.Transport):
    """A transport that keeps what is written, and tells whether it is being read."""

    def __init__(self, address: str = "192.0.2.1") -> None:
        super().__init__({"peername": (address, 40000)})
        self.written = bytearray()
        self.reading = True
        self.closed = False
        self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_reading(self) -> bool:
        return self.reading

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True


__all__ = ("ALL_DOORS", "API_VERSIONS", "ConnectionPair", "MemoryTransport", "registry_of_everything")
