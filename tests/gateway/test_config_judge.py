"""Config changes at the gateway: what the cluster is asked, what is refused, and what if nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.door.requests import filled

from doorkeeper.door.refusal import Partial, Whole
from doorkeeper.door.verdicts import VerdictRecord
from doorkeeper.errors import NetworkError
from doorkeeper.gateway.callers import Client
from doorkeeper.gateway.config_judge import ConfigJudge
from doorkeeper.gateway.config_readings import ClusterReading, Reading, features_of, read_layers
from doorkeeper.gateway.gatekeeper import DoorFacts
from doorkeeper.gateway.judging import Judge
from doorkeeper.gateway.modes import parse_modes
from doorkeeper.rules.config_change import ResourceType
from doorkeeper.wire.codec import Request
from doorkeeper.wire.registry import Door

ALTER_CONFIGS, INCREMENTAL = 33, 44
CONTROLLER = DoorFacts(Door.CONTROLLER, "controllers")
SET, DELETE = 0, 1
THREADS = "num.io.threads"


class FakeCluster:
    """Brokers with these static configs; notes what it is asked."""

    def __init__(self, static: Mapping[int, Mapping[str, str]] | None = None, fault: Exception | None = None) -> None:
        self.asked: list[frozenset[int] | None] = []
        self._static = static or {1: {}, 2: {}}
        self._fault = fault

    async def read(self, brokers: frozenset[int] | None) -> ClusterReading:
        self.asked.append(brokers)
        if self._fault is not None:
            raise self._fault
        return ClusterReading({node: Reading(static, {}, {}) for node, static in self._static.items()})


class Bench:
    """A judge and what it has written."""

    def __init__(self, cluster: FakeCluster, *modes: str) -> None:
        self.records: list[VerdictRecord] = []
        self.cluster = cluster
        self.judge = Judge(parse_modes(modes or ("enforce",)), self.records.append, lambda: 0.0)

    def ask(
        self,
        *changes: tuple[int, str, Mapping[str, str | None]],
        api_key: int = INCREMENTAL,
        facts: DoorFacts = CONTROLLER,
    ) -> Any:
        body = filled(api_key, 1)
        element = body.resources[0]
        resources = tuple(
            replace(
                element,
                resource_type=kind,
                resource_name=name,
                configs=tuple(replace(element.configs[0], name=key, value=value) for key, value in configs.items()),
            )
            for kind, name, configs in changes
        )
        request = Request(api_key, 1, 7, "client", replace(body, resources=resources), b"", 0)
        return asyncio.run(ConfigJudge(self.judge, self.cluster).judge(request, facts, Client("10.0.0.1", "x")))


BROKER, TOPIC, GROUP = ResourceType.BROKER, ResourceType.TOPIC, ResourceType.GROUP


def test_a_lawful_change_passes() -> None:
    assert Bench(FakeCluster()).ask((BROKER, "1", {THREADS: "16"}), (TOPIC, "t", {"retention.ms": "1"})) is None


@pytest.mark.parametrize(("threads", "refused"), [("16", False), ("17", True), ("4", False), ("3", True)])
def test_a_brokers_change_is_judged_by_its_static_configs(threads: str, refused: bool) -> None:
    bench = Bench(FakeCluster({1: {THREADS: "8"}, 2: {THREADS: "100"}}))
    assert isinstance(bench.ask((BROKER, "1", {THREADS: threads})), Whole) is refused


def test_a_default_is_judged_by_every_brokers() -> None:
    bench = Bench(FakeCluster({1: {THREADS: "8"}, 2: {THREADS: "40"}}))
    refusal = bench.ask((BROKER, "", {THREADS: "16"}))
    assert isinstance(refusal, Whole)
    (answer,) = refusal.response.responses
    assert (answer.error_code, answer.error_message.endswith("(refused by broker 2)")) == (42, True)
    assert bench.cluster.asked == [None]


def test_only_the_brokers_named_are_asked() -> None:
    bench = Bench(FakeCluster())
    bench.ask((BROKER, "2", {THREADS: "8"}), (TOPIC, "t", {"retention.ms": "1"}))
    assert bench.cluster.asked == [frozenset({2})]


def test_what_needs_no_knowledge_asks_nobody() -> None:
    bench = Bench(FakeCluster())
    refusal = bench.ask((TOPIC, "t", {"retention.ms": None}), (GROUP, "g", {"consumer.session.timeout.ms": "50000"}))
    assert isinstance(refusal, Partial)
    assert [told.code for told in refusal.told.values()] == [42]
    assert bench.cluster.asked == []


def test_values_of_topics_are_left_to_kafkas_controller() -> None:
    assert Bench(FakeCluster()).ask((TOPIC, "t", {"retention.ms": "never"})) is None


def test_the_old_api_is_judged_too() -> None:
    refusal = Bench(FakeCluster()).ask((BROKER, "1", {"log.cleaner.threads": "many"}), api_key=ALTER_CONFIGS)
    assert isinstance(refusal, Whole)
    assert refusal.response.responses[0].error_code == 42


def test_another_broker_is_refused_at_a_brokers_door_and_not_at_the_controllers() -> None:
    change = (BROKER, "2", {THREADS: "8"})
    at_broker = DoorFacts(Door.BROKER, "broker 1", 1)
    assert isinstance(Bench(FakeCluster()).ask(change, facts=at_broker), Whole)
    assert Bench(FakeCluster()).ask(change) is None


def test_evaluating_passes_and_writes_down() -> None:
    bench = Bench(FakeCluster(), "enforce", "config_change=evaluate")
    assert bench.ask((BROKER, "1", {THREADS: "many"})) is None
    (record,) = bench.records
    assert (record.mode, record.kind, record.value, record.answer) == ("evaluate", "config_change", "BROKER 1", 42)


def test_rules_may_have_modes_of_their_own() -> None:
    bench = Bench(FakeCluster(), "off", "CONFIG_VALUE_NULL=enforce", "config_key_read_only=evaluate")
    changes = (
        (TOPIC, "t", {"retention.ms": None}),
        (BROKER, "1", {"node.id": "5"}),
        (BROKER, "2", {THREADS: "many"}),
    )
    refusal = bench.ask(*changes)
    assert isinstance(refusal, Partial)
    assert list(refusal.told) == [0]
    assert {(record.rule, record.mode) for record in bench.records} == {
        ("CONFIG_VALUE_NULL", "enforce"),
        ("CONFIG_KEY_READ_ONLY", "evaluate"),
    }


def test_secrets_are_not_written_down() -> None:
    bench = Bench(FakeCluster())
    bench.ask((BROKER, "1", {"ssl.keystore.password": "hunter2"}))
    assert bench.records
    assert "hunter2" not in "".join(record.to_json() for record in bench.records)


@pytest.mark.parametrize("mode", ["evaluate", "enforce"])
def test_a_cluster_that_does_not_answer(mode: str) -> None:
    """Evaluating passes and counts; enforcing refuses what it can't judge, says so, and lets the rest pass."""
    bench = Bench(FakeCluster(fault=NetworkError("nobody is there")), mode)
    refusal = bench.ask((BROKER, "1", {THREADS: "16"}), (TOPIC, "t", {"retention.ms": "1"}))
    assert bench.judge.failures == {"NetworkError": 1}
    if mode == "evaluate":
        assert refusal is None
    else:
        assert isinstance(refusal, Partial)
        (told,) = refusal.told.values()
        assert told.code == -1
        assert "could not judge" in told.message
        assert "nobody is there" in told.message


def test_layers_are_sorted_by_their_source() -> None:
    def synonym(name: str, value: str | None, source: int) -> SimpleNamespace:
        return SimpleNamespace(name=name, value=value, source=source)

    configs = [
        SimpleNamespace(
            synonyms=[synonym("a", "1", 2), synonym("a", "2", 3), synonym("b", "3", 4), synonym("a", "4", 5)]
        ),
        SimpleNamespace(synonyms=[synonym("password", None, 4)]),
    ]
    assert read_layers(configs) == Reading({"b": "3"}, {"a": "1"}, {"a": "2"})


def test_features_that_are_not_told_are_those_of_a_new_cluster() -> None:
    assert features_of({}).metadata_version > 0
    assert not features_of({}).elr_enabled
    assert features_of({"metadata.version": 25, "eligible.leader.replicas.version": 1}).metadata_version == 25
