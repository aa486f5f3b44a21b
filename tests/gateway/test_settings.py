"""Settings from a document: what YAML and options may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doorkeeper.errors import InputError
from doorkeeper.gateway.modes import Mode
from doorkeeper.gateway.settings import parse_address, settings_of
from doorkeeper.gateway.tls import ClientAuth, principal_of
from doorkeeper.rules.verdict import Kind

UPSTREAM = {"upstream": "a:1,b:2"}


def test_reads_everything() -> None:
    settings = settings_of(
        {
            "upstream": ["a:1", "b:2"],
            "listen": "0.0.0.0:9092",
            "node-ports": "20000-20099",
            "upstream-controllers": "c:3",
            "listen-controllers": "[::1]:9093",
            "advertise": "kafka.example.com",
            "mode": "enforce",
            "modes": {"group_id": False, "config_change": "evaluate"},
            "unstable.api.versions.enable": True,
            "pass.unknown": True,
            "state": "ports.json",
            "http": "127.0.0.1:9400",
            "tls-certificate": "cert.pem",
            "tls-client-ca": "ca.pem",
            "sni-domain": "kafka.example.com",
            "proxy-protocol": True,
            "max.connections": 7,
            "connections.max.idle.ms": 1500,
            "metadata.max.age.ms": 2000,
        }
    )
    assert settings.brokers.upstream == (("a", 1), ("b", 2))
    assert settings.controllers is not None
    assert settings.controllers.listen == ("::1", 9093)
    assert settings.modes.of(Kind.GROUP_ID) is Mode.OFF
    assert settings.modes.of(Kind.CLIENT_ID) is Mode.ENFORCE
    assert (settings.unstable_versions, settings.pass_unknown, settings.proxy_protocol) == (True, True, True)
    assert (settings.limits.max_connections, settings.limits.idle_seconds, settings.refresh_seconds) == (7, 1.5, 2.0)
    assert settings.tls is not None
    assert (settings.tls.certificate, settings.tls.client_auth) == (Path("cert.pem"), ClientAuth.REQUIRED)


def test_little_is_enough() -> None:
    settings = settings_of(UPSTREAM)
    assert settings.brokers.listen == ("127.0.0.1", 9092)
    assert settings.modes.default is Mode.EVALUATE
    assert not settings.unstable_versions
    assert not settings.pass_unknown


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({}, "upstream is missing"),
        ({"upstream": "nonsense"}, "'nonsense' is not HOST:PORT"),
        ({"upstream": "a:0"}, "'a:0'"),
        (UPSTREAM | {"colour": "red"}, "colour"),
        (UPSTREAM | {"upstream-controllers": "c:1"}, "needs listen-controllers"),
        (UPSTREAM | {"listen-controllers": "c:1"}, "needs upstream-controllers"),
        (UPSTREAM | {"mode": "sometimes"}, "sometimes"),
        (UPSTREAM | {"modes": "enforce"}, "modes"),
        (UPSTREAM | {"proxy-protocol": "yes"}, "proxy-protocol"),
        (UPSTREAM | {"max.connections": 0}, "max.connections"),
        (UPSTREAM | {"max.connections": True}, "max.connections"),
        (UPSTREAM | {"advertise": 5}, "advertise"),
        (UPSTREAM | {"node-ports": "5"}, "range of ports"),
        (UPSTREAM | {"sni-domain": "x"}, "needs tls-certificate"),
        (UPSTREAM | {"tls-key": "k"}, "need tls-certificate"),
        (UPSTREAM | {"tls-certificate": "c", "tls-client-auth": "often"}, "often"),
    ],
)
def test_what_is_wrong_is_named(document: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        settings_of(document)


def test_addresses() -> None:
    assert parse_address("[::]:9092", "listen") == ("::", 9092)
    assert parse_address(" a:0 ", "listen") == ("a", 0)
    for text in ("a", ":", "a:", "a:x", "a:65536", "a:-1", "a:٣"):
        with pytest.raises(InputError, match="listen"):
            parse_address(text, "listen")


def test_a_certificates_principal_is_its_subject_as_kafka_writes_it() -> None:
    subject = ((("countryName", "DE"),), (("organizationName", 'A, "B"'),), (("commonName", "client"),))
    assert principal_of({"subject": subject}) == 'User:CN=client,O=A\\, \\"B\\",C=DE'
    assert principal_of({}) is None
    assert principal_of(None) is None
