"""A gateway process before a cluster of ours: doors, logins, TLS, signals, workers."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import ssl
import struct
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.running import RunningCluster
from tests.gateway.running import HOST, RunningGateway, ThreadedGateway, wait_until
from tests.gateway.test_proxy_protocol import header
from tests.kafka.requests import Connection, api_versions, live_brokers, make_request

from doorkeeper.client import Admin
from doorkeeper.client.settings import read_settings
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.wire.codec import decode_response, encode_request
from doorkeeper.wire.framing import frame

HEARTBEAT, NOT_COORDINATOR = 12, 16
LONG = "g" * 250
PIPELINED = 900
"""Requests at once, below the limit of what may be unanswered."""
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SASL = {
    "listeners": f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:0,SECURE://{HOST}:0",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_PLAINTEXT",
    "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.secure.plain.sasl.jaas.config": f'{PLAIN} required user_alice="secret" user_gate="keeper";',
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data"), brokers=2) as running:
        yield running


def heartbeat(group: str) -> Any:
    return make_request(HEARTBEAT, 4, group_id=group, generation_id=1, member_id="m", group_instance_id=None)


def verdicts_of(path: Path, count: int) -> list[dict[str, Any]]:
    """The lines of a verdict log, as soon as there are so many."""
    wait_until(lambda: path.exists() and len(path.read_text().splitlines()) >= count)
    return [json.loads(line) for line in path.read_text().splitlines()]


# -- doors


def test_every_node_has_a_port_of_the_range_and_keeps_it(cluster: RunningCluster, tmp_path: Path) -> None:
    first = two_free_ports()
    words = ("--upstream", cluster.bootstrap_servers, "--node-ports", f"{first}-{first + 1}")
    for _ in range(2):
        with ThreadedGateway(*words, "--state", str(tmp_path / "ports.json")) as gateway:
            assert gateway.port(NodeKind.BROKER, 1) == first
            assert gateway.port(NodeKind.BROKER, 2) == first + 1
            with gateway.connect(NodeKind.BROKER, 2) as connection:
                assert live_brokers(connection) == {1, 2}


def two_free_ports() -> int:
    """The first of two neighbours that nobody uses."""
    while True:
        with socket.socket() as one, socket.socket() as other, suppress(OSError):
            one.bind((HOST, 0))
            first: int = one.getsockname()[1]
            other.bind((HOST, first + 1))
            return first


def test_a_range_that_is_too_small_ends_it_with_its_name(cluster: RunningCluster, tmp_path: Path) -> None:
    gateway = RunningGateway("--upstream", cluster.bootstrap_servers, "--node-ports", "20100-20100", cwd=tmp_path)
    with pytest.raises(AssertionError, match=r"--node-ports 20100-20100 has no port left"), gateway:
        pass
    assert gateway.process.returncode == 3


def test_without_a_range_nodes_come_after_the_listener(cluster: RunningCluster) -> None:
    with ThreadedGateway("--upstream", cluster.bootstrap_servers) as gateway:
        assert gateway.port() < gateway.port(NodeKind.BROKER, 1) < gateway.port(NodeKind.BROKER, 2)


def test_clients_never_learn_a_real_address(cluster: RunningCluster) -> None:
    with (
        ThreadedGateway("--upstream", cluster.bootstrap_servers, "--advertise", "kafka.example") as gateway,
        gateway.connect() as connection,
    ):
        topics = make_request(
            3, 12, topics=[], allow_auto_topic_creation=False, include_topic_authorized_operations=False
        )
        told = {(one.node_id, one.host, one.port) for one in connection.call(topics).brokers}
        assert told == {(node, "kafka.example", gateway.port(NodeKind.BROKER, node)) for node in (1, 2)}


def test_a_gateway_before_nothing_waits_for_it(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
    file = tmp_path / "gateway.yaml"
    file.write_text(f"upstream: {HOST}:{port}\nmetadata.max.age.ms: 50\nhttp: {HOST}:0\n")
    with RunningGateway(str(file)) as gateway:
        address = http_address(gateway)
        assert status(f"{address}/readyz") == 503
        assert status(f"{address}/livez") == 200
        with pytest.raises(OSError), gateway.connect() as connection:
            api_versions(connection)
        with RunningCluster(tmp_path / "data", overrides={"listeners": listeners(port)}):
            wait_until(lambda: status(f"{address}/readyz") == 200)
            with gateway.connect() as connection:
                assert live_brokers(connection) == {1}


def listeners(port: int) -> str:
    return f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:0"


def status(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


# -- modes and signals


def test_a_breach_is_logged_with_who_did_it(cluster: RunningCluster, tmp_path: Path) -> None:
    log = tmp_path / "verdicts.jsonl"
    with (
        ThreadedGateway("--upstream", cluster.bootstrap_servers, "--verdict-log", str(log)) as gateway,
        gateway.connect(NodeKind.BROKER, 1, "billing") as connection,
    ):
        api_versions(connection)
        code = connection.call(heartbeat(LONG)).error_code
        assert code == NOT_COORDINATOR
        (line,) = verdicts_of(log, 1)
    assert (line["mode"], line["rule"], line["answer"]) == ("evaluate", "GROUP_ID_TOO_LONG", 42)
    assert (line["principal"], line["address"], line["client_id"]) == ("User:ANONYMOUS", HOST, "billing")
    assert (line["software_name"], line["listener"]) == ("oracle", "broker 1")


def test_many_requests_at_once_are_answered_in_their_order_whoever_answers(cluster: RunningCluster) -> None:
    with (
        ThreadedGateway("--upstream", cluster.bootstrap_servers, "--mode", "enforce") as gateway,
        gateway.connect() as connection,
    ):
        groups = [LONG if number % 7 == 3 else "readers" for number in range(PIPELINED)]
        frames = [
            encode_request(heartbeat(group), number, "client" if number % 50 else "another")
            for number, group in enumerate(groups)
        ]
        connection._socket.sendall(b"".join(frame(one) for one in frames))
        answers = [connection.receive_frame() for _ in frames]
    told = [(int.from_bytes(one[:4], "big"), decode_response(HEARTBEAT, 4, one).error_code) for one in answers]
    assert [number for number, _ in told] == list(range(PIPELINED))
    assert {number for number, code in told if code == 42} == {
        number for number, group in enumerate(groups) if group == LONG
    }


def test_a_signal_reads_the_file_again_for_open_connections_too(cluster: RunningCluster, tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    text = f"upstream: {cluster.bootstrap_servers}\n"
    file.write_text(text)
    with RunningGateway(str(file)) as gateway, gateway.connect() as connection:
        assert connection.call(heartbeat(LONG)).error_code == NOT_COORDINATOR
        file.write_text(text + "modes: {group_id: enforce}\n")
        gateway.signal(signal.SIGHUP)
        wait_until(lambda: "group_id: enforce" in gateway.text)
        assert connection.call(heartbeat(LONG)).error_code == 42
        file.write_text("mode: nonsense\n")
        gateway.signal(signal.SIGHUP)
        wait_until(lambda: "stay as they are" in gateway.text)
        assert connection.call(heartbeat(LONG)).error_code == 42


def test_an_end_signal_waits_for_answers(cluster: RunningCluster) -> None:
    with RunningGateway("--upstream", cluster.bootstrap_servers) as gateway, gateway.connect() as connection:
        api_versions(connection)
        connection.send(fetch(max_wait=1500))
        gateway.signal()
        assert connection.receive_frame()
        assert gateway.wait() == 0
        with pytest.raises(OSError):
            connection.receive_frame()


def fetch(max_wait: int) -> Any:
    """A request whose answer takes so many milliseconds."""
    waits = timedelta(milliseconds=max_wait)
    return make_request(1, 12, max_wait=waits, min_bytes=1, topics=[], forgotten_topics_data=[])


# -- logins


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a listener with SASL."""
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides=SASL) as running:
        yield next(f"{HOST}:{door.port}" for door in running.node().doors if door.listener == "SECURE")


