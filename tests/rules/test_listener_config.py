"""Listeners as Kafka reads them, and what changes of them it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doorkeeper.rules.config_change import (
    BrokerContext,
    BrokerDoor,
    ConfigEntry,
    Context,
    ResourceChange,
    ResourceType,
    ResourceVerdict,
    judge_changes,
)
from doorkeeper.rules.listener_config import Endpoint, parse_csv_map, parse_endpoints
from doorkeeper.rules.static_config import UnlawfulError

PROTOCOLS = {"A": "PLAINTEXT", "B": "SSL", "C": "PLAINTEXT"}
STATIC = {
    "process.roles": "broker",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092",
    "controller.listener.names": "CONTROLLER",
}
ONE = Context(brokers={1: BrokerContext(STATIC)}, door=BrokerDoor(1))


def judged(context: Context = ONE, **configs: str) -> ResourceVerdict:
    entries = tuple(ConfigEntry(key.replace("_", "."), 0, value) for key, value in configs.items())
    (verdict,) = judge_changes([ResourceChange(ResourceType.BROKER, "1", entries)], context)
    return verdict


def with_static(**static: str) -> Context:
    merged = STATIC | {key.replace("_", "."): value for key, value in static.items()}
    return replace(ONE, brokers={1: BrokerContext(merged)})


@pytest.mark.parametrize(
    ("entry", "endpoint"),
    [
        ("A://:1", Endpoint("A", "PLAINTEXT", None, 1)),
        ("a://host:2", Endpoint("A", "PLAINTEXT", "host", 2)),
        ("B://[::1]:3", Endpoint("B", "SSL", "::1", 3)),
        ("A://0.0.0.0:-4", Endpoint("A", "PLAINTEXT", "0.0.0.0", -4)),
    ],
)
def test_reads_an_endpoint(entry: str, endpoint: Endpoint) -> None:
    assert parse_endpoints([entry], PROTOCOLS, distinct_ports=True) == [endpoint]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["A"], "Unable to parse A to a broker endpoint"),
        (["A\u2028://h:1"], "Unable to parse A\u2028://h:1 to a broker endpoint"),
        ([" ://h:1"], "The provided listener name is null or empty string"),
        (["X://h:1"], "No security protocol defined for listener X"),
        (["A://h:99999999999"], 'For input string: "99999999999"'),
        (["A://h:1", "a://h:2"], "Each listener must have a different name, listeners: [A://h:1, a://h:2]"),
        (["A://h:1", "B://g:1"], "Each listener must have a different port, listeners: [A://h:1, B://g:1]"),
    ],
)
def test_refuses_endpoints_in_kafkas_words(entries: list[str], message: str) -> None:
    with pytest.raises(UnlawfulError) as error:
        parse_endpoints(entries, PROTOCOLS, distinct_ports=True)
    assert error.value.message == f"Error creating broker listeners from '[{', '.join(entries)}]': {message}"


@pytest.mark.parametrize(
    ("hosts", "reason"),
    [
        (("127.0.0.1", "[::1]"), None),
        (("127.0.0.1", "127.0.0.2"), "If you have two listeners on the same port"),
        (("127.0.0.1", "host"), "Each listener must have a different port unless exactly one"),
        (("127.0.0.1", "[::1]", "host"), "If you have two listeners on the same port"),
        (("127.0.0.1", "[::1]", "127.0.0.2"), "Each listener must have a different port unless exactly one"),
        (("", "host"), "Each listener must have a different port, listeners"),
    ],
)
def test_one_port_serves_two_ip_stacks_only(hosts: tuple[str, ...], reason: str | None) -> None:
    entries = [f"{name}://{host}:5" for name, host in zip("ABC", hosts, strict=False)]
    if reason is None:
        assert len(parse_endpoints(entries, PROTOCOLS, distinct_ports=True)) == 2
        return
    with pytest.raises(UnlawfulError, match=reason):
        parse_endpoints(entries, PROTOCOLS, distinct_ports=True)
    assert parse_endpoints(entries, PROTOCOLS, distinct_ports=False)


def test_ports_that_kafka_chooses_may_be_the_same() -> None:
    assert len(parse_endpoints(["A://h:0", "B://h:0"], PROTOCOLS, distinct_ports=True)) == 2


@pytest.mark.parametrize(
    ("text", "pairs"),
    [("", {}), (",", {}), ("a:1", {"a": "1"}), (" a : 1 , ::1:2,", {"a": "1", "::1": "2"}), (":x", {"": "x"})],
)
def test_reads_a_map(text: str, pairs: dict[str, str]) -> None:
    assert parse_csv_map("key", text) == pairs


def test_refuses_a_map_without_a_colon() -> None:
    with pytest.raises(UnlawfulError, match="Error parsing configuration property 'key': begin 0, end -1, length 3"):
        parse_csv_map("key", "abc")


def test_a_controller_named_secure_gets_no_plaintext_mapping() -> None:
    context = with_static(controller_listener_names="SSL")
    assert judged(context, listeners="PLAINTEXT://:9092").accepted


def test_a_listener_that_was_advertised_stays() -> None:
    mapped = with_static(
        listeners="PLAINTEXT://:1,X://:2",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,X:PLAINTEXT,CONTROLLER:PLAINTEXT",
    )
    assert "Advertised listeners 'Set(" in str(judged(mapped, listeners="PLAINTEXT://:1").message)


def test_the_limit_of_a_running_listener_may_stay_zero_while_another_key_changes() -> None:
    context = with_static(**{"listener.name.plaintext.max.connections": "0"})
    assert judged(context, num_network_threads="4").accepted
    assert not judged(context, max_connection_creation_rate="5").accepted
    assert judged(context, **{"listener.name.plaintext.max.connections": "5"}).accepted


def test_a_listener_whose_own_number_is_a_variable_is_passed_over() -> None:
    context = with_static(num_network_threads="${env:THREADS}", max_connections="${env:LIMIT}")
    assert judged(context, num_network_threads="99").accepted
    assert judged(context, max_connection_creation_rate="5").accepted


def test_a_listener_with_a_variable_of_its_own_is_passed_over() -> None:
    context = with_static(**{"listener.name.plaintext.num.network.threads": "${env:THREADS}"})
    assert judged(context, num_network_threads="99").accepted


def test_a_bad_value_of_the_inter_broker_listener_is_refused_as_it_stands() -> None:
    context = with_static(
        listeners="PLAINTEXT://:1,X://:2",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,X:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        inter_broker_listener_name="X",
        sasl_enabled_mechanisms="PLAIN",
        sasl_mechanism_inter_broker_protocol="PLAIN",
    )
    assert judged(context, **{"listener.name.x.plain.connections.max.reauth.ms": "5"}).accepted
    verdict = judged(context, **{"listener.name.x.plain.connections.max.reauth.ms": "x"})
    assert verdict.message == "Invalid value x for configuration connections.max.reauth.ms: Not a number of type LONG"


def test_a_broker_whose_listeners_are_a_variable_is_passed_over() -> None:
    context = with_static(listeners="${env:LISTENERS}")
    assert judged(context, num_network_threads="99").accepted
