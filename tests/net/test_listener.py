"""Doors on loopback, and clients at them: asyncio's own loop and uvloop."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.memory import ALL_DOORS
from tests.net.services import HEARTBEAT, HEARTBEAT_KEY, Gated, Recorder, heartbeat
from tests.wire.samples import sample

from doorkeeper.errors import LocalProtocolError, NetworkError, RemoteProtocolError
from doorkeeper.net import requester as requester_module
from doorkeeper.net.limits import Limits
from doorkeeper.net.listener import Listener
from doorkeeper.net.loop import loop_factory, run
from doorkeeper.net.requester import Requester
from doorkeeper.wire.codec import encode_request
from doorkeeper.wire.framing import frame
from doorkeeper.wire.messages import API_VERSIONS, message_classes
from doorkeeper.wire.registry import Door, Registry, Served, VersionRange

Main = Callable[[], Coroutine[Any, Any, None]]


@pytest.fixture(params=["asyncio", "fastest"])
def within(request: pytest.FixtureRequest) -> Callable[[Main], None]:
    """Runs an async function on either loop, with a deadline far away."""
    factory = asyncio.new_event_loop if request.param == "asyncio" else loop_factory()

    def start(main: Main) -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(asyncio.wait_for(main(), 30))

    return start


@asynccontextmanager
async def door(service: Any, **options: Any) -> AsyncIterator[Listener]:
    listener = Listener("127.0.0.1", 0, service, **options)
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop(grace_seconds=0.05)


@asynccontextmanager
async def client(listener: Listener, **options: Any) -> AsyncIterator[Requester]:
    made = await Requester.connect("127.0.0.1", listener.port, client_id="me", **options)
    try:
        yield made
    finally:
        await made.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is about to happen; the test's deadline ends it otherwise."""
    while not condition():
        await asyncio.sleep(0.001)