def client_file(folder: Path, user: str, password: str) -> Path:
    file = folder / "client.properties"
    jaas = f'{PLAIN} required username="{user}" password="{password}";'
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n")
    return file


@pytest.fixture
def secure_gateway(secure: str, tmp_path: Path) -> Iterator[ThreadedGateway]:
    words = ("--upstream", secure, "--verdict-log", str(tmp_path / "verdicts.jsonl"), "--mode", "enforce")
    config = str(client_file(tmp_path, "gate", "keeper"))
    with ThreadedGateway(*words, "--upstream-config", config) as running:
        yield running


def test_a_login_is_passed_through_and_names_the_principal(secure_gateway: ThreadedGateway, tmp_path: Path) -> None:
    properties = dict(line.split("=", 1) for line in client_file(tmp_path, "alice", "secret").read_text().splitlines())

    async def describe() -> int:
        async with Admin(secure_gateway.bootstrap_servers, settings=read_settings(properties)) as admin:
            return len((await admin.describe_cluster()).nodes)

    assert asyncio.run(describe()) == 1
    with secure_gateway.connect() as connection:
        log_in_bare(connection, b"\0alice\0secret")
        assert connection.call(heartbeat(LONG)).error_code == 42
    (line,) = verdicts_of(tmp_path / "verdicts.jsonl", 1)
    assert line["principal"] == "User:alice"


