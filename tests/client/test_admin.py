"""Addresses, results, and what values show of themselves."""

from __future__ import annotations

import pytest

from doorkeeper.client import (
    AclOperation,
    AlterConfigOp,
    ConfigResource,
    ConfigSource,
    ConfigValueType,
    ResourceType,
    Results,
    ScramMechanism,
    ScramUpsertion,
)
from doorkeeper.client.admin import parse_addresses
from doorkeeper.client.errors import InvalidRequestError, TopicExistsError
from doorkeeper.errors import InputError


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        (" a:1 , b:65535 ,", [("a", 1), ("b", 65535)]),
        ("[::1]:9092", [("::1", 9092)]),
        ("PLAINTEXT://host:1", [("host", 1)]),
    ],
)
def test_addresses_are_read(text: str, addresses: list[tuple[str, int]]) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize("text", ["", ",", "host", "host:", ":9092", "host:x", "host:65536", "host:-1", "host:1 2"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="bootstrap"):
        parse_addresses(text)


def test_a_broker_name_that_is_no_number_is_refused() -> None:
    assert ConfigResource(ResourceType.BROKER, "").node_id is None
    assert ConfigResource(ResourceType.TOPIC, "7").node_id is None
    assert ConfigResource(ResourceType.BROKER, "7").node_id == 7
    with pytest.raises(InvalidRequestError, match="no broker id"):
        ConfigResource(ResourceType.BROKER_LOGGER, "").node_id  # noqa: B018


def test_results_tell_well_from_ill() -> None:
    results: Results[str, int] = Results([("a", 1, None), ("b", 0, TopicExistsError())])
    assert (results["a"], len(results), list(results)) == (1, 2, ["a", "b"])
    assert results.values == {"a": 1}
    with pytest.raises(TopicExistsError):
        results["b"]
    with pytest.raises(KeyError):
        results["c"]
    assert repr(results) == "Results(1 well, 1 failed)"
    assert Results([("a", 1, None)]).require() == {"a": 1}


def test_values_that_may_be_secret_do_not_show() -> None:
    assert "hush" not in repr(AlterConfigOp("ssl.key.password", "hush"))
    assert "hush" not in repr(ScramUpsertion("u", ScramMechanism.SCRAM_SHA_256, b"hush"))


def test_numbers_of_a_newer_kafka_are_unknown() -> None:
    assert AclOperation(99) is AclOperation.UNKNOWN
    assert ConfigSource(99) is ConfigSource.UNKNOWN
    assert ConfigValueType(-1) is ConfigValueType.UNKNOWN


def test_mechanisms_go_by_their_sasl_names() -> None:
    assert ScramMechanism.from_name("SCRAM-SHA-512") is ScramMechanism.SCRAM_SHA_512
    assert ScramMechanism.from_name("SCRAM_SHA_512") is None
    assert ScramMechanism.from_name("UNKNOWN") is None
