"""A few pages over HTTP/1.1, for metrics and health: GET and HEAD, without bodies, files or state.

h11 reads and writes the protocol; this is the asyncio shell around it. Loaded only where such a port is asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple, cast

import h11

from doorkeeper.net.limits import SECONDS

LOGGER: Final = logging.getLogger("doorkeeper.http")

MAX_CONNECTIONS: Final = 100
IDLE_SECONDS: Final = 60 * SECONDS
PLAIN: Final = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """What a path shows."""

    body: str
    content_type: str = PLAIN
    status: HTTPStatus = HTTPStatus.OK


Show = Callable[[str], Awaitable[Page]]
"""Makes the page; is told the `Accept` header."""


class HttpServer:
    """Some pages at one address: `start`, then `port`, then `stop`."""

    def __init__(self, host: str, port: int, pages: Mapping[str, Show]) -> None:
        """:param port: 0 for a free one."""
        self.host = host
        self.port = port
        self._pages = pages
        self._server: asyncio.Server | None = None
        self._open: set[_Visitor] = set()

    async def start(self) -> None:
        """Bind and serve.

        :raises OSError: when the address can't be bound.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Visitor(self._pages, self._open), self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is not None:
            self._server.close()
        for one in list(self._open):
            one.close()
        if self._server is not None:
            await self._server.wait_closed()


class _Visitor(asyncio.Protocol):
    """One connection; requests are answered one after the other."""

    def __init__(self, pages: Mapping[str, Show], opened: set[_Visitor]) -> None:
        self._pages = pages
        self._opened = opened
        self._connection = h11.Connection(h11.SERVER)
        self._transport: asyncio.Transport | None = None
        self._asked: h11.Request | None = None
        self._answering: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if len(self._opened) >= MAX_CONNECTIONS:
            self._transport.abort()
            return
        self._opened.add(self)
        self._rest()

    def connection_lost(self, error: Exception | None) -> None:
        self._opened.discard(self)
        self._transport = None
        if self._idle is not None:
            self._idle.cancel()
        if self._answering is not None:
            self._answering.cancel()

    def data_received(self, data: bytes) -> None:
        self._rest()
        self._connection.receive_data(data)
        self._read_on()

    def eof_received(self) -> bool:
        self._connection.receive_data(b"")
        self._read_on()
        return self._answering is not None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _rest(self) -> None:
        """Close the connection unless something comes soon."""
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self.close)

    def _read_on(self) -> None:
        while self._answering is None:
            try:
                event = self._connection.next_event()
            except h11.RemoteProtocolError as error:
                self._send(Page("bad request\n", status=HTTPStatus(error.error_status_hint)), with_body=True)
                self.close()
                return
            if isinstance(event, h11.Request):
                self._asked = event
            elif isinstance(event, h11.EndOfMessage):
                self._answering = asyncio.get_running_loop().create_task(self._answer())
            elif isinstance(event, h11.ConnectionClosed):
                self.close()
                return
            elif event in (h11.NEED_DATA, h11.PAUSED):
                return

    async def _answer(self) -> None:
        asked = self._asked
        assert asked is not None
        page = await self._page(asked)
        self._send(page, with_body=asked.method != b"HEAD")
        self._answering = None
        if self._connection.our_state is h11.DONE and self._connection.their_state is h11.DONE:
            self._connection.start_next_cycle()
            self._read_on()
        else:
            self.close()

    async def _page(self, asked: h11.Request) -> Page:
        if asked.method not in (b"GET", b"HEAD"):
            return Page("only GET and HEAD\n", status=HTTPStatus.METHOD_NOT_ALLOWED)
        path = asked.target.decode("ascii", "replace").partition("?")[0]
        show = self._pages.get(path)
        if show is None:
            known = "".join(f"{one}\n" for one in self._pages)
            return Page(f"there is nothing here; there is\n{known}", status=HTTPStatus.NOT_FOUND)
        headers = dict(asked.headers)
        try:
            return await show(headers.get(b"accept", b"").decode("latin-1"))
        except Exception:
            LOGGER.exception("%s failed", path)
            return Page("a fault of ours\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)

    def _send(self, page: Page, *, with_body: bool) -> None:
        if self._transport is None:
            return
        body = page.body.encode("utf-8", "replace")
        head = h11.Response(
            status_code=page.status,
            headers=[("Content-Type", page.content_type), ("Content-Length", str(len(body)))],
            reason=page.status.phrase.encode("ascii"),
        )
        pieces = [self._connection.send(head)]
        if with_body:
            pieces.append(self._connection.send(h11.Data(data=body)))
        pieces.append(self._connection.send(h11.EndOfMessage()))
        self._transport.writelines([one for one in pieces if one])
