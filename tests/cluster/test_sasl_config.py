"""SASL at a listener, from `server.properties`: what is read, and every fault before anything is opened."""

from __future__ import annotations

import pytest

from doorkeeper.cluster.sasl_config import LISTENER_READS, read_sasl_config
from doorkeeper.cluster.server_config import BadConfigurationError, read_node_config
from doorkeeper.rules.static_config import SCHEMA, StaticConfig, View
from doorkeeper.wire.jaas import LOGIN_MODULES

PLAIN_KEY = "listener.name.secure.plain.sasl.jaas.config"
SCRAM_KEY = "listener.name.secure.scram-sha-256.sasl.jaas.config"
MECHANISMS_KEY = "listener.name.secure.sasl.enabled.mechanisms"
SCRAM_JAAS = f"{LOGIN_MODULES['SCRAM-SHA-256']} required;"
PLAIN_JAAS = (
    f'{LOGIN_MODULES["PLAIN"]} required username="broker" password="its own" user_alice="hunter2" user_bob="builder";'
)
PROPERTIES = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093,SECURE://127.0.0.1:9094",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    MECHANISMS_KEY: "PLAIN,SCRAM-SHA-256",
    PLAIN_KEY: PLAIN_JAAS,
    SCRAM_KEY: SCRAM_JAAS,
}


def view_of(properties: dict[str, str]) -> View:
    return View(StaticConfig(properties)).admit(frozenset(SCHEMA), LISTENER_READS)


def faults_of(changed: dict[str, str | None]) -> str:
    merged: dict[str, str | None] = {**PROPERTIES, **changed}
    with pytest.raises(BadConfigurationError) as caught:
        read_node_config({key: value for key, value in merged.items() if value is not None})
    return "\n".join(caught.value.faults)


def test_reads_mechanisms_and_users() -> None:
    sasl = read_sasl_config(view_of(PROPERTIES), "SECURE")
    assert sasl.mechanisms == ("PLAIN", "SCRAM-SHA-256")
    assert sasl.plain_users == {"alice": "hunter2", "bob": "builder"}


def test_mechanisms_of_the_node_count_where_the_listener_has_none_of_its_own() -> None:
    properties = {key: value for key, value in PROPERTIES.items() if key != MECHANISMS_KEY}
    sasl = read_sasl_config(view_of(properties | {"sasl.enabled.mechanisms": "SCRAM-SHA-256"}), "SECURE")
    assert (sasl.mechanisms, dict(sasl.plain_users)) == (("SCRAM-SHA-256",), {})


def test_a_node_may_have_it() -> None:
    config = read_node_config(PROPERTIES)
    assert [(one.listener, one.protocol) for one in config.listeners] == [
        ("PLAINTEXT", "PLAINTEXT"),
        ("SECURE", "SASL_PLAINTEXT"),
    ]


def test_secrets_do_not_show() -> None:
    assert "hunter2" not in repr(read_sasl_config(view_of(PROPERTIES), "SECURE"))
    assert "hunter2" not in repr(read_node_config(PROPERTIES))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({MECHANISMS_KEY: ""}, "No SASL mechanisms are enabled"),
        ({MECHANISMS_KEY: None}, "Listener SECURE enables the mechanism GSSAPI, and only PLAIN, SCRAM-SHA-256"),
        ({MECHANISMS_KEY: "PLAIN,OAUTHBEARER"}, "enables the mechanism OAUTHBEARER"),
        ({MECHANISMS_KEY: "plain"}, "enables the mechanism plain"),
        ({PLAIN_KEY: None}, f"{PLAIN_KEY} is missing"),
        ({SCRAM_KEY: None}, f"{SCRAM_KEY} is missing"),
        ({PLAIN_KEY: None, "sasl.jaas.config": PLAIN_JAAS}, f"{PLAIN_KEY} is missing"),
        ({PLAIN_KEY: PLAIN_JAAS.rstrip(";")}, f"{PLAIN_KEY}: JAAS config entry not terminated"),
        ({PLAIN_KEY: SCRAM_JAAS}, f"{PLAIN_KEY}: PLAIN needs the login module"),
        ({"connections.max.reauth.ms": "1"}, "connections.max.reauth.ms asks clients to log in again"),
        ({"listener.name.secure.plain.connections.max.reauth.ms": "60000"}, "asks clients to log in again"),
        ({"listener.name.secure.plain.sasl.server.callback.handler.class": "com.example.Users"}, "names a Java class"),
    ],
)
def test_refuses(changed: dict[str, str | None], fault: str) -> None:
    faults = faults_of(changed)
    assert fault in faults
    assert "hunter2" not in faults


def test_a_login_that_lasts_for_ever_may_be_spelt_out() -> None:
    assert read_node_config(PROPERTIES | {"connections.max.reauth.ms": "0"}).node_id == 1
