"""A server.properties by itself: every fault at once, and warnings for unknown keys."""

from __future__ import annotations

import pytest

from doorkeeper.rules.config_change import PropertyViolation, check_properties
from doorkeeper.rules.config_schema import load_schema
from doorkeeper.rules.verdict import Kind, RuleId

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
}
BROKER = COMBINED | {
    "process.roles": "broker",
    "listeners": "PLAINTEXT://:9092",
    "controller.quorum.voters": "100@localhost:9093",
}
CONTROLLER = COMBINED | {"process.roles": "controller", "listeners": "CONTROLLER://:9093"}


def faults(static: dict[str, str]) -> list[PropertyViolation]:
    return [problem for problem in check_properties(static) if not problem.warning]


def messages(static: dict[str, str]) -> list[str]:
    return [problem.message for problem in check_properties(static)]


@pytest.mark.parametrize("static", [COMBINED, BROKER, CONTROLLER])
def test_finds_nothing_wrong_with_a_lawful_file(static: dict[str, str]) -> None:
    assert check_properties(static) == []


def test_takes_the_old_name_of_the_node_id() -> None:
    static = {key: value for key, value in COMBINED.items() if key != "node.id"}
    assert check_properties(static | {"broker.id": "1"}) == []


def test_names_every_missing_key() -> None:
    missing = {problem.parameters["key"] for problem in faults({}) if "key" in problem.parameters}
    assert missing == {key.name for key in load_schema("broker").values() if key.required}


def test_says_everything_at_once() -> None:
    static = COMBINED | {"num.io.threads": "x", "log.retention.ms": "0", "num.io.thread": "8", "log.roll.ms": "0"}
    rules = [problem.rule for problem in check_properties(static)]
    assert rules == [
        RuleId.CONFIG_VALUE_INVALID,
        RuleId.CONFIG_LOG_ROLL,
        RuleId.CONFIG_RETENTION,
        RuleId.CONFIG_KEY_UNKNOWN,
    ]
    assert all(problem.kind is Kind.CONFIG_CHANGE for problem in check_properties(static))


def test_names_the_key_of_a_bad_value_even_behind_a_listener() -> None:
    (problem,) = faults(COMBINED | {"listener.name.plaintext.num.network.threads": "x"})
    assert problem.parameters == {"key": "listener.name.plaintext.num.network.threads"}


@pytest.mark.parametrize(
    ("key", "hint"),
    [("num.io.thread", "; did you mean num.io.threads?"), ("zzz", ""), ("a\nb", "")],
)
def test_warns_of_unknown_keys_and_guesses_what_was_meant(key: str, hint: str) -> None:
    (problem,) = check_properties(COMBINED | {key: "1"})
    assert problem.warning
    assert problem.message.endswith(hint)
    assert "\n" not in problem.message


AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.mark.parametrize(("value", "warnings"), [(AUTHORIZER, 1), ("", 0), (" ", 0)])
def test_warns_that_acls_are_not_enforced_where_an_authorizer_is_set(value: str, warnings: int) -> None:
    found = check_properties(COMBINED | {"authorizer.class.name": value})
    assert [(one.warning, one.parameters) for one in found] == [(True, {"key": "authorizer.class.name"})] * warnings
    assert all("stores ACLs without enforcing them" in one.message for one in found)


@pytest.mark.parametrize("key", ["listener.name.x.anything", "config.providers.env.class", "rsm.config.bucket"])
def test_does_not_warn_of_what_belongs_to_others(key: str) -> None:
    assert check_properties(COMBINED | {key: "x"}) == []