def log_in_bare(connection: Connection, message: bytes) -> None:
    """SaslHandshake of version 0, and the mechanism's message without a header."""
    assert connection.call(make_request(17, 0, mechanism="PLAIN")).error_code == 0
    connection.send_bytes(message)
    assert connection.receive_frame() == b""


# -- TLS and PROXY


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, a wildcard certificate of the gateway's, and a client's."""
    folder = tmp_path_factory.mktemp("tls")
    run_openssl("req", "-x509", *new_key(folder / "ca.key"), "-subj", "/CN=authority", "-out", str(folder / "ca.pem"))
    names = "subjectAltName=DNS:*.kafka.example,DNS:kafka.example,IP:127.0.0.1"
    for name, subject, extra in (("server", "/CN=gateway", names), ("client", "/O=Example/CN=billing", "")):
        request = folder / f"{name}.csr"
        run_openssl("req", *new_key(folder / f"{name}.key"), "-subj", subject, "-out", str(request))
        extensions = folder / f"{name}.ext"
        extensions.write_text(extra)
        authority = ("-CA", str(folder / "ca.pem"), "-CAkey", str(folder / "ca.key"), "-CAcreateserial")
        out = ("-days", "2", "-extfile", str(extensions), "-out", str(folder / f"{name}.pem"))
        run_openssl("x509", "-req", "-in", str(request), *authority, *out)
    return folder


def new_key(path: Path) -> tuple[str, ...]:
    return ("-newkey", "rsa:2048", "-nodes", "-keyout", str(path))


def run_openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)


class SecureConnection(Connection):
    """A connection under TLS, to a name."""

    def __init__(self, port: int, folder: Path, name: str, preface: bytes = b"") -> None:
        super().__init__((HOST, port))
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        context.load_cert_chain(folder / "client.pem", folder / "client.key")
        if preface:
            self._socket.sendall(preface)
        self._socket: ssl.SSLSocket = context.wrap_socket(self._socket, server_hostname=name)

    def end(self) -> None:
        """Say that no more comes, as TLS says it."""
        with suppress(ssl.SSLError, OSError):
            self._socket.unwrap()


def tls_words(folder: Path) -> tuple[str, ...]:
    own = ("--tls-certificate", str(folder / "server.pem"), "--tls-key", str(folder / "server.key"))
    return (*own, "--tls-client-ca", str(folder / "ca.pem"))


def test_names_of_nodes_and_the_principal_of_a_certificate(
    cluster: RunningCluster, certificates: Path, tmp_path: Path
) -> None:
    log = tmp_path / "verdicts.jsonl"
    words = ("--upstream", cluster.bootstrap_servers, "--sni-domain", "kafka.example", "--verdict-log", str(log))
    with ThreadedGateway(*words, *tls_words(certificates)) as gateway:
        port = gateway.port()
        topics = make_request(
            3, 12, topics=[], allow_auto_topic_creation=False, include_topic_authorized_operations=False
        )
        with SecureConnection(port, certificates, "bootstrap.kafka.example") as connection:
            told = {(one.host, one.port) for one in connection.call(topics).brokers}
        assert told == {("broker-1.kafka.example", port), ("broker-2.kafka.example", port)}
        with SecureConnection(port, certificates, "broker-2.kafka.example") as connection:
            connection.call(heartbeat(LONG))
        (line,) = verdicts_of(log, 1)
        assert (line["principal"], line["listener"]) == ("User:CN=billing,O=Example", "broker 2")
        with (
            SecureConnection(port, certificates, "broker-3.kafka.example") as connection,
            pytest.raises(OSError),
        ):
            connection.call(topics)


def test_a_client_under_tls_leaves_without_a_warning(
    cluster: RunningCluster, certificates: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        ThreadedGateway("--upstream", cluster.bootstrap_servers, *tls_words(certificates)) as gateway,
        SecureConnection(gateway.port(), certificates, HOST) as connection,
    ):
        connection.call(heartbeat("readers"))
        connection.end()
        assert gateway.process is not None
        population = gateway.process.population
        wait_until(lambda: not population.connections)
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


def test_upstream_may_want_tls_and_a_certificate(cluster: RunningCluster, certificates: Path, tmp_path: Path) -> None:
    """A gateway that serves TLS is the upstream of another one."""
    log = tmp_path / "verdicts.jsonl"
    store = tmp_path / "keystore.pem"
    store.write_text((certificates / "client.key").read_text() + (certificates / "client.pem").read_text())
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SSL\nssl.truststore.type=PEM\nssl.keystore.type=PEM\n"
        f"ssl.truststore.location={certificates / 'ca.pem'}\nssl.keystore.location={store}\n"
    )
    first = ("--upstream", cluster.bootstrap_servers, *tls_words(certificates), "--verdict-log", str(log))
    with ThreadedGateway(*first) as behind:
        second = ("--upstream", behind.bootstrap_servers, "--upstream-config", str(file), "--mode", "off")
        with ThreadedGateway(*second) as gateway, gateway.connect(NodeKind.BROKER, 2) as connection:
            assert live_brokers(connection) == {1, 2}
            connection.call(heartbeat(LONG))
        (line,) = verdicts_of(log, 1)
        assert line["principal"] == "User:CN=billing,O=Example"


@pytest.mark.parametrize("secured", [False, True])
def test_a_load_balancer_names_the_client(
    cluster: RunningCluster, certificates: Path, tmp_path: Path, secured: bool
) -> None:
    log = tmp_path / "verdicts.jsonl"
    words = ("--upstream", cluster.bootstrap_servers, "--proxy-protocol", "--verdict-log", str(log))
    with ThreadedGateway(*words, *(tls_words(certificates) if secured else ())) as gateway:
        preface = header("203.0.113.9", 4711)
        if secured:
            connection: Connection = SecureConnection(gateway.port(), certificates, "kafka.example", preface)
        else:
            connection = gateway.connect()
            connection._socket.sendall(preface)
        with connection:
            assert live_brokers(connection) == {1, 2}
            connection.call(heartbeat(LONG))
        (line,) = verdicts_of(log, 1)
        assert line["address"] == "203.0.113.9"
        with gateway.connect() as bare, pytest.raises(OSError):
            live_brokers(bare)


# -- workers


def test_workers_share_the_ports_and_are_counted_together(cluster: RunningCluster) -> None:
    words = ("--upstream", cluster.bootstrap_servers, "--workers", "2", "--http", f"{HOST}:0")
    with RunningGateway(*words) as gateway:
        address = http_address(gateway)
        for _ in range(8):
            with gateway.connect() as connection:
                assert live_brokers(connection) == {1, 2}
        assert metric(address, "doorkeeper_gateway_connections_accepted_total") == 8
        assert metric(address, "doorkeeper_gateway_ready") == 2
        assert metric(address, "doorkeeper_gateway_nodes") == 2


def http_address(gateway: RunningGateway) -> str:
    """Where health and metrics are; what it says of that is read by another thread than its doors."""
    wait_until(lambda: re.search("health and metrics at .*\n", gateway.text) is not None)
    return gateway.text.split("health and metrics at ")[1].split()[0]


def metric(address: str, name: str) -> float:
    with urllib.request.urlopen(f"{address}/metrics", timeout=10) as response:
        lines = response.read().decode().splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


def test_workers_are_replaced_without_a_gap(cluster: RunningCluster) -> None:
    with RunningGateway("--upstream", cluster.bootstrap_servers, "--workers", "1") as gateway:
        (old,) = children(gateway)
        with gateway.connect() as connection:
            api_versions(connection)
            connection.send(fetch(max_wait=1000))
            gateway.signal(signal.SIGUSR2)
            wait_until(lambda: len(set(children(gateway)) - {old}) == 1)
            assert connection.receive_frame()
        wait_until(lambda: old not in children(gateway))
        with gateway.connect() as connection:
            assert live_brokers(connection) == {1, 2}


def children(gateway: RunningGateway) -> list[int]:
    path = Path(f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children")
    return [int(one) for one in path.read_text().split()]


# -- odd connections


def test_a_client_that_sends_no_more_gets_its_answers(cluster: RunningCluster) -> None:
    with ThreadedGateway("--upstream", cluster.bootstrap_servers) as gateway, gateway.connect() as connection:
        connection.send(make_request(18, 0))
        connection._socket.shutdown(socket.SHUT_WR)
        assert connection.receive_frame()


def test_more_requests_than_may_be_unanswered_are_answered_in_turn(cluster: RunningCluster, tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f"upstream: {cluster.bootstrap_servers}\nmax.pipelined.requests: 5\n")
    with ThreadedGateway(str(file)) as gateway, gateway.connect() as connection:
        for number in range(200):
            connection.send_bytes(struct.pack(">hhih", 18, 0, number, -1))
        for number in range(200):
            assert connection.receive_frame()[:4] == struct.pack(">i", number)


def test_connections_beyond_the_limit_are_refused(cluster: RunningCluster, tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f"upstream: {cluster.bootstrap_servers}\nmax.connections: 1\nconnections.max.idle.ms: 60000\n")
    with ThreadedGateway(str(file)) as gateway, gateway.connect() as first:
        api_versions(first)
        with gateway.connect() as second, pytest.raises(OSError):
            api_versions(second)


def test_idle_connections_are_closed(cluster: RunningCluster, tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f"upstream: {cluster.bootstrap_servers}\nconnections.max.idle.ms: 100\n")
    with ThreadedGateway(str(file)) as gateway, gateway.connect() as connection:
        api_versions(connection)
        assert connection._socket.recv(1) == b""
