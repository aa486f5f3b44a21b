"""Client properties into settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper.client.settings import ClientSettings, load_settings, read_settings
from doorkeeper.errors import InputError

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="p\\"w";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required\n username='a b' password=secret;"
SASL = {"security.protocol": "SASL_PLAINTEXT"}


def test_nothing_said_is_plaintext_with_kafkas_times() -> None:
    assert read_settings({}) == ClientSettings()
    assert read_settings({"bootstrap.servers": "elsewhere:1", "bootstrap.controllers": "x:1"}) == ClientSettings()


def test_times_are_read_from_milliseconds() -> None:
    settings = read_settings({"request.timeout.ms": "1500", "default.api.timeout.ms": " 2500 ", "retries": "3"})
    assert (settings.request_timeout, settings.api_timeout, settings.retries) == (1.5, 2.5, 3)


@pytest.mark.parametrize("text", ["-1", "soon", "1.5", ""])
def test_a_time_that_is_no_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match=r"request\.timeout\.ms"):
        read_settings({"request.timeout.ms": text})


def test_plain_credentials_are_read_with_their_escapes() -> None:
    settings = read_settings(
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}
    )
    assert settings.sasl is not None
    assert (settings.sasl.mechanism, settings.sasl.username, settings.sasl.password) == ("PLAIN", "a", 'p"w')
    assert settings.tls is None


def test_scram_credentials_may_be_quoted_either_way_or_bare() -> None:
    settings = read_settings(
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM}
    )
    assert settings.sasl is not None
    assert (settings.sasl.username, settings.sasl.password) == ("a b", "secret")
    assert settings.tls is not None
    assert "secret" not in repr(settings)


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"security.protocol": "CARRIER_PIGEON"}, "security.protocol"),
        (SASL, "sasl.mechanism: 'GSSAPI'"),
        (SASL | {"sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism"),
        (SASL | {"sasl.mechanism": "PLAIN"}, "sasl.jaas.config is missing"),
        (SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": SCRAM}, "needs the login module"),
        (SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": "nonsense"}, "sasl.jaas.config"),
        (
            SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN.replace("password", "pass")},
            "has no password",
        ),
        (
            SASL | {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": SCRAM.replace(";", " tokenauth=true;")},
            "tokenauth",
        ),
        (
            SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN, "sasl.client.callback.handler.class": "x"},
            "sasl.client.callback.handler.class is not supported",
        ),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/x.jks"}, "ssl.truststore.type: only PEM"),
        ({"security.protocol": "SSL", "ssl.keystore.type": "PKCS12"}, "ssl.keystore.type: only PEM"),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/no/such.pem"},
            "ssl.truststore",
        ),
        ({"security.protocol": "SSL", "ssl.engine.factory.class": "x"}, "ssl.engine.factory.class is not supported"),
    ],
)
def test_security_that_is_not_supported_is_refused_by_name(properties: dict[str, str], named: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(properties)
    assert named in str(caught.value)
    assert "secret" not in str(caught.value)


def test_settings_that_mean_nothing_here_are_told() -> None:
    settings = read_settings({"linger.ms": "5", "ssl.engine.factory.class": "x", "client.id": "me"})
    assert settings.unused == ("linger.ms", "ssl.engine.factory.class")
    assert settings.client_id == "me"


def test_host_names_are_checked_unless_the_algorithm_is_empty() -> None:
    for algorithm, checked in ((None, True), ("https", True), ("", False)):
        given = {} if algorithm is None else {"ssl.endpoint.identification.algorithm": algorithm}
        settings = read_settings({"security.protocol": "SSL", **given})
        assert settings.tls is not None
        assert settings.tls.check_hostname is checked


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        load_settings(tmp_path / "nowhere.properties")


def test_a_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# mine\nclient.id = caf\\u00e9\nretry.backoff.ms:7\n")
    settings, properties = load_settings(path)
    assert (settings.client_id, settings.retry_backoff) == ("café", 0.007)
    assert set(properties) == {"client.id", "retry.backoff.ms"}
