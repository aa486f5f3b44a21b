"""A few pages over HTTP, to whoever speaks it well or badly."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus

import pytest

from doorkeeper.net.http import HttpServer, Page


async def hello(accept: str) -> Page:
    return Page(f"hello {accept}\n")


async def broken(_: str) -> Page:
    raise RuntimeError("on purpose")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = HttpServer("127.0.0.1", 0, {"/hello": hello, "/broken": broken})
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
    yield server.port
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture
def visitor(port: int) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    yield connection
    connection.close()


def test_shows_a_page_again_and_again_over_one_connection(visitor: http.client.HTTPConnection) -> None:
    for _ in range(3):
        visitor.request("GET", "/hello?x=1", headers={"Accept": "text/plain"})
        answer = visitor.getresponse()
        assert (answer.status, answer.read()) == (HTTPStatus.OK, b"hello text/plain\n")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_head_has_no_body(visitor: http.client.HTTPConnection) -> None:
    visitor.request("HEAD", "/hello")
    answer = visitor.getresponse()
    assert (answer.status, answer.headers["Content-Length"], answer.read()) == (HTTPStatus.OK, "7", b"")
    visitor.request("GET", "/hello")
    assert visitor.getresponse().read() == b"hello \n"


def test_says_what_there_is_when_asked_for_what_is_not(visitor: http.client.HTTPConnection) -> None:
    visitor.request("GET", "/nothing")
    answer = visitor.getresponse()
    assert answer.status == HTTPStatus.NOT_FOUND
    assert b"/hello" in answer.read()


def test_other_methods_are_refused_whatever_they_send(visitor: http.client.HTTPConnection) -> None:
    visitor.request("POST", "/hello", body=b"x" * 100_000)
    assert visitor.getresponse().status == HTTPStatus.METHOD_NOT_ALLOWED


@pytest.mark.filterwarnings("ignore")
def test_a_fault_of_ours_is_no_news_to_the_visitor(
    visitor: http.client.HTTPConnection, caplog: pytest.LogCaptureFixture
) -> None:
    visitor.request("GET", "/broken")
    answer = visitor.getresponse()
    assert (answer.status, answer.read()) == (HTTPStatus.INTERNAL_SERVER_ERROR, b"a fault of ours\n")
    assert "on purpose" in caplog.text


GARBAGE = (b"\x00\x00\x00\x10\x00\x12\x00\x03\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"A" * 70_000)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_who_speaks_badly_is_told_and_left(port: int, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as visitor:
        visitor.sendall(garbage)
        received = b""
        while chunk := visitor.recv(65536):
            received += chunk
        assert received.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))


def test_a_visitor_that_leaves_in_the_middle_does_no_harm(port: int, visitor: http.client.HTTPConnection) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as rude:
        rude.sendall(b"GET /hello HT")
    visitor.request("GET", "/hello")
    assert visitor.getresponse().status == HTTPStatus.OK
