"""Logins at a listener with SASL: PLAIN and both SCRAMs, by our own client and by those that people use."""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.running import HOST, RunningCluster
from tests.kafka import requests as wire
from tests.kafka.requests import Connection, Operation, make_request
from tests.kafka.tools import KafkaTools

from doorkeeper.client import Admin, ScramMechanism, ScramUpsertion
from doorkeeper.client.errors import NetworkError, SaslAuthenticationError
from doorkeeper.client.settings import read_settings
from doorkeeper.cluster.handlers.call import Call
from doorkeeper.wire.jaas import LOGIN_MODULES

confluent_admin = pytest.importorskip("confluent_kafka.admin")
kafka_admin = pytest.importorskip("kafka.admin")

MECHANISMS = tuple(LOGIN_MODULES)
USER, PASSWORD = "alice", 'p ä,=s"1'
WRONG = "not-her-password"
SECONDS = 20
BACKSLASH = "\\"
SASL_HANDSHAKE, API_VERSIONS, METADATA, SASL_AUTHENTICATE = 17, 18, 3, 36
NONE, UNSUPPORTED_MECHANISM, ILLEGAL_STATE, AUTHENTICATION_FAILED = 0, 33, 34, 58
PLAIN_REFUSAL = "Authentication failed: Invalid username or password"
SCRAM_REFUSAL = "Authentication failed during authentication due to invalid credentials with SASL mechanism"
PLAIN_MODULE = LOGIN_MODULES["PLAIN"]
SCRAM_MODULE = LOGIN_MODULES["SCRAM-SHA-256"]


def quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '\\"'))


def plain_jaas(**users: str) -> str:
    return f"{PLAIN_MODULE} required {' '.join(f'user_{name}={quoted(text)}' for name, text in users.items())};"


