"""Config changes in a request log: refused where they are wrong by themselves, else only with what is known."""

from __future__ import annotations

import pytest

from doorkeeper.audit.config_changes import (
    ALTER_CONFIGS,
    HIDDEN_VALUE,
    INCREMENTAL_ALTER_CONFIGS,
    NOTHING_KNOWN,
    UNKNOWN_STATE,
    Change,
    KnownConfigs,
    changes_in,
    judge_change,
)
from doorkeeper.audit.schemas import Verdict
from doorkeeper.rules.config_change import ConfigEntry, Operation, ResourceChange, ResourceType

TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP
STATIC = {"num.io.threads": "8", "node.id": "1"}
KNOWN = KnownConfigs(brokers={1: STATIC}, controller=STATIC, dynamic={})


def change(
    kind: int, name: str, key: str, value: str | None, operation: int = Operation.SET, *, repeated: bool = False
) -> Change:
    return Change(ResourceChange(kind, name, (ConfigEntry(key, operation, value),)), repeated)


@pytest.mark.parametrize(
    ("seen", "rule", "answer", "door"),
    [
        (change(BROKER, "1", "num.io.threads", "0"), "CONFIG_VALUE_INVALID", 42, "both"),
        (change(BROKER, "1", "num.io.threads", None), "CONFIG_VALUE_NULL", 42, "both"),
        (change(BROKER, "1", "node.id", "7"), "CONFIG_KEY_READ_ONLY", 42, "both"),
        (change(BROKER, "", "listeners", "PLAINTEXT://:1"), "CONFIG_KEY_PER_BROKER", 42, "both"),
        (change(BROKER, "one", "num.io.threads", "9"), "CONFIG_RESOURCE_NAME", 42, "both"),
        (change(BROKER, "1", "num.io.threads", "9", Operation.APPEND), "CONFIG_KEY_NOT_A_LIST", 40, "both"),
        (change(BROKER, "1", "ssl.keystore.password", "[hidden]"), "CONFIG_KEY_NEEDS_LISTENER", 42, "both"),
        (change(TOPIC, "t", "retention.ms", "x"), "CONFIG_VALUE_INVALID", 40, "both"),
        (change(TOPIC, "t", "no.such.key", "[hidden]"), "CONFIG_KEY_UNKNOWN", 40, "both"),
        (change(TOPIC, "t", "retention.ms", "1", repeated=True), "CONFIG_RESOURCE_REPEATED", 42, "both"),
        (change(0, "t", "k", "[hidden]"), "CONFIG_RESOURCE_TYPE_UNKNOWN", 42, "both"),
    ],
)
def test_refuses_what_is_wrong_whatever_was_in_force(seen: Change, rule: str, answer: int, door: str) -> None:
    judged = judge_change(seen)
    assert (judged.verdict, judged.rule, judged.answer, judged.door) == (Verdict.REFUSED, rule, answer, door)
    assert judged.reason


@pytest.mark.parametrize(
    "seen",
    [
        change(TOPIC, "t", "flush.ms", "1000"),
        change(TOPIC, "t", "flush.ms", None, Operation.DELETE),
        change(BROKER, "1", "some.plugins.key", None, Operation.DELETE),
        change(ResourceType.CLIENT_METRICS, "m", "interval.ms", "1000"),
    ],
)
def test_accepts_what_no_state_could_refuse(seen: Change) -> None:
    assert judge_change(seen).verdict is Verdict.LAWFUL


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (change(BROKER, "1", "some.plugins.key", "[hidden]"), HIDDEN_VALUE),
        (change(BROKER, "1", "listener.name.x.ssl.keystore.password", "[hidden]"), HIDDEN_VALUE),
        (change(BROKER, "1", "num.io.threads", "500"), UNKNOWN_STATE),
        (change(TOPIC, "t", "retention.ms", "1000"), UNKNOWN_STATE),
        (change(TOPIC, "t", "cleanup.policy", "compact", Operation.APPEND), UNKNOWN_STATE),
        (change(GROUP, "g", "consumer.session.timeout.ms", "1"), UNKNOWN_STATE),
    ],
)
def test_says_that_it_could_not_judge(seen: Change, reason: str) -> None:
    judged = judge_change(seen)
    assert (judged.verdict, judged.reason) == (Verdict.COULD_NOT_JUDGE, reason)


@pytest.mark.parametrize(("threads", "verdict"), [("16", Verdict.LAWFUL), ("17", Verdict.REFUSED)])
def test_judges_against_static_configs_that_are_known(threads: str, verdict: Verdict) -> None:
    assert judge_change(change(BROKER, "1", "num.io.threads", threads), KNOWN).verdict is verdict


@pytest.mark.parametrize(
    "known",
    [
        NOTHING_KNOWN,
        KnownConfigs(brokers={1: STATIC}),
        KnownConfigs(brokers={2: STATIC}, dynamic={}),
        KnownConfigs(brokers={1: STATIC}, dynamic={(4, "1"): {"num.io.threads": "300"}}),
        KnownConfigs(brokers={1: STATIC}, dynamic={(4, ""): {"num.io.threads": "300"}}),
    ],
    ids=["nothing", "no dynamic", "another broker", "set before", "default set before"],
)
def test_does_not_guess_the_state_before(known: KnownConfigs) -> None:
    assert judge_change(change(BROKER, "1", "num.io.threads", "500"), known).verdict is Verdict.COULD_NOT_JUDGE


def test_carries_a_change_through_a_table_without_its_secrets() -> None:
    entries = (
        ConfigEntry("retention.ms", 0, "1"),
        ConfigEntry("odd.key", 0, "secret"),
        ConfigEntry("flush.ms", 1, None),
    )
    seen = Change(ResourceChange(TOPIC, "t", entries))
    assert "secret" not in seen.to_detail() + seen.to_text()
    assert seen.to_text() == "topic t: retention.ms=1, odd.key=[hidden], flush.ms deleted"
    back = Change.from_detail(seen.to_detail())
    assert [entry.value for entry in back.change.entries] == ["1", "[hidden]", None]
    assert Change.from_detail(back.to_detail()) == back


def test_cuts_a_long_value_in_the_text() -> None:
    assert len(change(TOPIC, "t", "follower.replication.throttled.replicas", "1:1," * 999).to_text()) < 300


def test_reads_the_changes_of_both_apis() -> None:
    resource = {"resourceType": 2, "resourceName": "t", "configs": [{"name": "flush.ms", "value": "1"}]}
    (legacy,) = changes_in(ALTER_CONFIGS, {"resources": [resource]})
    assert legacy.change.legacy
    twice = list(changes_in(INCREMENTAL_ALTER_CONFIGS, {"resources": [resource, resource]}))
    assert [one.repeated for one in twice] == [True, True]
    assert list(changes_in(INCREMENTAL_ALTER_CONFIGS, {"resources": None})) == []
    assert list(changes_in(INCREMENTAL_ALTER_CONFIGS, "")) == []
