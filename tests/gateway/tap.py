"""A wire tap: a TCP relay that writes down what goes through, connection by connection."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

HOST = "127.0.0.1"


@dataclass(slots=True)
class Recording:
    """Both directions of one connection."""

    requests: bytearray = field(default_factory=bytearray)
    responses: bytearray = field(default_factory=bytearray)


class Tap:
    """`with Tap() as tap:` listens at `tap.port`, and relays to `tap.target`."""

    def __init__(self) -> None:
        self.target = (HOST, 0)
        self.recordings: list[Recording] = []
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()
        self._accepting.join()

    def cut(self) -> None:
        """End every connection."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._sockets.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
                upstream = socket.create_connection(self.target)
            except OSError:
                return
            recording = Recording()
            self.recordings.append(recording)
            self._sockets += (client, upstream)
            for pair in ((client, upstream, recording.requests), (upstream, client, recording.responses)):
                threading.Thread(target=_relay, args=pair, daemon=True).start()


def _relay(source: socket.socket, sink: socket.socket, record: bytearray) -> None:
    with suppress(OSError):
        while chunk := source.recv(65536):
            record += chunk
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