PLAIN_KEY = "listener.name.secure.plain.sasl.jaas.config"
OVERRIDES = {
    "listeners": f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:0,SECURE://{HOST}:0",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_PLAINTEXT",
    "listener.name.secure.sasl.enabled.mechanisms": ",".join(MECHANISMS),
    PLAIN_KEY: plain_jaas(alice=PASSWORD, bob="builder"),
    "listener.name.secure.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "connection.failed.authentication.delay.ms": "1",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path_factory.mktemp("data"), overrides=OVERRIDES) as running:
        asyncio.run(store_credentials(running))
        # The answer came from the controller; the broker may hear of it a moment later.
        running.wait_until(lambda: len(running.node().broker.image.scram.credentials) == 2)  # type: ignore[union-attr]
        yield running


async def store_credentials(cluster: RunningCluster) -> None:
    kinds = (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    async with Admin(cluster.bootstrap_servers) as admin:
        answers = await admin.alter_user_scram_credentials(
            [ScramUpsertion(USER, kinds[0], PASSWORD.encode(), salt=b"short")]
        )
        answers.require()
        answers = await admin.alter_user_scram_credentials([ScramUpsertion(USER, kinds[1], PASSWORD.encode())])
        answers.require()


def secure_address(cluster: RunningCluster) -> tuple[str, int]:
    return HOST, next(one.port for one in cluster.node().doors if one.listener == "SECURE")


def secure_server(cluster: RunningCluster) -> str:
    return "{}:{}".format(*secure_address(cluster))


def client_properties(mechanism: str, password: str = PASSWORD, name: str = USER) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{LOGIN_MODULES[mechanism]} required username={quoted(name)} password={quoted(password)};",
    }


async def describe(cluster: RunningCluster, properties: dict[str, str]) -> set[int]:
    async with Admin(secure_server(cluster), settings=read_settings(properties)) as admin:
        return {node.id for node in (await admin.describe_cluster()).nodes}


@pytest.mark.parametrize("mechanism", MECHANISMS)
class TestEveryMechanism:
    def test_our_client_logs_in(self, cluster: RunningCluster, mechanism: str) -> None:
        assert asyncio.run(describe(cluster, client_properties(mechanism))) == {1}

    @pytest.mark.parametrize(("name", "password"), [(USER, WRONG), ("nobody", PASSWORD)])
    def test_wrong_credentials_are_refused_alike_and_show_in_no_log(
        self, cluster: RunningCluster, caplog: pytest.LogCaptureFixture, mechanism: str, name: str, password: str
    ) -> None:
        caplog.set_level(logging.DEBUG)
        properties = client_properties(mechanism, password, name)
        with pytest.raises(SaslAuthenticationError) as caught:
            asyncio.run(describe(cluster, properties))
        expected = PLAIN_REFUSAL if mechanism == "PLAIN" else f"{SCRAM_REFUSAL} {mechanism}"
        assert expected in str(caught.value)
        assert expected in caplog.text
        assert password not in caplog.text

    def test_confluent_kafka_logs_in(self, cluster: RunningCluster, mechanism: str) -> None:
        admin = confluent_admin.AdminClient(confluent_settings(cluster, mechanism, PASSWORD))
        described = admin.describe_cluster(request_timeout=SECONDS).result(SECONDS)
        assert [node.id for node in described.nodes] == [1]

    def test_confluent_kafka_hears_that_its_password_is_wrong(self, cluster: RunningCluster, mechanism: str) -> None:
        heard: list[Any] = []
        settings = confluent_settings(cluster, mechanism, WRONG) | {"error_cb": heard.append}
        admin = confluent_admin.AdminClient(settings)
        # librdkafka tries again and again: what it heard comes with the polls.
        for _ in range(SECONDS):
            admin.poll(1)
            if any(error.name() == "_AUTHENTICATION" for error in heard):
                return
        pytest.fail(f"no authentication failure in {heard}")

    def test_kafka_python_logs_in(self, cluster: RunningCluster, mechanism: str) -> None:
        admin = kafka_admin.KafkaAdminClient(
            bootstrap_servers=secure_server(cluster),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_plain_username=USER,
            sasl_plain_password=PASSWORD,
        )
        try:
            assert [broker["port"] for broker in admin.describe_cluster()["brokers"]] == [secure_address(cluster)[1]]
        finally:
            admin.close()

    @pytest.mark.kafka
    def test_kafkas_own_client_logs_in(
        self, cluster: RunningCluster, kafka_tools: KafkaTools, tmp_path: Path, mechanism: str
    ) -> None:
        told = kafka_tools.run("kafka-configs", *as_client(cluster, tmp_path, client_properties(mechanism)))
        assert "Dynamic configs for broker 1 are:" in told


@pytest.mark.kafka
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_kafkas_own_client_hears_that_its_password_is_wrong(
    cluster: RunningCluster, kafka_tools: KafkaTools, tmp_path: Path, mechanism: str
) -> None:
    arguments = as_client(cluster, tmp_path, client_properties(mechanism, WRONG))
    with pytest.raises(AssertionError, match="SaslAuthenticationException: Authentication failed"):
        kafka_tools.run("kafka-configs", *arguments)


def as_client(cluster: RunningCluster, folder: Path, properties: dict[str, str]) -> tuple[str, ...]:
    file = folder / "client.properties"
    lines = (f"{key}={value.replace(BACKSLASH, BACKSLASH * 2)}\n" for key, value in properties.items())
    file.write_text("".join(lines), encoding="latin-1")
    where = ("--bootstrap-server", secure_server(cluster), "--command-config", str(file))
    return (*where, "--entity-type", "brokers", "--entity-name", "1", "--describe")


def confluent_settings(cluster: RunningCluster, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": secure_server(cluster),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": password,
        "log_level": 0,
    }


@pytest.fixture
def connection(cluster: RunningCluster) -> Iterator[Connection]:
    with Connection(secure_address(cluster), "test") as one:
        yield one


def shake_hands(connection: Connection, mechanism: str = "PLAIN", version: int = 1) -> Any:
    return connection.call(make_request(SASL_HANDSHAKE, version, mechanism=mechanism))


def authenticate(connection: Connection, message: bytes, version: int = 2) -> Any:
    return connection.call(make_request(SASL_AUTHENTICATE, version, auth_bytes=message))


def ask_metadata(connection: Connection) -> Any:
    return connection.call(make_request(METADATA, 4, topics=None, allow_auto_topic_creation=False))


TOKEN = f"\0{USER}\0{PASSWORD}".encode()


class TestBeforeTheLogin:
    def test_a_request_is_not_answered_and_the_connection_closed(self, connection: Connection) -> None:
        with pytest.raises(ConnectionError):
            ask_metadata(connection)

    def test_versions_are_told_once(self, connection: Connection) -> None:
        assert connection.call(make_request(API_VERSIONS, 0)).error_code == NONE
        with pytest.raises(ConnectionError):
            connection.call(make_request(API_VERSIONS, 0))

    def test_an_unknown_version_of_api_versions_may_be_followed_by_a_known_one(self, connection: Connection) -> None:
        connection.send_bytes(struct.pack(">hhih", API_VERSIONS, 99, 0, -1))
        refused = connection.receive_frame()
        assert struct.unpack_from(">h", refused, 4) == (35,)
        assert connection.call(make_request(API_VERSIONS, 0)).error_code == NONE

    def test_a_request_in_place_of_a_password_is_refused_and_the_connection_closed(
        self, connection: Connection
    ) -> None:
        assert shake_hands(connection).error_code == NONE
        assert shake_hands(connection).error_code == ILLEGAL_STATE
        with pytest.raises(ConnectionError):
            authenticate(connection, TOKEN)

    def test_an_unknown_mechanism_is_refused_and_the_connection_closed(self, connection: Connection) -> None:
        answer = shake_hands(connection, "OAUTHBEARER")
        assert answer.error_code == UNSUPPORTED_MECHANISM
        assert answer.mechanisms == MECHANISMS
        with pytest.raises(ConnectionError):
            shake_hands(connection)

    def test_a_refused_client_has_no_second_try_on_the_connection(self, connection: Connection) -> None:
        shake_hands(connection)
        assert authenticate(connection, b"\0alice\0wrong").error_code == AUTHENTICATION_FAILED
        with pytest.raises(ConnectionError):
            authenticate(connection, TOKEN)

    def test_a_large_request_closes_the_connection(self, connection: Connection) -> None:
        shake_hands(connection)
        with pytest.raises(ConnectionError):
            authenticate(connection, bytes(524_288))


class TestAfterTheLogin:
    @pytest.mark.parametrize("version", [0, 1, 2])
    def test_requests_are_answered(self, connection: Connection, version: int) -> None:
        shake_hands(connection)
        answer = authenticate(connection, TOKEN, version)
        assert (answer.error_code, answer.error_message, answer.auth_bytes) == (NONE, None, b"")
        assert [broker.node_id for broker in ask_metadata(connection).brokers] == [1]

    def test_bare_messages_are_answered_bare(self, connection: Connection) -> None:
        assert shake_hands(connection, version=0).error_code == NONE
        connection.send_bytes(TOKEN)
        assert connection.receive_frame() == b""
        assert [broker.node_id for broker in ask_metadata(connection).brokers] == [1]

    def test_a_wrong_bare_message_closes_the_connection(self, connection: Connection) -> None:
        shake_hands(connection, version=0)
        connection.send_bytes(b"\0alice\0wrong")
        with pytest.raises(ConnectionError):
            connection.receive_frame()

    def test_another_login_is_an_illegal_state(self, connection: Connection) -> None:
        shake_hands(connection)
        authenticate(connection, TOKEN)
        assert shake_hands(connection).error_code == ILLEGAL_STATE
        answer = authenticate(connection, TOKEN)
        assert answer.error_code == ILLEGAL_STATE
        assert answer.error_message == "SaslAuthenticate request received after successful authentication"

    def test_requests_carry_the_principal(
        self, cluster: RunningCluster, connection: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[tuple[str, str]] = []
        dispatch = cluster.node().broker.door.dispatch  # type: ignore[union-attr]

        def note(call: Call) -> Any:
            seen.append((call.principal, call.peer.listener))
            return dispatch(call)

        monkeypatch.setattr(cluster.node().broker.door, "dispatch", note)  # type: ignore[union-attr]
        shake_hands(connection)
        authenticate(connection, TOKEN)
        ask_metadata(connection)
        with cluster.connect() as other:
            ask_metadata(other)
        assert seen == [("User:alice", "SECURE"), ("User:ANONYMOUS", "PLAINTEXT")]


def test_a_listener_without_sasl_knows_of_no_login(cluster: RunningCluster) -> None:
    with cluster.connect() as connection:
        assert shake_hands(connection).error_code == ILLEGAL_STATE


def test_registration_says_which_listener_wants_a_login(cluster: RunningCluster) -> None:
    registered = cluster.node().broker.image.cluster.brokers[1].listeners  # type: ignore[union-attr]
    assert {name: one.security_protocol for name, one in registered.items()} == {"PLAINTEXT": 0, "SECURE": 2}


def test_users_of_plain_may_change_while_the_node_runs(cluster: RunningCluster) -> None:
    def logs_in() -> bool:
        with Connection(secure_address(cluster), "test") as connection:
            shake_hands(connection)
            return bool(authenticate(connection, b"\0carol\0new").error_code == NONE)

    assert not logs_in()
    with cluster.connect() as connection:
        change = wire.Change(wire.BROKER, "1", (Operation(PLAIN_KEY, plain_jaas(carol="new")),))
        (outcome,) = wire.incremental_alter_configs(connection, [change])
        assert (outcome.code, outcome.message) == (NONE, None)
        wait_for_configs(cluster, is_set=True)
        assert logs_in()
        change = wire.Change(wire.BROKER, "1", (Operation(PLAIN_KEY, None, wire.DELETE),))
        (outcome,) = wire.incremental_alter_configs(connection, [change])
        assert outcome.code == NONE
        wait_for_configs(cluster, is_set=False)
    assert not logs_in()


def wait_for_configs(cluster: RunningCluster, *, is_set: bool) -> None:
    broker = cluster.node().broker
    assert broker is not None
    cluster.wait_until(lambda: any(PLAIN_KEY in one for one in broker.image.configs.resources.values()) is is_set)


def test_a_client_without_credentials_can_not_connect(cluster: RunningCluster) -> None:
    with pytest.raises(NetworkError, match="closed the connection"):
        asyncio.run(describe(cluster, {"retries": "0"}))
