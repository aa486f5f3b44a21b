"""Which config values may be shown."""

from __future__ import annotations

import pytest

from doorkeeper.rules.config_request import ResourceType
from doorkeeper.rules.redaction import HIDDEN, is_sensitive, shown


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [
        (ResourceType.BROKER, "ssl.keystore.password"),
        (ResourceType.BROKER, "listener.name.external.ssl.keystore.password"),
        (ResourceType.BROKER, "a.plugins.own.key"),
        (ResourceType.TOPIC, "no.such.key"),
        (ResourceType.TOPIC, "my.Secret.key"),
        (ResourceType.UNKNOWN, "retention.ms"),
    ],
)
def test_hides_passwords_and_what_kafka_does_not_know(resource_type: int, name: str) -> None:
    assert is_sensitive(resource_type, name)
    assert shown(resource_type, name, "value") == HIDDEN


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [
        (ResourceType.BROKER, "num.io.threads"),
        (ResourceType.BROKER, "listener.name.external.num.network.threads"),
        (ResourceType.TOPIC, "retention.ms"),
        (ResourceType.GROUP, "consumer.session.timeout.ms"),
        (ResourceType.BROKER_LOGGER, "any.logger"),
    ],
)
def test_shows_what_is_no_secret(resource_type: int, name: str) -> None:
    assert shown(resource_type, name, "value") == "value"


def test_shows_that_a_password_is_deleted() -> None:
    assert shown(ResourceType.BROKER, "ssl.keystore.password", None) is None
