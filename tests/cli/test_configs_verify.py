"""Which stored broker configs are refused, and the commands that delete them. No cluster is asked here."""

from __future__ import annotations

from doorkeeper.cli.configs_verify import Finding, Reading, find_refused, read_broker, remedies
from doorkeeper.client import ConfigSource, ConfigSynonym, ConfigValueType, DescribedConfig

STATIC = {"node.id": "1", "num.io.threads": "8", "log.cleaner.threads": "1"}


def _described(name: str, value: str | None, *synonyms: tuple[str, str | None, ConfigSource]) -> DescribedConfig:
    source = synonyms[0][2]
    layers = tuple(ConfigSynonym(*one) for one in synonyms)
    return DescribedConfig(name, value, source, value is None, False, ConfigValueType.STRING, layers)


def test_the_layers_of_a_broker_are_told_apart() -> None:
    reading = read_broker(
        (
            _described(
                "num.io.threads",
                "8",
                ("num.io.threads", "10000", ConfigSource.DYNAMIC_BROKER_CONFIG),
                ("num.io.threads", "9", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
                ("num.io.threads", "8", ConfigSource.STATIC_BROKER_CONFIG),
                ("num.io.threads", "8", ConfigSource.DEFAULT_CONFIG),
            ),
            _described("log.retention.ms", "60000", ("log.retention.minutes", "1", ConfigSource.STATIC_BROKER_CONFIG)),
            _described("ssl.key.password", None, ("ssl.key.password", None, ConfigSource.DYNAMIC_BROKER_CONFIG)),
        )
    )
    assert reading.static == {"num.io.threads": "8", "log.retention.minutes": "1"}
    assert reading.stored == {"num.io.threads": "10000"}
    assert reading.in_force == {"num.io.threads": "8"}


def _found(brokers: dict[int, Reading], default: dict[str, str]) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(one.name, one.key, one.refused_by) for one in find_refused(brokers, default)]


def test_lawful_values_are_no_finding() -> None:
    broker = Reading(STATIC, {"log.retention.ms": "1000"}, {"num.io.threads": "16", "log.retention.ms": "1000"})
    assert _found({1: broker}, {"num.io.threads": "16"}) == []


def test_a_pool_that_grew_step_by_step_is_lawful_because_it_is_in_force() -> None:
    broker = Reading(STATIC, {"num.io.threads": "64"}, {"num.io.threads": "64"})
    assert _found({1: broker}, {}) == []


def test_a_default_beyond_double_the_size_in_force_is_found() -> None:
    broker = Reading(STATIC, {}, {"num.io.threads": "8"})
    (finding,) = find_refused({1: broker}, {"num.io.threads": "10000"})
    assert (finding.name, finding.key, finding.value, finding.refused_by) == ("", "num.io.threads", "10000", (1,))
    assert "num.io.threads=10000" in finding.message


def test_a_default_that_only_one_broker_refuses_names_that_broker() -> None:
    small = Reading({**STATIC, "num.io.threads": "2"}, {}, {"num.io.threads": "2"})
    large = Reading(STATIC | {"node.id": "2"}, {}, {"num.io.threads": "16"})
    assert _found({1: small, 2: large}, {"num.io.threads": "16"}) == [("", "num.io.threads", (1,))]


def test_a_brokers_own_value_is_judged_by_that_broker() -> None:
    ill = Reading(STATIC, {"num.io.threads": "3"}, {"num.io.threads": "8"})
    well = Reading(STATIC | {"node.id": "2"}, {"num.io.threads": "16"}, {"num.io.threads": "16"})
    assert _found({1: ill, 2: well}, {}) == [("1", "num.io.threads", (1,))]


def test_lawful_neighbours_of_a_bad_value_are_not_blamed() -> None:
    broker = Reading(STATIC, {}, {"num.io.threads": "8", "log.retention.ms": "1000"})
    default = {"num.io.threads": "10000", "log.retention.ms": "1000", "log.cleaner.threads": "2"}
    assert _found({1: broker}, default) == [("", "num.io.threads", (1,))]


def test_of_two_values_that_exclude_each_other_the_one_in_force_is_kept() -> None:
    broker = Reading(STATIC, {}, {"log.retention.ms": "1000"})
    default = {"log.local.retention.ms": "5000", "log.retention.ms": "1000"}
    assert _found({1: broker}, default) == [("", "log.local.retention.ms", (1,))]


def _finding(name: str, key: str) -> Finding:
    return Finding(name, key, "x", "no", (1,))


def test_one_bad_resource_is_freed_at_the_brokers_with_all_its_keys_at_once() -> None:
    findings = [_finding("", "a"), _finding("", "b")]
    assert remedies(findings, "h:1", "c:2", None) == [
        "doorkeeper configs --bootstrap-server h:1 --alter --broker-defaults --delete-config a,b"
    ]


def test_several_bad_resources_are_freed_at_the_controllers() -> None:
    findings = [_finding("", "a"), _finding("3", "b")]
    assert remedies(findings, "h:1", "c:2,d:2", "my client.properties") == [
        (
            "doorkeeper configs --bootstrap-controller c:2,d:2 --command-config 'my client.properties' --alter "
            "--broker-defaults --delete-config a"
        ),
        (
            "doorkeeper configs --bootstrap-controller c:2,d:2 --command-config 'my client.properties' --alter "
            "--broker 3 --delete-config b"
        ),
    ]


def test_without_known_controllers_the_brokers_are_tried() -> None:
    assert "--bootstrap-server h:1" in remedies([_finding("", "a"), _finding("3", "b")], "h:1", None, None)[0]


def test_nothing_found_needs_no_command() -> None:
    assert remedies([], "h:1", None, None) == []