async def read_to_end(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


class TestServing:
    def test_answers_on_a_free_port(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            service = Recorder()
            async with door(service) as listener, client(listener) as requester:
                assert listener.port > 0
                assert (await requester.send(HEARTBEAT)).error_code == 0
                assert service.peers[0].address == "127.0.0.1"
                assert service.asked[0].client_id == "me"

        within(main)

    def test_answers_pipelined_requests_in_order(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            service = Gated()
            limits = Limits(max_in_flight=10)
            async with door(service, limits=limits) as listener, client(listener) as requester:
                names = [str(number) for number in range(10)]
                futures = [requester.start(heartbeat(name)) for name in names]
                await until(lambda: service.waiting == 10)
                done: list[str] = []
                for name, future in zip(names, futures, strict=True):
                    future.add_done_callback(lambda _, name=name: done.append(name))  # type: ignore[misc]
                for name in reversed(names):
                    service.gate(name).set()
                await asyncio.gather(*futures)
                await until(lambda: len(done) == 10)
                assert done == names

        within(main)

    def test_carries_a_request_larger_than_any_chunk(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            service = Recorder(lambda request, peer: None)
            async with door(service) as listener, client(listener) as requester:
                produce = sample(message_classes(0, 11).request)
                topic = produce.topic_data[0]
                partition = sample(type(topic.partition_data[0]), records=bytes(range(256)) * 12_000)
                topic = sample(type(topic), name="t", partition_data=(partition,))
                large = sample(type(produce), topic_data=(topic,))
                requester.post(large)
                await until(lambda: bool(service.asked))
                assert service.asked[0].body == large

        within(main)

    def test_survives_garbage_on_the_port(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            async with door(Recorder()) as listener, client(listener) as requester:
                for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, bytes(100), frame(b"x")):
                    assert await read_to_end(listener.port, garbage) == b""
                assert (await requester.send(HEARTBEAT)).error_code == 0
                await until(lambda: listener.connections == 1)

        within(main)

    def test_refuses_a_frame_larger_than_its_limit(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            request = frame(encode_request(heartbeat("g" * 200), 0, None))
            async with door(Recorder(), limits=Limits(max_frame_bytes=100)) as listener:
                assert await read_to_end(listener.port, request) == b""

        within(main)


class TestLimits:
    @pytest.mark.parametrize("limits", [Limits(max_connections=1), Limits(max_connections_per_ip=1)])
    def test_closes_one_connection_too_many(self, within: Callable[[Main], None], limits: Limits) -> None:
        async def main() -> None:
            async with door(Recorder(), limits=limits) as listener:
                async with client(listener) as first:
                    await first.send(HEARTBEAT)
                    assert await read_to_end(listener.port, frame(encode_request(HEARTBEAT, 0, None))) == b""
                    assert (await first.send(HEARTBEAT)).error_code == 0
                await until(lambda: listener.connections == 0)
                async with client(listener) as second:
                    assert (await second.send(HEARTBEAT)).error_code == 0

        within(main)

    def test_closes_idle_connections_and_no_others(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            service = Gated()
            service.gate("idle").set()
            limits = Limits(idle_seconds=600)
            async with door(service, limits=limits) as listener, client(listener) as idle, client(listener) as busy:
                await idle.send(heartbeat("idle"))
                pending = busy.start(heartbeat("busy"))
                await until(lambda: service.waiting == 1)
                now = asyncio.get_running_loop().time()
                assert listener.close_idle(now + 599) == 0
                assert listener.close_idle(now + 601) == 1
                await until(lambda: not idle.is_open)
                assert busy.is_open
                service.gate("busy").set()
                await pending

        within(main)

    def test_sweeps_by_itself(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            async with door(Recorder(), limits=Limits(idle_seconds=0.01)) as listener, client(listener) as requester:
                await until(lambda: not requester.is_open)

        within(main)


class TestStopping:
    def test_finishes_what_is_in_flight(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            service = Gated()
            async with door(service) as listener, client(listener) as requester, client(listener):
                pending = asyncio.ensure_future(requester.send(heartbeat("last")))
                await until(lambda: service.waiting == 1)
                stopping = asyncio.ensure_future(listener.stop())
                await until(lambda: listener.connections == 1)
                with pytest.raises(NetworkError, match=f"127.0.0.1:{listener.port}"):
                    await Requester.connect("127.0.0.1", listener.port)
                service.gate("last").set()
                assert (await pending).error_code == 0
                await stopping
                assert listener.connections == 0

        within(main)

    def test_aborts_what_does_not_finish(
        self, within: Callable[[Main], None], caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            service = Gated()
            async with door(service) as listener, client(listener) as requester:
                pending = requester.start(heartbeat("never"))
                await until(lambda: service.waiting == 1)
                await listener.stop(grace_seconds=0.01)
                with pytest.raises(NetworkError):
                    await pending
                assert listener.connections == service.waiting == 0

        within(main)
        assert "1 connections did not drain" in caplog.text

    def test_stops_before_it_has_started(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            await Listener("127.0.0.1", 0, Recorder()).stop()

        within(main)


class TestRequester:
    def test_says_who_can_not_be_reached(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            async with door(Recorder()) as listener:
                port = listener.port
            with pytest.raises(NetworkError, match=f"127.0.0.1:{port}"):
                await Requester.connect("127.0.0.1", port)

        within(main)

    def test_gives_up_and_closes_when_the_server_is_silent(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            async with door(Gated()) as listener, client(listener) as requester:
                other = requester.start(heartbeat("also"))
                with pytest.raises(NetworkError, match=r"no response to HEARTBEAT within 0\.01 s"):
                    await requester.send(heartbeat("silent"), timeout=0.01)
                assert not requester.is_open
                with pytest.raises(NetworkError):
                    await other
                with pytest.raises(NetworkError, match="closed"):
                    await requester.send(HEARTBEAT)

        within(main)

    def test_refuses_more_requests_than_it_may_await(
        self, within: Callable[[Main], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(requester_module, "MAX_AWAITED", 1)

        async def main() -> None:
            async with door(Gated()) as listener, client(listener) as requester:
                requester.start(HEARTBEAT)
                with pytest.raises(LocalProtocolError, match="1 responses are awaited already"):
                    requester.start(HEARTBEAT)

        within(main)

    def test_ends_when_the_server_talks_nonsense(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            async with door(Recorder(lambda request, peer: b"")) as listener, client(listener) as requester:
                with pytest.raises(RemoteProtocolError, match="HeartbeatResponse"):
                    await requester.send(HEARTBEAT)

            async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(frame(b"\0\0\0\x63"))
                writer.close()

            server = await asyncio.start_server(babble, "127.0.0.1", 0)
            other = await Requester.connect("127.0.0.1", server.sockets[0].getsockname()[1])
            with pytest.raises(NetworkError):
                await other.send(HEARTBEAT)
            await other.close()
            server.close()
            await server.wait_closed()

        within(main)

    def test_learns_what_the_server_serves(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            service = Recorder()
            async with door(service) as listener, client(listener) as requester:
                versions = await requester.negotiate("doorkeeper", "1")
                assert versions[HEARTBEAT_KEY] == (0, 4)
                assert service.peers[0].software_name == "doorkeeper"
                assert requester.version_for(HEARTBEAT_KEY, VersionRange(2, 3)) == 3
                with pytest.raises(RemoteProtocolError, match="does not serve HEARTBEAT version 5 to 6"):
                    requester.version_for(HEARTBEAT_KEY, VersionRange(5, 6))

        within(main)

    def test_steps_down_where_the_server_is_older(self, within: Callable[[Main], None]) -> None:
        """KIP-511: asked at a version that it does not know, the server says which it does."""

        async def main() -> None:
            service = Recorder()
            service.registry = Registry(
                [Served(API_VERSIONS, 0, 2, ALL_DOORS), Served(HEARTBEAT_KEY, 0, 4, ALL_DOORS)], Door.BROKER
            )
            async with door(service) as listener, client(listener) as requester:
                versions = await requester.negotiate("doorkeeper", "1")
                assert versions[HEARTBEAT_KEY] == (0, 5)
                assert [request.api_version for request in service.asked] == [2]

        within(main)

    def test_waits_while_the_server_does_not_read(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            service = Recorder()
            async with door(service) as listener, client(listener) as requester:
                requester.pause_writing()
                pending = asyncio.ensure_future(requester.send(HEARTBEAT))
                await asyncio.sleep(0)
                assert requester._connection.in_flight == 0
                requester.resume_writing()
                assert (await pending).error_code == 0

        within(main)

    def test_refuses_a_server_that_refuses_its_name(self, within: Callable[[Main], None]) -> None:
        async def main() -> None:
            async with door(Recorder()) as listener, client(listener) as requester:
                with pytest.raises(RemoteProtocolError, match="ApiVersions answered error 42"):
                    await requester.negotiate("no name", "1")

        within(main)


def test_speaks_tls(within: Callable[[Main], None], tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    extra = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *extra], check=True, capture_output=True)
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, key)
    client_side = ssl.create_default_context(cafile=str(certificate))

    async def main() -> None:
        async with door(Recorder(), tls=server_side) as listener:
            async with client(listener, tls=client_side) as requester:
                assert (await requester.send(HEARTBEAT)).error_code == 0
            with pytest.raises(NetworkError):
                await client(listener, tls=ssl.create_default_context()).__aenter__()

    within(main)


def test_runs_a_coroutine_on_the_fastest_loop() -> None:
    async def main() -> str:
        return type(asyncio.get_running_loop()).__module__.partition(".")[0]

    assert run(main()) in {"uvloop", "asyncio"}