@pytest.mark.parametrize(
    ("static", "message"),
    [
        (COMBINED | {"broker.id": "2"}, "You must set `node.id` to the same value as `broker.id`."),
        (COMBINED | {"group.coordinator.rebalance.protocols": "consumer"}, "Disabling the 'Classic' protocol"),
        (COMBINED | {"replica.fetch.wait.max.ms": "40000"}, "replica.socket.timeout.ms should always be at least"),
        (
            COMBINED | {"replica.fetch.wait.max.ms": "500", "replica.lag.time.max.ms": "400"},
            "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms",
        ),
        (COMBINED | {"controller.quorum.voters": ""}, "If using process.roles, either"),
        (COMBINED | {"controller.quorum.voters": "2@h:1"}, "the node id 1 must be included in the set of voters"),
        (BROKER | {"node.id": "100"}, "the node id 100 must not be included in the set of voters"),
        (BROKER | {"controller.quorum.auto.join.enable": "true"}, "is only supported when process.roles contains"),
        (COMBINED | {"queued.max.request.bytes": "5"}, "queued.max.request.bytes must be larger or equal"),
        (COMBINED | {"connections.max.idle.ms": "50"}, "connection.failed.authentication.delay.ms=100 should always"),
        (COMBINED | {"group.share.assignors": "a,b"}, "must contain exactly one assignor, but found 2"),
        (
            COMBINED | {"group.consumer.max.session.timeout.ms": "1"},
            "must be greater than or equal to group.consumer.min",
        ),
        (COMBINED | {"group.consumer.heartbeat.interval.ms": "60000"}, "must be less than or equal to"),
        (
            COMBINED
            | {"group.streams.heartbeat.interval.ms": "45000", "group.streams.max.heartbeat.interval.ms": "50000"},
            "group.streams.heartbeat.interval.ms must be less than group.streams.session.timeout.ms",
        ),
        (BROKER | {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"}, "must not contain a value appearing in"),
        (
            BROKER | {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
            "Controller listener with name CONTROLLER",
        ),
        (
            CONTROLLER | {"listeners": "CONTROLLER://:9093,PLAINTEXT://:9092"},
            "The listeners config must only contain KRaft controller listeners",
        ),
        (
            CONTROLLER | {"inter.broker.listener.name": "CONTROLLER"},
            "must not contain an explicitly set inter.broker.listener.name",
        ),
        (COMBINED | {"listeners": "PLAINTEXT://:9092"}, "must contain at least one value appearing in the 'listeners'"),
        (
            COMBINED | {"controller.listener.names": "CONTROLLER,OTHER"},
            "must only contain values appearing in the 'listeners'",
        ),
        (COMBINED | {"listeners": "CONTROLLER://:9093"}, "There must be at least one broker advertised listener."),
        (
            COMBINED | {"inter.broker.listener.name": "SSL"},
            "inter.broker.listener.name must be a listener name defined in advertised.listeners",
        ),
        (
            COMBINED | {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
            "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
        ),
        (
            COMBINED | {"inter.broker.listener.name": "X"},
            "Listener with name X defined in inter.broker.listener.name not found in listener.security.protocol.map.",
        ),
        (
            COMBINED | {"advertised.listeners": "PLAINTEXT://h:1,SSL://h:2"},
            "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners",
        ),
        (
            COMBINED | {"advertised.listeners": "PLAINTEXT://0.0.0.0:1"},
            "cannot use the nonroutable meta-address 0.0.0.0",
        ),
        (
            COMBINED | {"early.start.listeners": "X"},
            "early.start.listeners contains listener X, but this is not contained",
        ),
        (COMBINED | {"listeners": "SSL://:1,CONTROLLER://:2"}, "No security protocol defined for listener CONTROLLER"),
        (COMBINED | {"listeners": "nonsense"}, "Unable to parse a listener name from nonsense"),
        (COMBINED | {"cordoned.log.dirs": "/x"}, "Missing entries : /x"),
    ],
)
def test_finds_what_kafka_would_not_start_with(static: dict[str, str], message: str) -> None:
    assert any(message in each for each in messages(static)), messages(static)


def test_a_controller_cordons_nothing() -> None:
    assert check_properties(CONTROLLER | {"cordoned.log.dirs": "/x"}) == []


def test_an_advertised_controller_listener_counts() -> None:
    static = COMBINED | {"advertised.listeners": "PLAINTEXT://h:9092,CONTROLLER://h:9093"}
    assert check_properties(static) == []


def test_never_shows_a_secret() -> None:
    static = COMBINED | {"ssl.keystore.password": "hunter2", "sasl.jaas.config": "hunter2"}
    assert not any("hunter2" in message for message in messages(static))


class TestConfigProviders:
    """`${env:X}` is what the provider `env` gives, where `config.providers` names it."""

    def test_a_provided_value_is_not_judged_and_is_told(self) -> None:
        static = COMBINED | {"config.providers": "env, file", "num.io.threads": "${env:THREADS}"}
        (warning,) = check_properties(static)
        assert (warning.warning, warning.parameters) == (True, {"key": "num.io.threads"})
        assert "config provider env" in warning.message

    @pytest.mark.parametrize("key", ["listeners", "log.retention.ms", "max.connections.per.ip.overrides"])
    def test_cross_checks_do_not_guess_it(self, key: str) -> None:
        provided = {"config.providers": "file", key: "${file:/etc/kafka/secrets:value}"}
        assert faults(COMBINED | {"log.local.retention.ms": "5"} | provided) == []

    def test_nor_what_it_gives_a_listener(self) -> None:
        sasl = {
            "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "inter.broker.listener.name": "PLAINTEXT",
        }
        enabled = "listener.name.plaintext.sasl.enabled.mechanisms"
        assert faults(COMBINED | sasl | {enabled: "GSSAPI"}) != []
        provided = {"config.providers": "env", enabled: "${env:MECHANISMS}"}
        assert faults(COMBINED | sasl | provided) == []

    @pytest.mark.parametrize("providers", [{}, {"config.providers": ""}, {"config.providers": "file"}])
    def test_without_its_provider_it_is_a_text_like_any_other(self, providers: dict[str, str]) -> None:
        (fault,) = faults(COMBINED | providers | {"num.io.threads": "${env:THREADS}"})
        assert fault.rule is RuleId.CONFIG_VALUE_INVALID
